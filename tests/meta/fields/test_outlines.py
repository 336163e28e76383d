"""Outlines: objects with one outline have the same fields."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.fields import compare
from pilotage.meta.fields.outlines import outline
from pilotage.meta.fields.schema import Types

_TYPE = Types(lambda name: {}).type_of(
    {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}},
            "b": {"type": "object", "additionalProperties": {"type": "string"}},
            "maps": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "port"],
                "items": {"type": "object", "properties": {"inner": {"type": "object", "properties": {"x": {}}}}},
            },
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "atomic": {"type": "array", "items": {"type": "object"}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
        },
    }
)
_SCALARS = st.sampled_from([0, 1, True, 1.0, "x", "y", None])
_NAMES = st.sampled_from(["a", "b", "maps", "set", "atomic", "whole", "free", "x", "y", "name", "port", "inner"])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)
_ITEMS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["x", "y"]), "port": st.sampled_from([1, 2])}, optional={"inner": _VALUES}
    ),
    max_size=2,
)
_DOCUMENTS = st.dictionaries(_NAMES, _VALUES, max_size=3) | st.fixed_dictionaries({"maps": _ITEMS})


@given(_DOCUMENTS, st.lists(_DOCUMENTS, min_size=20, max_size=20))
def test_objects_with_one_outline_have_the_same_fields(one: dict[str, Any], others: list[dict[str, Any]]) -> None:
    found = outline(_TYPE, one)
    for other in others:
        if found is not None and found == outline(_TYPE, other):
            assert compare.below(_TYPE, one) == compare.below(_TYPE, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": {"x": 1}, "free": 1}, {"a": 1, "free": {"x": 1}}),
        ({"maps": [{"name": "x", "port": 1}]}, {"maps": [{"name": "y", "port": 1}]}),
        ({"maps": [{"name": "x", "port": 1}]}, {"maps": [{"name": "x", "port": 1, "inner": {}}]}),
        ({"set": ["x"]}, {"set": ["y"]}),
        ({"b": {"x": "1"}}, {"b": {"y": "1"}}),
    ],
)
def test_objects_with_other_fields_have_another_outline(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert compare.below(_TYPE, one) != compare.below(_TYPE, other)
    assert outline(_TYPE, one) != outline(_TYPE, other)


@pytest.mark.parametrize(
    "document",
    [
        {"maps": [{"name": "x"}]},
        {"maps": [{"name": True, "port": 1}]},
        {"maps": [{"name": 1.0, "port": 1}]},
        {"maps": ["x"]},
        {"set": [1]},
    ],
)
def test_items_whose_keys_are_not_plain_have_no_outline(document: dict[str, Any]) -> None:
    assert outline(_TYPE, document) is None


def test_an_empty_map_is_not_the_same_as_null() -> None:
    assert outline(_TYPE, {"a": {}}) != outline(_TYPE, {"a": None})
    assert outline(_TYPE, {"b": {}}) != outline(_TYPE, {"b": None})


def test_values_do_not_matter() -> None:
    one = {"a": {"x": 1}, "maps": [{"name": "x", "port": 1, "inner": 1}], "atomic": [{}], "whole": {"x": 1}}
    other = {"a": {"x": 2}, "maps": [{"name": "x", "port": 1, "inner": 2}], "atomic": [], "whole": {}}
    assert outline(_TYPE, one) == outline(_TYPE, other)
