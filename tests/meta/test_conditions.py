from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pilotage.meta.conditions import (
    Status,
    find_status_condition,
    is_status_condition_false,
    is_status_condition_present_and_equal,
    is_status_condition_true,
    remove_status_condition,
    set_status_condition,
)
from pilotage.meta.models import Condition
from pilotage.types.batch.v1 import JobCondition
from pilotage.types.core.v1 import PodCondition

EARLY = datetime(2026, 1, 1, tzinfo=UTC)
LATE = EARLY + timedelta(hours=1)


def ready(status: Status, message: str = "", time: datetime | None = None) -> Condition:
    return Condition(type="Ready", status=status, reason="Test", message=message, last_transition_time=time)


def test_a_new_condition_has_the_time_of_its_setting() -> None:
    conditions: list[Condition] = []
    given = ready("True")
    assert set_status_condition(conditions, given, clock=lambda: EARLY)
    assert conditions == [ready("True", time=EARLY)]
    assert given.last_transition_time is None


def test_a_given_time_is_kept() -> None:
    conditions: list[Condition] = []
    set_status_condition(conditions, ready("True", time=LATE), clock=lambda: EARLY)
    assert conditions[0].last_transition_time == LATE
    set_status_condition(conditions, ready("False", time=EARLY), clock=lambda: LATE)
    assert conditions[0].last_transition_time == EARLY


def test_the_transition_time_changes_only_with_the_status() -> None:
    conditions = [ready("True", time=EARLY)]
    assert not set_status_condition(conditions, ready("True"), clock=lambda: LATE)
    assert set_status_condition(conditions, ready("True", "still"), clock=lambda: LATE)
    assert conditions == [ready("True", "still", EARLY)]
    assert set_status_condition(conditions, ready("False", "still"), clock=lambda: LATE)
    assert conditions == [ready("False", "still", LATE)]


def test_the_observed_generation_is_a_change() -> None:
    conditions = [ready("True", time=EARLY)]
    newer = ready("True")
    newer.observed_generation = 2
    assert set_status_condition(conditions, newer, clock=lambda: LATE)
    assert conditions[0].observed_generation == 2
    assert conditions[0].last_transition_time == EARLY


def test_conditions_are_found_asked_and_removed_by_type() -> None:
    other = Condition(type="Other", status="Unknown", reason="Test")
    conditions = [ready("True"), other]
    assert find_status_condition(conditions, "Other") is other
    assert find_status_condition(conditions, "None") is None
    assert is_status_condition_true(conditions, "Ready")
    assert not is_status_condition_false(conditions, "Ready")
    assert not is_status_condition_true(conditions, "Other")
    assert is_status_condition_present_and_equal(conditions, "Other", "Unknown")
    assert remove_status_condition(conditions, "Ready")
    assert not remove_status_condition(conditions, "Ready")
    assert conditions == [other]


def test_the_conditions_of_built_in_kinds_are_set_and_found() -> None:
    conditions = [PodCondition(type="Ready", status="True", last_transition_time=EARLY, last_probe_time=EARLY)]
    assert not set_status_condition(conditions, PodCondition(type="Ready", status="True"), clock=lambda: LATE)
    assert set_status_condition(
        conditions, PodCondition(type="Ready", status="False", reason="Down"), clock=lambda: LATE
    )
    assert conditions == [
        PodCondition(type="Ready", status="False", reason="Down", last_transition_time=LATE, last_probe_time=EARLY)
    ]
    probed = PodCondition(type="Ready", status="False", reason="Down", last_probe_time=LATE)
    assert set_status_condition(conditions, probed, clock=lambda: LATE)
    jobs: list[JobCondition] = []
    assert set_status_condition(jobs, JobCondition(type="Complete", status="True"), clock=lambda: EARLY)
    assert is_status_condition_true(jobs, "Complete")
    assert remove_status_condition(jobs, "Complete")
