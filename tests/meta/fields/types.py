"""Types and documents for the tests of field sets."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pilotage.meta.fields.schema import FieldType, Types
from pilotage.types import builtin

TYPES = Types(builtin.definition)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "atomicMap": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": {"type": "string"},
        },
        "atomicList": {"type": "array", "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "name": {"type": "string"},
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                },
            },
        },
        "open": {"x-kubernetes-preserve-unknown-fields": True, "type": "object"},
        "nested": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
    },
}
"""A custom resource's spec with every kind of list and map."""

TYPE: FieldType = TYPES.type_of(SCHEMA)

_words = st.sampled_from(["a", "b", "c", "d"])
_texts = st.dictionaries(_words, _words, max_size=3)
_ports = st.lists(
    st.fixed_dictionaries(
        {"port": st.integers(1, 3)},
        optional={"protocol": st.sampled_from(["TCP", "UDP"]), "name": _words, "tags": st.lists(_words, unique=True)},
    ),
    max_size=3,
    unique_by=lambda port: (port["port"], port.get("protocol", "TCP")),
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(0, 3),
        "labels": _texts,
        "atomicMap": _texts,
        "atomicList": st.lists(_words, max_size=3),
        "set": st.lists(_words, max_size=3, unique=True),
        "ports": _ports,
        "open": st.dictionaries(
            _words, st.one_of(st.integers(0, 2), st.booleans(), _texts, st.lists(_words, max_size=2)), max_size=3
        ),
        "nested": st.fixed_dictionaries({}, optional={"a": _words, "b": st.integers(0, 2)}),
    },
)
"""Documents of that type."""
