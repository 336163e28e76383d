"""Documents and the fields in them: the set of a document, a document without some fields, two documents merged."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from pilotage.meta.fields import items, sets
from pilotage.meta.fields.schema import FieldType, ListRule
from pilotage.meta.fields.sets import MEMBER, SELF, FieldSet


def fields_of(field_type: FieldType, document: Any) -> FieldSet:
    """The fields that a document sets: its leaves, the items of its lists, the keys of its maps."""
    return _fields_below(field_type, document) or {}


def _fields_below(field_type: FieldType, value: Any) -> FieldSet | None:
    """The set below a value; None where the value itself is what is set."""
    if isinstance(value, dict) and field_type.is_map:
        return None if field_type.atomic else _fields_of_map(field_type, value)
    rule = field_type.list_rule
    if isinstance(value, list) and rule is not None:
        return None if rule.atomic else _fields_of_list(field_type, rule, value)
    return None


def _fields_of_map(field_type: FieldType, value: dict[str, Any]) -> FieldSet:
    result: FieldSet = {}
    for name, item in value.items():
        below = _fields_below(field_type.child(name), item)
        if below is None or item == {}:
            result[f"f:{name}"] = MEMBER
        elif name not in field_type.fields:  # a key, not a declared field: it is there even with nothing below it
            result[f"f:{name}"] = {SELF: MEMBER, **below} if below else MEMBER
        elif below:
            result[f"f:{name}"] = below
    return result


def _fields_of_list(field_type: FieldType, rule: ListRule, value: list[Any]) -> FieldSet:
    result: FieldSet = {}
    for element, same in items.by_element(field_type, rule, value).items():
        below = _fields_below(field_type.items, same[0]) if len(same) == 1 else None
        result[element] = {SELF: MEMBER, **below} if below else MEMBER
    return result


def with_named_fields(field_type: FieldType, fields: FieldSet) -> FieldSet:
    """The set with each declared field that has something below it as a member, too."""
    result: FieldSet = {}
    for element, below in fields.items():
        if not below:
            result[element] = below
            continue
        name = element[2:] if element[:2] == "f:" else None
        inner = with_named_fields(field_type.child(name) if name is not None else field_type.items, below)
        if name is not None and name in field_type.fields and SELF not in inner:
            inner = {SELF: MEMBER, **inner}
        result[element] = inner
    return result


def reconciled(field_type: FieldType, fields: FieldSet) -> FieldSet:
    """The set, adapted to a newer schema: if a list or a map has become atomic, its owner owns all of it."""
    result = fields
    for element, below in fields.items():
        if not below:
            continue
        child = field_type.child(element[2:]) if element[:2] == "f:" else field_type.items
        kept = MEMBER if _is_atomic(child) else reconciled(child, below)
        if kept is not below:
            result = {**result, element: kept}
    return result


def _is_atomic(field_type: FieldType) -> bool:
    if field_type.scalar:
        return False  # any type: what it is depends on the value
    return field_type.atomic if field_type.is_map else field_type.list_rule is not None and field_type.list_rule.atomic


def removed(field_type: FieldType, document: Any, fields: FieldSet) -> Any:
    """The document without some fields. A map or list of which nothing is left becomes null."""
    if isinstance(document, dict) and field_type.is_map:
        if not document or field_type.atomic:  # an atomic value cannot lose a part: all of it is removed
            return None
        return _map_without(field_type, document, fields) or None
    rule = field_type.list_rule
    if isinstance(document, list) and rule is not None:
        if not document or rule.atomic:
            return None
        return _list_without(field_type, rule, document, fields) or None
    return document


def _map_without(field_type: FieldType, document: dict[str, Any], fields: FieldSet) -> dict[str, Any]:
    result = {}
    for name, value in document.items():
        below = fields.get(f"f:{name}")
        if below is None:
            result[name] = value
        elif not sets.is_member(below):
            result[name] = removed(field_type.child(name), value, below)
    return result


def _list_without(field_type: FieldType, rule: ListRule, document: list[Any], fields: FieldSet) -> list[Any]:
    result = []
    for item in document:
        try:
            below = fields.get(items.element_of(field_type, rule, item))
        except items.NoIdentityError:
            below = None
        if below is None:
            result.append(item)
        elif not sets.is_member(below):
            result.append(removed(field_type.items, item, below))
    return result


def merged(field_type: FieldType, live: Any, applied: Any) -> Any:
    """The live document with the fields of the applied one. Nothing is removed; neither document is changed."""
    if field_type.is_map and not field_type.atomic and isinstance(live, dict) and isinstance(applied, dict):
        return live | {
            name: merged(field_type.child(name), live[name], value) if name in live else value
            for name, value in applied.items()
        }
    rule = field_type.list_rule
    if rule is not None and not rule.atomic and isinstance(live, list) and isinstance(applied, list):
        return _merged_lists(field_type, rule, live, applied)
    if applied is None and live and _granular(field_type, live):
        return live  # a null sets no items
    return applied


def _granular(field_type: FieldType, value: Any) -> bool:
    if isinstance(value, dict):
        return field_type.is_map and not field_type.atomic
    return isinstance(value, list) and field_type.list_rule is not None and not field_type.list_rule.atomic


def _merged_lists(field_type: FieldType, rule: ListRule, live: list[Any], applied: list[Any]) -> list[Any]:
    """Items that both lists have are in the applied order; the others keep their place before the next shared item."""
    olds = items.by_element(field_type, rule, live)
    news = items.by_element(field_type, rule, applied)
    rest = _Rest([(_identity(field_type, rule, item), item) for item in live], news)
    shared = [element for element in news if element in olds]
    result: list[Any] = []
    for element, (value, *_) in news.items():
        result += rest.until(shared[0] if shared else "")
        if shared and element == shared[0]:
            del shared[0]
            rest.skip(element)
        old = olds.get(element, ())
        # Duplicates are not merged: the applied item replaces them all.
        result.append(merged(field_type.items, old[0], value) if len(old) == 1 else value)
    return [*result, *rest.until("")]


class _Rest:
    """The items of the live list that are not placed yet."""

    def __init__(self, entries: list[tuple[str, Any]], applied: Container[str]) -> None:
        self._entries = entries
        self._applied = applied
        self._position = 0

    def until(self, shared: str) -> list[Any]:
        """The items before a shared item that are not in the applied list; items of the applied list are placed
        elsewhere."""
        found = []
        while self._position < len(self._entries):
            element, item = self._entries[self._position]
            if element == shared and shared:
                break
            if element not in self._applied:
                found.append(item)
            self._position += 1
        return found

    def skip(self, element: str) -> None:
        """Skip an item, if it is the next."""
        if self._position < len(self._entries) and self._entries[self._position][0] == element:
            self._position += 1


def _identity(field_type: FieldType, rule: ListRule, item: Any) -> str:
    try:
        return items.element_of(field_type, rule, item)
    except items.NoIdentityError:
        return ""
