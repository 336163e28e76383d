"""Server-side apply over documents: the laws that hold whatever is applied."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.documents import copied
from pilotage.meta.fields import applying, content, sets
from pilotage.meta.fields.applying import ApplyResult, ConflictsError, FieldConflict, Versions
from pilotage.meta.fields.managers import APPLY, UPDATE, FieldManager, Managers, Owned
from pilotage.meta.fields.tracking import FieldWriter, updated

from .types import TYPE, documents

VERSIONS = Versions(lambda version: TYPE, lambda document, version: document)


def applied(live: Any, config: Any, managers: Managers, name: str = "me", *, force: bool = False) -> ApplyResult:
    writer = FieldWriter(FieldManager.of(name, APPLY, "v1"), "v1", "now")
    return applying.at_once(applying.apply(live, copied(config), managers, writer, VERSIONS, force=force))


def written(live: Any, new: Any, managers: Managers, name: str = "you") -> dict[FieldManager, Owned]:
    writer = FieldWriter(FieldManager.of(name, UPDATE, "v1"), "v1", "then")
    return updated(managers, lambda version: VERSIONS.changes(live, new, version), writer)


ME = FieldManager.of("me", APPLY, "v1")


@given(documents, documents)
def test_apply_twice_changes_nothing(live: Any, config: Any) -> None:
    once = applied(live, config, {})
    twice = applied(once.document, config, once.managers)
    assert not twice.changed
    assert (twice.document, twice.managers) == (once.document, once.managers)


@given(documents, documents, documents)
def test_ownership_is_exactly_what_was_applied(live: Any, first: Any, second: Any) -> None:
    before = applied(live, first, {})
    after = applied(before.document, second, before.managers)
    wanted = content.fields_of(TYPE, second)
    assert (after.managers[ME].fields if ME in after.managers else {}) == wanted


@given(documents, documents)
def test_what_is_no_longer_applied_is_removed(live: Any, config: Any) -> None:
    """A manager that applies nothing leaves nothing of what it had added."""
    first = applied({}, config, {})
    last = applied(first.document, {}, first.managers)
    assert last.document in ({}, None) or not content.fields_of(TYPE, last.document)
    assert not last.managers


@given(documents, documents, documents)
def test_no_apply_takes_what_another_manager_owns_unless_it_forces_it(base: Any, theirs: Any, mine: Any) -> None:
    other = applied(base, theirs, {}, "other")
    owned = content.fields_of(TYPE, theirs)
    lost = sets.from_paths(conflict.path for conflict in _conflicts(other, mine))
    assert sets.includes(owned, lost)
    outcome = applied(other.document, mine, other.managers, force=bool(lost))
    kept = outcome.managers.get(FieldManager.of("other", APPLY, "v1"))
    left = kept.fields if kept else {}
    assert sets.includes(sets.difference(owned, lost), left)
    assert sets.includes(left, sets.without(owned, lost)), "only what is below a lost field may go with it"


def _conflicts(before: ApplyResult, config: Any) -> list[FieldConflict]:
    try:
        applied(before.document, config, before.managers)
    except ConflictsError as error:
        return error.conflicts
    return []


@given(st.lists(st.tuples(st.sampled_from(["apply", "force", "update"]), st.sampled_from("ab"), documents), max_size=6))
def test_no_sequence_of_writes_lets_two_updates_own_the_same_field(writes: list[tuple[str, str, Any]]) -> None:
    live: Any = {}
    managers: Managers = {}
    for kind, name, document in writes:
        if kind == "update":
            live, managers = document, written(live, document, managers, name)
        else:
            try:
                outcome = applied(live, document, managers, name, force=kind == "force")
            except ConflictsError:
                continue
            live, managers = outcome.document or {}, outcome.managers
        updates = [owned.fields for manager, owned in managers.items() if manager.operation == UPDATE]
        for number, fields in enumerate(updates):
            assert fields, "a manager without fields is not there"
            assert not any(sets.intersects(fields, other) for other in updates[number + 1 :])


def test_another_managers_value_is_a_conflict_and_the_same_value_is_shared() -> None:
    one = applied({}, {"size": 1}, {}, "one")
    with pytest.raises(ConflictsError, match=r'^Apply failed with 1 conflict: conflict with "one": \.size$'):
        applied(one.document, {"size": 2}, one.managers)
    shared = applied(one.document, {"size": 1}, one.managers)
    assert not shared.changed
    assert {manager.name for manager in shared.managers} == {"one", "me"}
    assert shared.managers[ME].time == "", "who changes nothing has no time"


def test_a_field_of_another_manager_stays_when_it_is_no_longer_applied() -> None:
    one = applied({}, {"labels": {"a": "1"}, "set": ["x"]}, {}, "one")
    both = applied(one.document, {"labels": {"a": "1", "b": "2"}, "set": ["x", "y"]}, one.managers)
    left = applied(both.document, {"size": 3}, both.managers)
    assert left.document == {"labels": {"a": "1"}, "set": ["x"], "size": 3}


def test_several_conflicts_are_listed_by_manager() -> None:
    live = {"labels": {"k": "v", "l": "v", "m": "v"}}
    managers = {
        FieldManager.of("patcher", UPDATE, "v1", "scale"): Owned({"f:labels": {"f:m": {}}}, "v1"),
        FieldManager.of("creator", UPDATE, "v1"): Owned({"f:labels": {"f:k": {}, "f:l": {}}}, "v1"),
    }
    with pytest.raises(ConflictsError) as caught:
        applied(live, {"labels": {"k": "w", "l": "w", "m": "w"}}, managers)
    assert str(caught.value) == (
        'Apply failed with 3 conflicts: conflicts with "creator" using v1:\n- .labels.k\n- .labels.l\n'
        'conflicts with "patcher" with subresource "scale" using v1:\n- .labels.m'
    )


def test_a_set_of_another_version_is_compared_at_that_version() -> None:
    def convert(document: Any, version: str) -> Any:
        if version == "v0":
            return None
        renamed = {"v1": "size", "v2": "b"}[version]
        content = document.get("size", document.get("nested", {}).get("b"))
        made = {"size": content} if renamed == "size" else {"nested": {"b": content}}
        return {"apiVersion": version} | made

    versions = Versions(lambda version: TYPE, convert)
    managers = {
        FieldManager.of("gone", UPDATE, "v0"): Owned({"f:size": {}}, "v0"),
        FieldManager.of("other", UPDATE, "v2"): Owned({"f:nested": {"f:b": {}}}, "v2"),
    }
    writer = FieldWriter(ME, "v1", "now")
    live, config = {"apiVersion": "v1", "size": 1}, {"apiVersion": "v1", "size": 2}
    with pytest.raises(ConflictsError, match=r'conflict with "other" using v2: \.nested\.b$'):
        applying.at_once(applying.apply(live, config, managers, writer, versions, force=False))
    forced = applying.at_once(applying.apply(live, config, managers, writer, versions, force=True))
    assert {manager.name for manager in forced.managers} == {"me"}
