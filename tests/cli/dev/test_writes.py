from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from msgspec import UNSET

from pilotage.cli.dev.report import report
from pilotage.cli.dev.stated import Reconciled, Statements, Written
from pilotage.cli.dev.writes import changed_definitions, of_the_code, written_differently
from pilotage.history.differences import Change
from pilotage.history.stories import Cause, Reconcile, Write
from pilotage.meta.kinds import GroupVersionKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
A = Written(CONFIG_MAP, "default", "a")
REQUEST = Reconciled("greeting", "default", "a")


def write(verb: str = "patch", *changes: Change, name: str = "a", error: str = "", set_by_server: int = 0) -> Write:
    return Write(
        verb=verb,
        kind=CONFIG_MAP,
        namespace="default",
        name=name,
        changes=changes,
        error=error,
        at=NOW,
        set_by_server=set_by_server,
    )


def reconcile(*writes: Write, error: str | None = None, name: str = "a") -> Reconcile:
    return Reconcile(
        number=1, controller="greeting", namespace="default", name=name, began=NOW, steps=writes, error=error
    )


def lines(*reconciles: Reconcile) -> list[str]:
    differences = written_differently(reconciles, {}, {})
    return [line.text for line in report(differences, reconciles, len(reconciles), 0.1)]


def test_several_writes_of_a_field_are_one_change() -> None:
    writes = write("patch", Change("data.x", 1, 2)), write("patch", Change("data.x", 2, 3))
    (found,) = written_differently([reconcile(*writes)], {}, {})
    assert [*found.fields.values()] == [Change("data.x", 1, 3)]


def test_a_field_that_is_back_at_its_value_has_not_changed() -> None:
    writes = write("patch", Change("data.x", 1, 2)), write("patch", Change("data.x", 2, 1))
    assert written_differently([reconcile(*writes)], {}, {}) == []


def test_fields_that_the_server_sets_are_left_out() -> None:
    created = write("create", Change("data.x", UNSET, 1), Change("spec.default", UNSET, 2), set_by_server=1)
    assert lines(reconcile(created))[:2] == ["ConfigMap default/a is created", "data.x: 1"]


def test_a_deleted_object_is_named_without_fields() -> None:
    assert lines(reconcile(write("patch", Change("data.x", 1, 2)), write("delete")))[:1] == [
        "ConfigMap default/a is deleted"
    ]


def test_an_object_that_is_created_and_deleted_does_not_differ() -> None:
    assert written_differently([reconcile(write("create"), write("delete"))], {}, {}) == []


def test_a_refused_write_shows_the_reason() -> None:
    assert lines(reconcile(write(error="data: Invalid value")))[:2] == [
        "ConfigMap default/a: the write is refused",
        "data: Invalid value",
    ]


def test_a_write_that_is_refused_by_a_conflict_and_repeated_counts_once() -> None:
    refused = write(error="the object has been modified; please apply your changes to the latest version")
    (found,) = written_differently([reconcile(refused, write("patch", Change("data.x", 1, 2)))], {}, {})
    assert (found.verb, len(found.fields)) == ("", 1)


def test_fields_that_only_the_old_version_mentions_are_no_longer_written() -> None:
    before, after = {REQUEST: {A: {"data.x": 1, "data.y": 2}}}, {REQUEST: {A: {"data.x": 1}}}
    (found,) = written_differently([], before, after)
    assert found.unwritten == (Change("data.y", 2, UNSET),)


def test_what_a_request_wants_that_was_not_reconciled_again_is_not_compared() -> None:
    assert written_differently([], {REQUEST: {A: {"data.x": 1}}}, {}) == []


def test_an_object_that_another_request_writes_now_is_still_written() -> None:
    other = REQUEST._replace(name="b")
    after: dict[Reconciled, Statements] = {REQUEST: {}, other: {A: {"data.x": 1}}}
    assert written_differently([], {REQUEST: {A: {"data.x": 1}}}, after) == []


def test_an_empty_value_that_has_members_now_is_still_written() -> None:
    before: dict[Reconciled, Statements] = {REQUEST: {A: {"data": {}}}}
    assert written_differently([], before, {REQUEST: {A: {"data.x": 1}}}) == []


def test_objects_with_the_same_differences_are_together() -> None:
    writes = [write("patch", Change("data.x", 1, 2), name=name) for name in "abc"]
    assert lines(reconcile(*writes)) == [
        "ConfigMap default/a and 2 more objects",
        "data.x: 1 → 2",
        "3 objects written differently, after 1 reconcile, 0.10 s after the save",
    ]


def test_an_error_of_several_objects_is_shown_once() -> None:
    failed = [reconcile(error="ValueError: x", name=name) for name in "aab"]
    assert lines(*failed) == [
        "greeting default/a and 1 more object failed: ValueError: x",
        "no write differs, after 3 reconciles (3 failed), 0.10 s after the save",
    ]


def test_a_report_is_bounded() -> None:
    wide = write("patch", *(Change(f"data.x{number}", 1, 2) for number in range(100)))
    many = [write("patch", Change("data.x", 1, number), name=f"b{number}") for number in range(2, 100)]
    found = lines(reconcile(wide, *many))
    assert "and 88 more fields" in found
    assert "and 79 more objects" in found


def test_what_only_follows_a_change_by_another_client_is_not_of_the_code() -> None:
    initial, update = (Cause(type=name, at=NOW, kind=CONFIG_MAP) for name in ("initial", "update"))
    own = msgspec.structs.replace(update, write=write())
    causes = [(initial,), (update,), (update, initial), (own,), ()]
    reconciles = [msgspec.structs.replace(reconcile(), number=at, causes=each) for at, each in enumerate(causes)]
    assert [each.number for each in of_the_code(reconciles)] == [0, 2, 3, 4]


def test_a_new_definition_is_created() -> None:
    (found,) = changed_definitions([], [{"metadata": {"name": "a.example.com"}, "spec": {}}])
    assert (found.verb, found.written.name) == ("created", "a.example.com")
