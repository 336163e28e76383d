"""Managed fields after updates, found by the ones before and the changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.documents import Document
from pilotage.meta.fields import managers as managing
from pilotage.meta.fields import sets, tracking
from pilotage.meta.fields.compare import FieldChanges
from pilotage.meta.fields.managers import APPLY, UPDATE, FieldManager, Owned
from pilotage.meta.fields.sets import FieldSet
from pilotage.meta.fields.tracking import FieldWriter
from pilotage.server.ownership import outcomes

_PATHS = [("f:spec",), ("f:spec", "f:a"), ("f:spec", "f:b"), ("f:status", "f:x"), ("f:status", 'k:{"type":"A"}')]
_PATHS += [("f:metadata", "f:name"), ("f:metadata", "f:labels", "f:l")]
_SETS = st.sets(st.sampled_from(_PATHS), min_size=1).map(sets.from_paths)
_CHANGES = st.builds(FieldChanges, st.just({}) | _SETS, st.just({}) | _SETS)
_TIMES = st.sampled_from(["", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])
_MANAGERS = st.builds(
    FieldManager.of, st.sampled_from("abc"), st.sampled_from([APPLY, UPDATE]), st.just("v1"), st.sampled_from(["", "s"])
)
_WRITERS = st.builds(
    lambda name, subresource, time: FieldWriter(FieldManager.of(name, UPDATE, "v1", subresource), "v1", time),
    st.sampled_from("abc"),
    st.sampled_from(["", "s"]),
    _TIMES,
)


def _entries(managers: dict[FieldManager, tuple[FieldSet, str]]) -> list[Document]:
    return managing.write({each: Owned(fields, "v1", time) for each, (fields, time) in managers.items()})


@given(
    st.dictionaries(_MANAGERS, _SETS, max_size=3),
    st.lists(st.tuples(_TIMES, _TIMES, _TIMES), min_size=2, max_size=2),
    _CHANGES,
    _WRITERS,
)
def test_updates_with_one_key_have_one_outcome(
    owned: dict[FieldManager, FieldSet], times: list[tuple[str, str, str]], changes: FieldChanges, writer: FieldWriter
) -> None:
    first, second = (
        managing.read(_entries(dict(zip(owned, zip(owned.values(), each, strict=False), strict=True))), trusted=True)
        for each in times
    )
    after = tracking.updated(first, lambda version: changes, writer)
    found = outcomes.outcome_of(first, after, changes, writer)
    assert outcomes.entries_of(found, first, writer) == managing.write(after)
    if outcomes.key_of(first, changes, writer) == outcomes.key_of(second, changes, writer):
        expected = managing.write(tracking.updated(second, lambda version: changes, writer))
        assert outcomes.entries_of(found, second, writer) == expected


def test_an_update_of_an_object_with_another_version_or_many_managers_has_no_key() -> None:
    writer = FieldWriter(FieldManager.of("a", UPDATE, "v1"), "v1", "")
    changes = FieldChanges({}, {"f:spec": {}})
    managers = {FieldManager.of(f"m{number}", UPDATE, "v1"): Owned({"f:x": {}}, "v1") for number in range(9)}
    assert outcomes.key_of(managers, changes, writer) is not None
    tenth = {FieldManager.of("m9", UPDATE, "v1"): Owned({"f:x": {}}, "v1")}
    assert outcomes.key_of(managers | tenth, changes, writer) is None
    other = {FieldManager.of("m", UPDATE, "v2"): Owned({"f:x": {}}, "v2")}
    assert outcomes.key_of(other, changes, writer) is None
