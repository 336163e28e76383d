"""The items of a granular list, by the path element that identifies each."""

from __future__ import annotations

from contextlib import suppress
from itertools import repeat
from typing import Any

from pilotage.meta.fields import elements
from pilotage.meta.fields.schema import FieldType, ListRule

_DICTS = frozenset((dict,))
_STRINGS = frozenset((str,))
_SHORT = 253
"""The maximum length of a name that is cached."""


class NoIdentityError(ValueError):
    """An item of a list has neither keys nor a value that identify it."""


def element_of(field_type: FieldType, rule: ListRule, item: Any) -> str:
    """The path element of an item. Raises NoIdentityError."""
    if rule.keys:
        return _key_element(field_type, rule.keys, item)
    if isinstance(item, dict):
        raise NoIdentityError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise NoIdentityError("not supported: associative list with lists as elements")
    if item is None:
        raise NoIdentityError("associative list without keys has an element that's an explicit null")
    return elements.value(item)


def _key_element(field_type: FieldType, keys: tuple[str, ...], item: Any) -> str:
    if item is None:
        raise NoIdentityError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise NoIdentityError("associative list with keys may not have non-map elements")
    found = {}
    for name in keys:
        if name in item:
            found[name] = item[name]
        elif (default := field_type.items.defaults.get(name)) is not None:
            found[name] = default
    if not found:
        names = " ".join(f'"{name}"' for name in keys)
        raise NoIdentityError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return elements.key(found)


def by_element(field_type: FieldType, rule: ListRule, items: list[Any]) -> dict[str, list[Any]]:
    """The items of a list by their path elements, in order; several where they are duplicates.

    Items without an identity are omitted.
    """
    if len(rule.keys) == 1 and (found := _by_name(rule.keys[0], items)) is not None:
        return found
    found = {}
    for item in items:
        with suppress(NoIdentityError):
            found.setdefault(element_of(field_type, rule, item), []).append(item)
    return found


def _by_name(key: str, items: list[Any]) -> dict[str, list[Any]] | None:
    """The items by their elements, if all have short names that are different, as in most lists."""
    if not _DICTS.issuperset(map(type, items)):
        return None
    names = [item.get(key) for item in items]
    if (
        not _STRINGS.issuperset(map(type, names))
        or len(set(names)) < len(names)
        or max(map(len, names), default=0) > _SHORT
    ):
        return None
    return {element: [item] for element, item in zip(map(elements.name_key, repeat(key), names), items, strict=True)}
