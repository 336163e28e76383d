"""The items of a granular list, by the path element that identifies each."""

from __future__ import annotations

from typing import Any

from pilotage.meta.fields import elements
from pilotage.meta.fields.schema import FieldType, ListRule

_SHORT = 253
"""Characters of a name that is worth remembering."""


class NoIdentityError(ValueError):
    """An item of a list has nothing that identifies it."""


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

    Items that nothing identifies are left out.
    """
    found: dict[str, list[Any]] = {}
    only = rule.keys[0] if len(rule.keys) == 1 else ""
    for item in items:
        name = item.get(only) if only and item.__class__ is dict else None
        if name.__class__ is str and len(name) <= _SHORT:
            element = elements.name_key(only, name)
        else:
            try:
                element = element_of(field_type, rule, item)
            except NoIdentityError:
                continue
        found.setdefault(element, []).append(item)
    return found
