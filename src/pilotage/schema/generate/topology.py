"""How writers share a list: `x-kubernetes-list-type` and its keys, checked by the server's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.meta.markers import ListType
from pilotage.schema.generate.constraints import Schema, last, type_of
from pilotage.schema.generate.description import Description, ListOf, refusal

_BUILTIN = "pilotage.types."
_SCALARS = ("string", "integer", "number", "boolean")


def list_type(tree: ListOf) -> tuple[str, tuple[str, ...]]:
    """The type of a list and its keys: the marker's, else what the Python type says, else none (atomic)."""
    marker = last(tree.markers, ListType)
    return (marker.value, marker.keys) if marker is not None else (tree.list_type, tree.keys)


def share(schema: Schema, tree: Description) -> None:
    """Add the list type to a list's schema."""
    if not isinstance(tree, ListOf):
        if last(tree.markers, ListType) is not None:
            raise refusal(tree.place, f"ListType is for lists, and this is {type_of(schema)}", "take it away")
        return
    value, keys = list_type(tree)
    if keys and value != "map":
        raise refusal(tree.place, f'ListType("{value}") has no keys', 'take them away, or use ListType("map", key)')
    if value == "set":
        _check_set(schema["items"], tree.place)
    if value == "map":
        if tree.place.startswith(_BUILTIN):
            _default_keys(schema["items"], keys)
        _check_map(schema["items"], keys, tree.place)
        schema["x-kubernetes-list-map-keys"] = list(keys)
    if value:
        schema["x-kubernetes-list-type"] = value


def _default_keys(items: Schema, keys: Sequence[str]) -> None:
    """Give a built-in type's optional keys the defaults they have in Kubernetes: a CRD's keys need one."""
    for key in keys:
        if key in items["properties"] and key not in items.get("required", ()):
            items["properties"][key].setdefault("default", "TCP" if key == "protocol" else "")


def _check_set(items: Schema, place: str) -> None:
    if items.get("type") in _SCALARS or items.get("x-kubernetes-int-or-string"):
        if items.get("nullable"):
            raise refusal(place, "the items of a set may not be null", "take the None away from the items")
        return
    atomic = items.get("x-kubernetes-map-type") == "atomic" or items.get("x-kubernetes-list-type") == "atomic"
    if not atomic:
        raise refusal(
            place,
            f"a set holds scalars, and each item here is {type_of(items)}",
            'use ListType("map", key), or leave the list atomic',
        )


def _check_map(items: Schema, keys: Sequence[str], place: str) -> None:
    if not keys:
        raise refusal(
            place, 'ListType("map") does not say by what items are told apart', 'name the keys: ListType("map", "name")'
        )
    if items.get("type") != "object":
        raise refusal(
            place,
            f'ListType("map") is for lists of objects, and each item here is {type_of(items)}',
            'use ListType("set")',
        )
    if len(set(keys)) != len(keys):
        raise refusal(place, "ListType names a key twice", "name each once")
    properties: dict[str, Any] = items.get("properties", {})
    for key in keys:
        if key not in properties:
            known = ", ".join(properties) or "none"
            raise refusal(
                place, f"the list's key {key!r} is no field of its items", f"name one by its wire name: {known}"
            )
        _check_key(key, properties[key], key in items.get("required", ()), place)


def _check_key(key: str, schema: Schema, required: bool, place: str) -> None:
    if schema.get("type") not in _SCALARS and not schema.get("x-kubernetes-int-or-string"):
        raise refusal(
            place, f"the list's key {key!r} is {type_of(schema)}", "a key is a string, a number or true or false"
        )
    if schema.get("nullable"):
        raise refusal(place, f"the list's key {key!r} may be null", "take its Nullable or None away")
    if not required and "default" not in schema:
        raise refusal(
            place, f"the list's key {key!r} may be absent", "make it required, or give it a default in the item's class"
        )
