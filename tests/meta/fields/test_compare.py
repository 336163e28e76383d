"""Which fields differ between two documents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from pilotage.meta.fields import sets
from pilotage.meta.fields.compare import FieldChanges, changes
from pilotage.meta.fields.schema import DEDUCED, Types
from pilotage.meta.fields.sets import FieldSet
from pilotage.meta.kinds import GroupVersionKind
from pilotage.types import builtin

from .types import TYPE, TYPES, documents


@pytest.mark.parametrize(
    ("old", "new", "removed", "written"),
    [
        ({"size": 1}, {"size": 2}, {}, {"f:size": {}}),
        ({"size": 1}, {}, {"f:size": {}}, {}),
        ({}, {"labels": {"a": "b"}}, {}, {"f:labels": {".": {}, "f:a": {}}}),
        ({"labels": {"a": "b"}}, {"labels": {"a": "c", "d": "e"}}, {}, {"f:labels": {"f:a": {}, "f:d": {}}}),
        ({"labels": {"a": "b"}}, {"labels": {}}, {"f:labels": {"f:a": {}}}, {}),
        ({"labels": None}, {"labels": {"a": "b"}}, {}, {"f:labels": {"f:a": {}}}),
        ({"labels": None}, {"labels": {}}, {}, {"f:labels": {}}),
        ({"atomicMap": {"a": "b"}}, {"atomicMap": {"a": "c"}}, {}, {"f:atomicMap": {}}),
        ({"atomicList": ["a"]}, {"atomicList": ["b"]}, {}, {"f:atomicList": {}}),
        ({"set": ["a", "b"]}, {"set": ["b", "c"]}, {"f:set": {'v:"a"': {}}}, {"f:set": {'v:"c"': {}}}),
        ({"set": ["a", "b"]}, {"set": ["b", "a"]}, {}, {}),
        ({"set": ["a", "a"]}, {"set": ["a"]}, {"f:set": {'v:"a"': {}}}, {"f:set": {'v:"a"': {}}}),
        (
            {"ports": [{"port": 80, "name": "a"}]},
            {"ports": [{"port": 80, "name": "b"}, {"port": 80, "protocol": "UDP"}]},
            {},
            {
                "f:ports": {
                    'k:{"port":80,"protocol":"TCP"}': {"f:name": {}},
                    'k:{"port":80,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}},
                }
            },
        ),
        ({"open": {"a": 1}}, {"open": {"a": True}}, {}, {"f:open": {"f:a": {}}}),
        ({"open": {"a": {"b": 1}}}, {"open": {"a": 1}}, {"f:open": {"f:a": {"f:b": {}}}}, {"f:open": {"f:a": {}}}),
        (
            {"open": {"a": 1}},
            {"open": {"a": {"b": 1}}},
            {},
            {"f:open": {"f:a": {".": {}, "f:b": {}}}},
        ),
    ],
    ids=str,
)
def test_what_differs(old: Any, new: Any, removed: Any, written: Any) -> None:
    assert changes(TYPE, old, new) == FieldChanges(removed, written)


@given(documents, documents)
def test_a_document_does_not_differ_from_itself_and_back_is_the_opposite(one: Any, other: Any) -> None:
    assert changes(TYPE, one, one) == ({}, {})
    there, back = changes(TYPE, one, other), changes(TYPE, other, one)
    only_there = sets.difference(there.removed, back.removed)
    assert sets.includes(back.written, only_there), "what one way removes, the other writes"


@given(documents, documents)
def test_without_a_schema_lists_are_one_value(one: Any, other: Any) -> None:
    found = changes(DEDUCED, {"spec": one}, {"spec": other})
    for path in sets.paths(sets.union(found.removed, found.written)):
        assert all(element.startswith("f:") for element in path)


def test_built_in_kinds_have_the_list_types_of_their_schema() -> None:
    pod = TYPES.type_of(builtin.schema(GroupVersionKind("", "v1", "Pod")))
    old = {"spec": {"containers": [{"name": "a", "image": "x", "ports": [{"containerPort": 80}]}]}}
    new = {"spec": {"containers": [{"name": "a", "image": "y", "ports": [{"containerPort": 80, "name": "web"}]}]}}
    container: FieldSet = {"f:image": {}, "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {"f:name": {}}}}
    assert changes(pod, old, new).written == {"f:spec": {"f:containers": {'k:{"name":"a"}': container}}}


def test_a_field_that_is_never_left_out_is_the_same_absent_or_empty() -> None:
    named = {"Item": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}}
    types = Types(named.__getitem__, lambda name: {"a": ""})
    item = types.type_of({"$ref": "Item"})
    assert changes(item, {}, {"a": ""}) == ({}, {})
    assert changes(item, {"a": "x"}, {}) == ({}, {"f:a": {}})
    listed = types.type_of({"type": "object", "additionalProperties": {"$ref": "Item"}})
    assert changes(listed, {}, {"k": {"b": "x"}}).written == {"f:k": {".": {}, "f:a": {}, "f:b": {}}}
