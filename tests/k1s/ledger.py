"""Which tests of other packages show that a known defect is not here, and that a requirement of shutdown holds.

K are the defects of k1s by their numbers, W its requirements for work tracking and shutdown. What no other test shows
is in `test_defects` and in `tests/manager/test_finishing.py`, with the marker `covers`.
"""

from __future__ import annotations

SHOWN: dict[str, tuple[str, ...]] = {
    "K4": ("storage/test_open.py::test_importing_the_package_loads_no_backend",),
    "K5": ("storage/test_sqlite.py::test_state_log_and_revisions_survive_a_restart",),
    "K6": ("storage/test_sqlite.py::test_storages_on_one_file_lose_no_update",),
    "K8": ("storage/test_kill.py::test_kill_loses_no_acknowledged_write",),
    "K14": (
        "storage/test_conformance.py::test_storage_conforms",
        "storage/test_sqlite.py::test_close_finishes_queued_commits",
    ),
    "K16": (
        "server/test_tenants.py::test_a_tenant_is_a_plain_name",
        "client/test_creating.py::test_a_name_must_be_a_dns_name",
    ),
    "K17": (
        "storage/test_sqlite.py::test_two_processes_talk_through_one_file",
        "storage/test_sqlite_direct.py::test_who_holds_the_lock_is_named",
        "storage/test_sqlite_readonly.py::test_a_read_only_file_is_read_and_commits_are_refused",
        "storage/test_sqlite_readonly.py::test_commits_of_a_writer_are_seen",
    ),
    "K18": (
        "storage/test_conformance.py::test_storage_conforms",
        "storage/test_archive.py::test_a_backup_is_of_one_moment_while_the_storage_is_written",
        "storage/test_sqlite_file.py::test_flipped_bits_are_found_or_harmless",
        "storage/test_sqlite_file.py::test_newer_format_is_refused_with_the_version_it_needs",
        "client/test_listing.py::test_pages_are_of_one_snapshot",
    ),
    "K21": ("cache/test_informer.py::test_every_handler_gets_every_change_in_order",),
    "K22": ("server/verbs/test_watch.py::test_a_watch_that_is_too_slow_gets_an_error",),
    "K23": (
        "server/verbs/test_watch.py::test_a_version_that_is_forgotten_is_an_expired_error",
        "server/verbs/test_watch.py::test_initial_events_end_with_an_annotated_bookmark",
    ),
    "K26": ("client/test_watching.py::test_two_watches_see_the_same_order",),
    "K27": ("cache/test_factory.py::test_cancelling_the_block_stops_the_informers",),
    "K28": (
        "client/test_patching.py::test_apply_sets_fields_and_owns_them",
        "client/test_patching.py::test_a_strategic_patch_merges_lists_by_their_key",
    ),
    "K30": ("kit/routes/test_tenancy.py::test_a_dry_run_creates_neither_tenant_nor_file",),
    "K34": (
        "schema/cel/test_validations.py::test_a_rule_on_very_many_items_runs_out_of_budget",
        "schema/cel/test_validations.py::test_an_optional_old_self_is_there_on_update_only",
    ),
    "K35": ("schema/cel/test_validations.py::test_a_rule_that_does_not_compile_has_the_reason",),
    "K36": (
        "client/test_creating.py::test_unknown_fields_are_refused_where_that_is_asked_for",
        "meta/text/test_yamltext.py::test_several_documents_are_read_as_they_were_written",
        "meta/test_objects.py::test_encode_puts_api_version_and_kind_first_and_metadata_third",
    ),
    "K37": ("cluster/test_events.py::test_at_the_end_what_waits_is_given_two_seconds",),
    "K39": (
        "cluster/test_correlation.py::test_the_same_again_is_counted",
        "cluster/test_events.py::test_an_event_that_is_gone_is_created_again_with_its_count",
    ),
    "K40": (
        "kit/test_commands.py::test_get_prints_the_columns_of_the_kind",
        "cli/test_table.py::test_columns_are_as_wide_as_their_widest_cell_and_later_rows_keep_to_them",
        "kit/test_kubectl.py::test_the_kit_prints_what_kubectl_prints",
        "kit/test_commands.py::test_an_unknown_output_format_is_an_error",
    ),
    "K42": (
        "controller/test_worker.py::test_an_error_backs_off_and_others_go_on",
        "controller/test_worker.py::test_requeue_after_is_exact_forgets_failures_and_wins_over_requeue",
        "controller/test_worker.py::test_any_exception_backs_off_and_disturbs_no_other_key",
        "controller/test_worker.py::test_each_event_is_followed_by_a_reconcile_and_no_key_is_worked_on_twice_at_once",
    ),
    "K45": (
        "manager/test_work.py::test_work_in_threads_counts_and_wakes_the_loop",
        "manager/test_work.py::test_after_stop_accepting_new_work_is_refused_and_parts_of_old_work_are_not",
    ),
    "K46": ("manager/test_shutdown.py::test_readers_of_the_cache_end_before_the_cache",),
    "K47": (
        "manager/test_shutdown.py::test_work_that_outlives_the_grace_is_cut_and_named",
        "manager/test_shutdown.py::test_what_runs_is_finished_and_nothing_new_begins",
    ),
    "K49": (
        "manager/test_shutdown.py::test_the_first_signal_asks_and_the_second_forces",
        "cli/run/test_command.py::test_what_is_not_reconciled_at_the_timeout_has_an_exit_code_of_its_own",
        "kit/test_interrupts.py::test_a_second_signal_ends_the_command_and_what_was_cut_is_listed",
    ),
    "K50": (
        "server/access/test_access.py::test_a_user_may_do_what_a_binding_allows_and_nothing_else",
        "server/access/test_policyrules.py::test_a_rule_allows_nothing_else",
    ),
    "K51": (
        "kit/test_commands.py::test_apply_prunes_what_the_files_no_longer_have",
        "kit/test_commands.py::test_apply_takes_over_what_the_tool_itself_has_set_and_nothing_else",
    ),
    "WA3": ("manager/test_shutdown.py::test_work_that_outlives_the_grace_is_cut_and_named",),
    "WA4": (
        "manager/test_work.py::test_what_is_under_way_in_all_trackers_is_a_metric",
        "manager/test_shutdown.py::test_the_phases_are_logged_with_what_runs_and_for_how_long",
    ),
    "WA6": ("manager/test_interrupts.py::test_ctrl_c_at_a_random_moment_with_50_reconciles_in_flight",),
    "WC1": ("manager/test_shutdown.py::test_work_that_outlives_the_grace_is_cut_and_named",),
    "WC2": ("manager/test_shutdown.py::test_progress_lines_are_warnings_after_a_while_and_the_wait_goes_on",),
    "WC3": ("manager/test_work.py::test_what_is_under_way_in_all_trackers_is_a_metric",),
    "WC4": ("manager/test_work.py::test_back_pressure_lets_no_more_than_the_limit_run_and_all_come_to_their_turn",),
    "WD4": ("manager/test_shutdown.py::test_what_runs_is_finished_and_nothing_new_begins",),
    "WE1": ("manager/test_shutdown.py::test_progress_lines_are_warnings_after_a_while_and_the_wait_goes_on",),
    "WE2": ("manager/test_shutdown.py::test_work_that_outlives_the_grace_is_cut_and_named",),
    "WE3": ("manager/test_signals.py::test_a_second_sigterm_forces",),
    "WE4": ("manager/test_shutdown.py::test_runnables_stop_accepting_before_anything_is_cancelled",),
    "WG3": ("manager/test_work.py::test_counters_are_kept_by_kind_and_together",),
    "WG4": ("manager/test_shutdown.py::test_users_own_work_is_waited_for_too",),
    "WG5": ("manager/test_work.py::test_what_is_under_way_in_all_trackers_is_a_metric",),
    "WM1": ("manager/test_work.py::test_work_that_raises_has_failed",),
    "WM2": ("manager/test_work.py::test_counters_are_kept_by_kind_and_together",),
    "WM3": ("manager/test_work.py::test_work_without_a_block_is_started_and_ended_once",),
    "WM4": ("manager/test_work.py::test_work_that_raises_has_failed",),
    "WM5": (
        "manager/test_work.py::test_a_thousand_pieces_at_once_leave_nothing_behind",
        "manager/test_work.py::test_work_in_threads_counts_and_wakes_the_loop",
    ),
    "WM6": ("manager/test_work.py::test_counters_are_kept_by_kind_and_together",),
    "WR1": ("manager/test_shutdown.py::test_users_own_work_is_waited_for_too",),
    "WR2": ("manager/test_work.py::test_active_work_is_listed_with_its_age_the_oldest_first",),
    "WR3": ("manager/test_work.py::test_after_stop_accepting_new_work_is_refused_and_parts_of_old_work_are_not",),
    "WR4": (
        "manager/test_work.py::test_waiting_gives_up_after_its_timeout",
        "manager/test_work.py::test_waiting_ends_with_the_last_piece",
    ),
    "WR5": ("manager/test_shutdown.py::test_runnables_stop_accepting_before_anything_is_cancelled",),
    "WR6": ("manager/test_shutdown.py::test_progress_is_reported_every_half_second",),
    "WR7": ("manager/test_work.py::test_work_in_threads_counts_and_wakes_the_loop",),
    "WS1": ("manager/test_signals.py::test_sigterm_lets_what_runs_finish",),
    "WS2": ("manager/test_shutdown.py::test_the_first_signal_asks_and_the_second_forces",),
    "WS3": ("manager/test_shutdown.py::test_runnables_stop_accepting_before_anything_is_cancelled",),
    "WS4": ("manager/test_shutdown.py::test_progress_is_reported_every_half_second",),
    "WS5": ("manager/test_shutdown.py::test_work_that_outlives_the_grace_is_cut_and_named",),
    "WS7": ("manager/test_shutdown.py::test_the_phases_are_logged_with_what_runs_and_for_how_long",),
    "WS8": (
        "manager/test_loglines.py::test_a_manager_with_a_controller_logs_its_start_and_its_shutdown_in_these_words",
    ),
    "WT1": ("manager/test_work.py::test_a_block_is_one_piece_of_work",),
    "WT2": ("manager/test_shutdown.py::test_a_hundred_pieces_in_flight_all_finish",),
    "WT4": (
        "manager/test_interrupts.py::test_ctrl_c_of_a_process_on_sqlite",
        "manager/test_signals.py::test_sigterm_lets_what_runs_finish",
    ),
}
