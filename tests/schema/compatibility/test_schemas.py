from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.schema.compatibility.schemas import schema_changes

STRING: dict[str, Any] = {"type": "string"}
LOWER = ("minimum", "minLength", "minItems", "minProperties")
UPPER = ("maximum", "maxLength", "maxItems", "maxProperties")


def found(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding.level, finding.path) for finding in schema_changes("v1 ", old, new)]


def properties(required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields} | ({"required": list(required)} if required else {})


@given(st.sampled_from(LOWER + UPPER), st.integers(0, 9) | st.none(), st.integers(0, 9) | st.none())
def test_a_limit_breaks_just_when_it_gets_tighter(keyword: str, old: int | None, new: int | None) -> None:
    limits = [{"type": "x"} | ({} if limit is None else {keyword: limit}) for limit in (old, new)]
    sign = 1 if keyword in LOWER else -1
    tighter = new is not None and (old is None or (new - old) * sign > 0)
    assert bool(found(*limits)) == tighter


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (properties(a=STRING), properties(), ("break", "v1 .a")),
        (properties(a=STRING), properties(a={"type": "integer"}), ("break", "v1 .a")),
        (properties(a=STRING), properties(("a",), a=STRING), ("break", "v1 .a")),
        (properties(), properties(("b",), b=STRING), ("break", "v1 .b")),
        (STRING, {"x-kubernetes-int-or-string": True}, ("break", "v1 .")),
        (STRING | {"enum": ["a", "b"]}, STRING | {"enum": ["a"]}, ("break", "v1 .")),
        (STRING, STRING | {"enum": ["a"]}, ("break", "v1 .")),
        (STRING, STRING | {"pattern": "^a"}, ("break", "v1 .")),
        (STRING, STRING | {"format": "date"}, ("break", "v1 .")),
        ({"type": "integer", "format": "int64"}, {"type": "integer", "format": "int32"}, ("break", "v1 .")),
        (STRING | {"nullable": True}, STRING, ("break", "v1 .")),
        (STRING | {"default": "a"}, STRING | {"default": "b"}, ("warning", "v1 .")),
        (
            {"type": "integer", "minimum": 1},
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            ("break", "v1 ."),
        ),
        (
            {"type": "array", "items": STRING | {"maxLength": 2}},
            {"type": "array", "items": STRING | {"maxLength": 1}},
            ("break", "v1 []"),
        ),
        ({"type": "array"}, {"type": "array", "x-kubernetes-list-type": "set"}, ("break", "v1 .")),
        (
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "type": "array"},
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"], "type": "array"},
            ("break", "v1 ."),
        ),
        (properties(), properties() | {"x-kubernetes-map-type": "atomic"}, ("warning", "v1 .")),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"type": "object"}, ("break", "v1 .")),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            properties(a=STRING) | {"x-kubernetes-preserve-unknown-fields": True},
            ("break", "v1 .a"),
        ),
        (properties(), properties() | {"x-kubernetes-embedded-resource": True}, ("break", "v1 .")),
        (STRING, STRING | {"x-kubernetes-validations": [{"rule": "self != ''"}]}, ("break", "v1 .")),
        ({"x-kubernetes-preserve-unknown-fields": True}, STRING, ("break", "v1 .")),
        (STRING, {"x-kubernetes-preserve-unknown-fields": True}, ("warning", "v1 .")),
        (properties(a=STRING), {"type": "object", "additionalProperties": STRING}, ("break", "v1 .")),
        (
            {"type": "object", "additionalProperties": STRING},
            {"type": "object", "additionalProperties": {"type": "boolean"}},
            ("break", "v1 {}"),
        ),
    ],
)
def test_each_change_is_found_where_it_is(old: dict[str, Any], new: dict[str, Any], expected: tuple[str, str]) -> None:
    assert found(old, new) == [expected]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (properties(), properties(a=STRING)),
        (properties(("a",), a=STRING), properties(a=STRING)),
        (properties(), properties(("a",), a=STRING | {"default": "x"})),
        (STRING | {"enum": ["a"]}, STRING | {"enum": ["a", "b"]}),
        (STRING | {"pattern": "^a"}, STRING),
        ({"type": "integer", "format": "int32"}, {"type": "integer", "format": "int64"}),
        (STRING | {"description": "old"}, STRING | {"description": "new"}),
        (
            STRING | {"x-kubernetes-validations": [{"rule": "self != ''", "message": "old"}]},
            STRING | {"x-kubernetes-validations": [{"rule": "self != ''", "message": "new"}]},
        ),
    ],
)
def test_accepting_more_or_a_better_description_is_not_reported(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert found(old, new) == []
