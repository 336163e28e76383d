"""The outline of an object: its names and the keys of its lists. Objects of one outline have the same fields.

Most objects of a kind have one of few outlines, and computing an outline takes a fraction of the time of computing a
field set.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.fields.schema import FieldType

_CONTAINERS = frozenset((dict, list))
_DICTS = frozenset((dict,))
_STRINGS = frozenset((str,))
_PLAIN = frozenset((str, int))
"""The types of keys whose equal values are the same key: 1, 1.0 and true are equal, but are three keys."""
_NOTHING = (None,)
"""The outline of a value without fields. An empty map has another outline, because some fields are never omitted."""


class _NoOutlineError(Exception):
    """An item has no plain key."""


def outline(field_type: FieldType, document: Document) -> Hashable | None:
    """The outline of an object of that type; None if its lists have other keys than most have."""
    try:
        return _of(field_type, document)
    except _NoOutlineError:
        return None


def _of(field_type: FieldType, value: Any) -> tuple[Any, ...]:
    if type(value) is dict:
        if field_type.is_flat:
            return tuple(value)
        return _of_map(field_type, value) if field_type.is_map and not field_type.atomic else _NOTHING
    return _of_list(field_type, value) if type(value) is list else _NOTHING


def _of_map(field_type: FieldType, value: dict[str, Any]) -> tuple[Any, ...]:
    parts: list[Any] = [*value]
    for name, child in field_type.granular_fields:
        item = value.get(name)
        if item is not None:
            parts.append(name)
            parts.append(tuple(item) if type(item) is dict and child.is_flat else _of(child, item))
    if (element := field_type.granular_element) is not None:
        declared = field_type.fields
        parts += [(name, _of(element, item)) for name, item in value.items() if name not in declared]
    return tuple(parts)


def _of_list(field_type: FieldType, items: list[Any]) -> tuple[Any, ...]:
    rule = field_type.list_rule
    if rule is None or rule.atomic:
        return _NOTHING
    if not rule.keys:
        return _checked(tuple(items), _STRINGS)
    if not _DICTS.issuperset(map(type, items)):
        raise _NoOutlineError
    keys = _checked(tuple([item.get(key) for key in rule.keys for item in items]), _PLAIN)
    if field_type.items.is_flat or _CONTAINERS.isdisjoint(map(type, chain.from_iterable(map(dict.values, items)))):
        return (keys, *map(tuple, items))
    return (keys, *[_of(field_type.items, item) for item in items])


def _checked(keys: tuple[Any, ...], types: frozenset[type]) -> tuple[Any, ...]:
    if not types.issuperset(map(type, keys)):
        raise _NoOutlineError
    return keys
