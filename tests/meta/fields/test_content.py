"""Documents and the fields in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from pilotage.meta.documents import copied
from pilotage.meta.fields import content, sets
from pilotage.meta.fields.compare import changes
from pilotage.meta.fields.sets import FieldSet

from .types import TYPE, documents


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        ({"size": 1}, {"f:size": {}}),
        ({"size": None, "labels": {}, "atomicList": [], "set": []}, {"f:size": {}, "f:labels": {}, "f:atomicList": {}}),
        ({"labels": {"a": "b"}}, {"f:labels": {"f:a": {}}}),
        ({"nested": {"a": "x"}}, {"f:nested": {"f:a": {}}}),
        ({"open": {"a": {"b": 1}}}, {"f:open": {"f:a": {".": {}, "f:b": {}}}}),
        ({"set": ["a"]}, {"f:set": {'v:"a"': {}}}),
        ({"ports": [{"port": 1}]}, {"f:ports": {'k:{"port":1,"protocol":"TCP"}': {".": {}, "f:port": {}}}}),
    ],
    ids=str,
)
def test_a_document_sets_its_leaves_items_and_keys(document: Any, fields: Any) -> None:
    assert content.fields_of(TYPE, document) == fields


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ("abcd", "dxb", "acdxb"),
        ("acdxb", "cab", "cdxab"),
        ("ab", "", "ab"),
        ("", "ab", "ab"),
        ("abc", "c", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "xc", "abxc"),
        ("abc", "ax", "abcx"),
    ],
)
def test_applied_items_come_in_their_order_and_others_keep_their_place(live: str, applied: str, merged: str) -> None:
    assert content.merged(TYPE, {"set": list(live)}, {"set": list(applied)}) == {"set": list(merged)}


def test_items_of_a_list_map_are_merged_by_their_keys() -> None:
    live = {"ports": [{"port": 1, "name": "a", "tags": ["x"]}, {"port": 2}]}
    config = {"ports": [{"port": 3}, {"port": 1, "protocol": "TCP", "tags": ["y"]}]}
    assert content.merged(TYPE, live, config) == {
        "ports": [{"port": 3}, {"port": 1, "name": "a", "protocol": "TCP", "tags": ["x", "y"]}, {"port": 2}]
    }


@given(documents, documents)
def test_a_merged_document_has_all_that_was_applied(live: Any, config: Any) -> None:
    before = copied(live), copied(config)
    made = content.merged(TYPE, live, config)
    assert (live, config) == before, "neither document is changed"
    assert content.merged(TYPE, made, config) == made, "to merge again changes nothing"
    named = content.with_named_fields(TYPE, content.fields_of(TYPE, made))
    assert sets.includes(named, content.fields_of(TYPE, config))
    found = changes(TYPE, live, made)
    assert not sets.without(found.removed, found.written), "only what is below a new value is removed"


@given(documents, documents)
def test_what_is_removed_is_not_there(one: Any, other: Any) -> None:
    fields = content.fields_of(TYPE, other)
    left = content.removed(TYPE, one, fields) or {}
    assert not sets.intersects(content.fields_of(TYPE, _without_nulls(left)), fields)


def _without_nulls(value: Any) -> Any:
    """Without nulls: a map of which nothing is left becomes null, which is no field."""
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


@given(documents)
def test_declared_fields_with_something_below_them_can_be_members(document: Any) -> None:
    fields = content.fields_of(TYPE, document)
    named = content.with_named_fields(TYPE, fields)
    assert sets.includes(named, fields)
    assert all(sets.has(named, (f"f:{name}",)) for name, item in document.items() if item or name == "size")


def test_who_owns_an_item_of_a_list_that_has_become_atomic_owns_the_list() -> None:
    before: FieldSet = {"f:atomicList": {'v:"a"': {}}, "f:atomicMap": {".": {}, "f:a": {}}, "f:labels": {"f:a": {}}}
    assert content.reconciled(TYPE, before) == {"f:atomicList": {}, "f:atomicMap": {}, "f:labels": {"f:a": {}}}


@given(documents)
def test_a_set_by_the_schema_of_today_stays_as_it_is(document: Any) -> None:
    fields = content.fields_of(TYPE, document)
    assert content.reconciled(TYPE, fields) is fields
