"""List types: `x-kubernetes-list-type` and the keys of list maps, checked by the rules of API servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.meta.markers import ListType
from pilotage.schema.generate.constraints import Schema, last, type_of
from pilotage.schema.generate.description import ListOf, TypeDescription, invalid

_SCALARS = ("string", "integer", "number", "boolean")


def list_type(tree: ListOf) -> tuple[str, tuple[str, ...]]:
    """The list type and its keys: as the marker says, else as the Python type says, else none (atomic)."""
    marker = last(tree.markers, ListType)
    return (marker.value, marker.keys) if marker is not None else (tree.list_type, tree.keys)


def add_list_type(schema: Schema, tree: TypeDescription) -> None:
    """Add the list type to the schema of a list."""
    if not isinstance(tree, ListOf):
        if last(tree.markers, ListType) is not None:
            raise invalid(tree.place, f"ListType is for lists, but this is {type_of(schema)}", "remove the marker")
        return
    value, keys = list_type(tree)
    if keys and value != "map":
        raise invalid(tree.place, f'ListType("{value}") must not have keys', 'remove them, or use ListType("map", key)')
    if value == "set":
        _check_set(schema["items"], tree.place)
    if value == "map":
        _check_map(schema["items"], keys, tree.place)
        schema["x-kubernetes-list-map-keys"] = list(keys)
    if value:
        schema["x-kubernetes-list-type"] = value


def _check_set(items: Schema, place: str) -> None:
    if items.get("type") in _SCALARS or items.get("x-kubernetes-int-or-string"):
        if items.get("nullable"):
            raise invalid(place, "the items of a set cannot be null", "remove None from their type")
        return
    atomic = items.get("x-kubernetes-map-type") == "atomic" or items.get("x-kubernetes-list-type") == "atomic"
    if not atomic:
        raise invalid(
            place,
            f"the items of a set are scalars, but here each is {type_of(items)}",
            'use ListType("map", key), or leave the list atomic',
        )


def _check_map(items: Schema, keys: Sequence[str], place: str) -> None:
    if not keys:
        raise invalid(
            place, 'ListType("map") has no keys', 'add the fields that identify an item: ListType("map", "name")'
        )
    if items.get("type") != "object":
        raise invalid(
            place,
            f'ListType("map") is for lists of objects, but here each item is {type_of(items)}',
            'use ListType("set")',
        )
    if len(set(keys)) != len(keys):
        raise invalid(place, "ListType has a key twice", "list each key once")
    properties: dict[str, Any] = items.get("properties", {})
    for key in keys:
        if key not in properties:
            known = ", ".join(properties) or "none"
            raise invalid(
                place,
                f"the key {key!r} of the list is not a field of its items",
                f"use one of their JSON names: {known}",
            )
        _check_key(key, properties[key], key in items.get("required", ()), place)


def _check_key(key: str, schema: Schema, required: bool, place: str) -> None:
    if schema.get("type") not in _SCALARS and not schema.get("x-kubernetes-int-or-string"):
        raise invalid(
            place, f"the key {key!r} of the list is {type_of(schema)}", "use a string, number or boolean field"
        )
    if schema.get("nullable"):
        raise invalid(place, f"the key {key!r} of the list is nullable", "remove Nullable or None from it")
    if not required and "default" not in schema:
        raise invalid(
            place,
            f"the key {key!r} of the list is optional",
            "make it required, or set a default in the class of the items",
        )
