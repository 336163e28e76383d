from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.schema.structural.default import DefaultBudget, compile_default
from pilotage.schema.structural.node import Node, Tree
from pilotage.schema.structural.paths import Problems
from pilotage.schema.structural.prune import Pruner
from pilotage.schema.structural.shape import MAXIMUM_OBJECTS, compile_shape
from pilotage.schema.structural.validate import Validator, check_value

FIELDS: dict[str, Any] = {
    "name": {"type": "string", "minLength": 1, "maxLength": 3},
    "size": {"type": "integer", "minimum": 0, "maximum": 9, "default": 3},
    "odd": {"type": "integer", "minimum": 0.5, "exclusiveMaximum": True, "maximum": 7, "multipleOf": 2},
    "short": {"type": "integer", "format": "int32"},
    "share": {"type": "number", "minimum": 0},
    "note": {"type": "string", "nullable": True},
    "on": {"type": "boolean"},
    "colour": {"type": "string", "enum": ["red", "blue"]},
    "level": {"type": "string", "enum": ["low", "high"], "nullable": True},
    "image": {"type": "string", "pattern": "^[a-z]+$"},
    "date": {"type": "string", "format": "date-time"},
    "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "either": {"type": "integer", "oneOf": [{"minimum": 5}, {"maximum": 1}]},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2},
    "empty": {"type": "object"},
    "items": {
        "type": "array",
        "maxItems": 2,
        "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
    },
    "open": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"id": {"type": "string"}},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "required": ["name"], "properties": FIELDS}, "kind": {"type": "string"}},
}
HEAD = {"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "x"}}
VALUES: list[Any] = [
    *("a", "abcd", "", "red", "low", "2020-01-01T00:00:00Z", None, True, 0, 1, 2, 8, 2**40, 2**63, 1.0, 0.5, -1, 1e300),
    *({}, {"id": "a"}, {"id": 1}, {"id": None}, {"a": "b"}, {"a": "b", "c": "d", "e": "f"}, {"a": None}),
    *([], [{"id": "a"}], [{}], [{"id": "a"}, {"id": "b"}, {"id": "c"}], [None], ["a"], [{"id": "a", "b": 1}]),
]
documents = st.builds(
    lambda changed, size: HEAD | {"spec": {"name": "a"} | ({"size": 1} if size else {}) | changed},
    st.dictionaries(st.sampled_from([*FIELDS, "unknown"]), st.sampled_from(VALUES), max_size=3),
    st.booleans(),
)


def node_of(schema: dict[str, Any]) -> Node:
    return Tree(None).node(schema, root=True)


NODE = node_of(SCHEMA)
SHAPE = compile_shape(NODE)
PRUNE, DEFAULT, TABLE = Pruner().compile(NODE), compile_default(NODE), Validator().compile(NODE)


@given(documents)
def test_nothing_is_dropped_or_defaulted_in_a_complete_document_and_nothing_is_wrong_with_a_valid_one(
    document: Any,
) -> None:
    assert SHAPE is not None
    assert PRUNE is not None
    assert DEFAULT is not None
    before, problems, dropped = copy.deepcopy(document), Problems(), list[str]()
    valid = SHAPE.is_valid(document)
    check_value(TABLE, document, None, None, problems)
    assert not (valid and problems)
    if SHAPE.is_complete(document):
        PRUNE(document, None, dropped)
        DEFAULT(document, DefaultBudget(1000))
        assert not dropped
    assert document == before or not valid


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"colour": "blue", "on": False, "note": None, "share": 1, "short": -1},
        {"image": "abc", "date": "2020-01-01T00:00:00Z", "port": "http", "either": 0},
        {"items": [{"id": "a"}], "labels": {"a": "b"}, "free": {"a": [None]}, "any": [1], "open": {"id": "a", "b": 1}},
    ],
)
def test_a_valid_document_with_its_defaults_fits(spec: dict[str, Any]) -> None:
    assert SHAPE is not None
    assert SHAPE.is_valid(HEAD | {"spec": {"name": "a", "size": 1} | spec})


@pytest.mark.parametrize(
    "field",
    [
        {"type": "object", "x-kubernetes-embedded-resource": True},
        {"type": "array"},
        {"properties": {"a": {"type": "string"}}},
        {"type": "object", "required": ["a"]},
        {"type": "object", "required": ["a"], "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {'"': {"type": "string"}}},
        {
            "type": "object",
            "properties": {f"f{n}": {"type": "object", "properties": {}} for n in range(MAXIMUM_OBJECTS)},
        },
    ],
)
def test_what_types_cannot_express_has_no_shape(field: dict[str, Any]) -> None:
    assert compile_shape(node_of({"type": "object", "properties": {"spec": field}})) is None


@pytest.mark.parametrize(
    ("field", "floats"),
    [
        ({"type": "integer"}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ({"type": "number"}, True),
        ({"x-kubernetes-preserve-unknown-fields": True}, True),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, True),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}},
            True,
        ),
    ],
)
def test_a_shape_knows_whether_there_may_be_floats(field: dict[str, Any], floats: bool) -> None:
    shape = compile_shape(node_of({"type": "object", "properties": {"spec": field}}))
    assert shape is not None
    assert shape.floats is floats
    assert shape.is_complete(HEAD | {"spec": 1.5 if field.get("type") == "number" else 1.0}) <= floats
