"""Who wrote a field: the chain of reconciles back to the first cause from outside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pilotage.history.differences import Change
from pilotage.history.fieldmanagers import FieldWriter
from pilotage.history.stories import Cause, Reconcile, Write
from pilotage.history.why.answer import Question, answer, by_number
from pilotage.history.why.provenance import Target
from pilotage.history.why.text import answer_lines
from pilotage.meta.kinds import GroupKind, GroupVersionKind

NOW = datetime(2026, 1, 1, 10, 0, tzinfo=UTC)
APP, SET, CONFIG = (GroupVersionKind("example.com", "v1", kind) for kind in ("App", "Set", "Config"))
TARGET = Target(GroupKind("example.com", "Config"), "default", "main")


def write(kind: GroupVersionKind, path: str, old: Any, new: Any, at: int, **more: Any) -> Write:
    changes = (Change(path, old, new),)
    place = {"kind": kind, "namespace": "default", "name": "main"}
    return Write(verb="patch", changes=changes, at=NOW + timedelta(seconds=at), **{**place, **more})


def changed(kind: GroupVersionKind, path: str, at: int, **more: Any) -> Cause:
    place = {"kind": kind, "namespace": "default", "name": "main"}
    return Cause(type="update", at=NOW + timedelta(seconds=at), changes=(Change(path, 1, 2),), **{**place, **more})


def story(number: int, kind: GroupVersionKind, causes: list[Cause], writes: list[Write]) -> Reconcile:
    return Reconcile(
        number=number,
        controller=kind.kind.lower(),
        kind=kind,
        namespace="default",
        name="main",
        began=NOW + timedelta(seconds=number),
        causes=tuple(causes),
        steps=tuple(writes),
        result="success",
    )


TO_SET = write(SET, "spec.size", 1, 2, 1)
TO_CONFIG = write(CONFIG, "data.size", "1", "2", 2)
CHAIN = [
    story(1, APP, [changed(APP, "spec.size", 0, manager="kubectl-edit")], [TO_SET]),
    story(2, SET, [changed(SET, "spec.size", 1, write=TO_SET, reconcile=1)], [TO_CONFIG]),
    story(3, SET, [changed(CONFIG, "data.size", 2, write=TO_CONFIG, reconcile=2)], []),
]


def lines(stories: list[Reconcile], field: str = "data.size", document: Any = None) -> list[str]:
    return [str(line) for line in answer_lines(answer(Question(TARGET, field=field), stories, document=document))]


def test_a_field_is_followed_through_the_reconciles_to_the_client_that_caused_all() -> None:
    assert lines(CHAIN, document={"data": {"size": "2"}}) == [
        "Config default/main: data.size is '2'",
        "  wrote    by reconcile #2 of set default/main at 10:00:02: patch Config default/main: data.size: '1' → '2'",
        "  because  Set default/main was patched by this program (reconcile #1): spec.size: 1 → 2",
        "  wrote    by reconcile #1 of app default/main at 10:00:01: patch Set default/main: spec.size: 1 → 2",
        "  because  App default/main changed (by kubectl-edit): spec.size: 1 → 2",
    ]


def test_the_answer_has_the_origin_for_programs() -> None:
    found = answer(Question(TARGET, field="data"), CHAIN).field
    assert found is not None
    assert [link.reconcile for link in found.chain] == [2, 1]
    assert found.origin is not None
    assert found.origin.manager == "kubectl-edit"


def test_a_reconcile_that_is_no_longer_in_the_history_is_named() -> None:
    assert lines(CHAIN[1:])[-1] == "  and      reconcile #1, which led to it, is no longer in the history"


def test_a_field_that_does_not_exist_has_no_writer() -> None:
    assert lines(CHAIN, "data.other", {"data": {}}) == ["Config default/main: data.other does not exist now"]
    removed = lines(CHAIN, document={})
    assert removed[0] == "Config default/main: data.size does not exist now"
    assert removed[1].startswith("  wrote    by reconcile #2")


def test_another_field_of_the_object_has_another_writer() -> None:
    (heading, note) = lines(CHAIN, "data.other")
    assert heading == "Config default/main: data.other"
    assert note == "  and      neither the history nor the managed fields show who wrote it"


def test_a_later_change_by_another_client_goes_before_a_write_of_a_reconcile() -> None:
    edited = story(4, SET, [changed(CONFIG, "data.size", 5, manager="kubectl-patch")], [])
    assert lines([*CHAIN, edited])[1:] == [
        "  wrote    by another client (field manager kubectl-patch), not by a reconcile, at 10:00:05: data.size: 1 → 2"
    ]


def test_a_write_goes_before_an_event_that_was_earlier_and_caused_a_later_reconcile() -> None:
    late = story(5, SET, [changed(CONFIG, "data.size", 1, manager="kubectl-patch")], [])
    assert lines([*CHAIN, late])[1].startswith("  wrote    by reconcile #2 of set")


def test_a_client_whose_managed_fields_are_newer_wrote_the_field() -> None:
    entry = {"manager": "helm", "operation": "Apply", "time": "2026-01-01T10:00:30Z", "fieldsV1": {"f:data": {}}}
    document = {"metadata": {"managedFields": [entry]}, "data": {"size": "9"}}
    assert lines(CHAIN, document=document) == [
        "Config default/main: data.size is '9'",
        "  wrote    by the field manager helm (Apply) at 2026-01-01 10:00:30 UTC, as metadata.managedFields has it; "
        "not by a reconcile of the history",
    ]
    found = answer(Question(TARGET, field="data"), CHAIN, document=document).field
    assert found is not None
    assert found.writer == FieldWriter("helm", "Apply", "", NOW + timedelta(seconds=30))


def test_writes_that_failed_or_were_tried_only_wrote_nothing() -> None:
    failed = [write(CONFIG, "data.size", 1, 2, 1, error="Conflict"), write(CONFIG, "data.size", 1, 2, 1, dry_run=True)]
    assert "neither the history" in lines([story(1, APP, [], failed)])[1]


def test_the_writer_of_an_identity_field_is_the_creator() -> None:
    created = Write(verb="create", at=NOW, kind=CONFIG, namespace="default", name="main")
    found = lines([story(1, SET, [changed(SET, "spec.size", 0)], [created])], "metadata.ownerReferences")
    assert found[1] == "  wrote    by reconcile #1 of set default/main at 10:00:01: create Config default/main"


def test_reconciles_that_cause_each_other_end_the_chain() -> None:
    one, two = write(CONFIG, "data.size", 1, 2, 1), write(SET, "spec.size", 1, 2, 2)
    loop = [
        story(1, SET, [changed(SET, "spec.size", 0, write=two, reconcile=2)], [one]),
        story(2, CONFIG, [changed(CONFIG, "data.size", 1, write=one, reconcile=1)], [two]),
    ]
    assert len(lines(loop)) == 5


def test_a_reconcile_is_found_by_its_number_without_reading_all() -> None:
    class Counted(list[Reconcile]):
        reads = 0

        def __getitem__(self, index: Any) -> Any:
            self.reads += 1
            return super().__getitem__(index)

    many = Counted(story(number, APP, [], []) for number in range(1, 2001, 2))
    found = by_number(many, 501)
    assert found is not None
    assert found.number == 501
    assert by_number(many, 502) is None
    assert by_number(many, 5000) is None
    assert many.reads < 40
