"""Which fields have changed: paths, items of lists, what only the server sets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.history.differences import Change, differences


def shown(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [str(change) for change in differences(old, new)]


def test_a_changed_field_has_its_path_and_both_values() -> None:
    assert shown({"spec": {"text": "hello"}}, {"spec": {"text": "bye"}}) == ["spec.text: 'hello' → 'bye'"]


def test_a_field_that_is_new_or_gone_has_one_value() -> None:
    assert shown({"spec": {}}, {"spec": {"n": 1}}) == ["spec.n: (none) → 1"]
    assert shown({"spec": {"n": 1}}, {}) == ["spec.n: 1 → (none)"]


def test_a_new_object_inside_is_shown_by_its_leaves_and_an_empty_one_by_itself() -> None:
    assert shown({}, {"spec": {"a": {"b": 1}, "c": {}}}) == ["spec.a.b: (none) → 1", "spec.c: (none) → {}"]


def test_true_is_not_one() -> None:
    assert shown({"spec": {"n": True}}, {"spec": {"n": 1}}) == ["spec.n: true → 1"]


def test_what_only_the_server_sets_is_left_out_and_a_deletion_is_not() -> None:
    old = {"metadata": {"name": "a", "resourceVersion": "1", "generation": 1, "managedFields": []}}
    new = {
        "metadata": {
            "name": "a",
            "resourceVersion": "2",
            "generation": 2,
            "managedFields": [{}],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        }
    }
    assert shown(old, new) == ["metadata.deletionTimestamp: (none) → '2026-01-01T00:00:00Z'"]


@pytest.mark.parametrize("key", ["type", "name", "key"])
def test_items_of_a_list_are_paired_by_their_key(key: str) -> None:
    old = {"status": {"items": [{key: "A", "status": "False"}, {key: "B", "status": "True"}]}}
    new = {"status": {"items": [{key: "B", "status": "True"}, {key: "A", "status": "True"}]}}
    assert shown(old, new) == ["status.items[A].status: 'False' → 'True'"]


def test_items_without_a_key_are_paired_by_position() -> None:
    assert shown({"spec": {"a": ["x", "y"]}}, {"spec": {"a": ["x", "z", "w"]}}) == [
        "spec.a[1]: 'y' → 'z'",
        "spec.a[2]: (none) → 'w'",
    ]


def test_names_with_dots_are_quoted() -> None:
    old, new = ({"metadata": {"labels": {"app.kubernetes.io/name": value}}} for value in "ab")
    assert shown(old, new) == ["metadata.labels['app.kubernetes.io/name']: 'a' → 'b'"]


def test_a_long_value_is_cut() -> None:
    (line,) = shown({"data": {"a": "x" * 1000}}, {"data": {"a": "y"}})
    assert len(line) < 100


def test_a_deep_document_is_compared_without_a_limit_of_the_stack() -> None:
    def nested(leaf: int) -> dict[str, Any]:
        document: dict[str, Any] = {"leaf": leaf}
        for _ in range(500):
            document = {"a": document}
        return document

    assert len(shown(nested(1), nested(2))) == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["spec", "status", "data"]), VALUES, max_size=3)


@given(DOCUMENTS)
def test_a_document_does_not_differ_from_itself(document: dict[str, Any]) -> None:
    assert not [*differences(document, document)]


@given(DOCUMENTS, DOCUMENTS)
def test_the_way_back_has_the_same_paths_with_the_values_exchanged(old: dict[str, Any], new: dict[str, Any]) -> None:
    there = {(change.path, repr(change.old), repr(change.new)) for change in differences(old, new)}
    back = {(change.path, repr(change.new), repr(change.old)) for change in differences(new, old)}
    assert there == back


def test_a_change_is_a_value() -> None:
    assert Change("a", 1, 2) == Change("a", 1, 2)
