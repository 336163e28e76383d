"""Which fields differ between two documents of one type."""

from __future__ import annotations

from typing import Any, NamedTuple

from pilotage.meta.documents import Document, equal, same
from pilotage.meta.fields import items, sets
from pilotage.meta.fields.schema import FieldType, ListRule
from pilotage.meta.fields.sets import MEMBER, SELF, FieldSet

_ABSENT: Any = object()
_CONTAINERS = frozenset((dict, list))
_MAX_REMEMBERED = 256
_MAX_NAMES = 1024
"""The maximum length of the names in a map whose field set is cached."""


class FieldChanges(NamedTuple):
    """The fields that the newer of two documents lacks, and those that it has in addition or with another value."""

    removed: FieldSet
    written: FieldSet

    def ignoring(self, fields: FieldSet) -> FieldChanges:
        """The changes without changes of some fields, and of all that is below them."""
        if not fields:
            return self
        return FieldChanges(sets.without(self.removed, fields), sets.without(self.written, fields))


def changes(field_type: FieldType, old: Document, new: Document, ignored: FieldSet = MEMBER) -> FieldChanges:
    """The changes from one document to another, both of that type, without changes of ignored fields."""
    # A field that is ignored as a whole is not compared: a write of the status has the whole spec, too.
    skipped = [name for name in new if ignored and ignored.get(f"f:{name}") == MEMBER]
    if skipped:
        old = {name: value for name, value in old.items() if name not in skipped}
        new = {name: value for name, value in new.items() if name not in skipped}
    found = FieldChanges({}, {})
    _compare(field_type, old, new, found)
    return found.ignoring(ignored)


def _compare(field_type: FieldType, old: Any, new: Any, out: FieldChanges) -> bool:
    """Record what differs below a field. Returns whether the field itself has another value."""
    if field_type.is_map and isinstance(old, dict) and isinstance(new, dict):
        if field_type.atomic:
            return not equal(old, new)
        _compare_maps(field_type, old, new, out)
        return False
    rule = field_type.list_rule
    if rule is not None and isinstance(old, list) and isinstance(new, list):
        if rule.atomic:
            return not equal(old, new)
        _compare_lists(field_type, rule, old, new, out)
        return False
    # Values of different kinds, such as a scalar and a map, or null and a list: everything below them differs.
    removed, written = below(field_type, old), below(field_type, new)
    out.removed.update(removed)
    out.written.update(written)
    absent = (old is None and written) or (new is None and removed)  # null is an empty map or list
    return not absent and not equal(old, new)


def _compare_maps(field_type: FieldType, old: dict[str, Any], new: dict[str, Any], out: FieldChanges) -> None:
    for name, value in new.items():
        before = old.get(name, _ABSENT)
        if before is value:
            continue
        kind = type(value)
        leaf = kind is not dict and kind is not list
        if leaf and kind is type(before):
            if before != value:
                out.written[f"f:{name}"] = MEMBER
            continue
        if before is _ABSENT and field_type.always:
            before = field_type.always.get(name, _ABSENT)
        if before is _ABSENT:
            out.written[f"f:{name}"] = MEMBER if leaf else appeared(field_type.child(name), value)
        else:
            child = field_type.child(name)
            if before != value or not (child.exact or same(before, value)):  # most are the same
                compare_field(f"f:{name}", child, before, value, out)
    if not old.keys() <= new.keys():
        for name in old.keys() - new.keys():
            if name in field_type.always:
                compare_field(f"f:{name}", field_type.child(name), old[name], field_type.always[name], out)
            else:
                out.removed[f"f:{name}"] = appeared(field_type.child(name), old[name])


def _compare_lists(field_type: FieldType, rule: ListRule, old: list[Any], new: list[Any], out: FieldChanges) -> None:
    olds = items.by_element(field_type, rule, old)
    news = items.by_element(field_type, rule, new)
    exact = field_type.items.exact
    for element in olds.keys() | news.keys():
        was, now = olds.get(element, []), news.get(element, [])
        if was != now or not (exact or same(was, now)):  # most are the same
            _compare_items(element, field_type.items, was, now, out)


def _compare_items(element: str, field_type: FieldType, old: list[Any], new: list[Any], out: FieldChanges) -> None:
    """Compare the items that one path element names. Duplicates are one value, without fields."""
    if len(old) == len(new) == 1:
        compare_field(element, field_type, old[0], new[0], out)
    elif len(old) > 1 and len(new) > 1:
        if not equal(old, new):
            out.written[element] = MEMBER
    else:
        if old:
            out.removed[element] = appeared(field_type, old[0]) if len(old) == 1 else MEMBER
        if new:
            out.written[element] = appeared(field_type, new[0]) if len(new) == 1 else MEMBER


def compare_field(element: str, field_type: FieldType, old: Any, new: Any, out: FieldChanges) -> None:
    """Record the changes of one field, or of one item of a list, from one value to another."""
    found = FieldChanges({}, {})
    differs = _compare(field_type, old, new, found)
    if found.removed:
        out.removed[element] = found.removed
    if differs:
        out.written[element] = {SELF: MEMBER, **found.written} if found.written else MEMBER
    elif found.written:
        out.written[element] = found.written


def appeared(field_type: FieldType, value: Any) -> FieldSet:
    """What is below an element whose value appears as a whole: the element is a member, and so is each field."""
    names = ()
    if type(value) is dict and _CONTAINERS.isdisjoint(map(type, value.values())):
        # Of a map of scalars the names alone decide, and many maps of a type have the same.
        names = tuple(value)
        found = field_type.scalar_sets.get(names)
        if found is not None:
            return found
    fields = below(field_type, value)
    found = {SELF: MEMBER, **fields} if fields else MEMBER
    if names and len(field_type.scalar_sets) < _MAX_REMEMBERED and sum(map(len, names)) <= _MAX_NAMES:
        field_type.scalar_sets[names] = found
    return found


def below(field_type: FieldType, value: Any) -> FieldSet:
    """The fields and items of a value; none of a value that is a leaf."""
    if isinstance(value, dict) and field_type.is_map and not field_type.atomic:
        fields = {
            f"f:{name}": appeared(field_type.child(name), item) if item.__class__ in _CONTAINERS else MEMBER
            for name, item in value.items()
        }
        if field_type.always:
            fields.update({f"f:{name}": MEMBER for name in field_type.always if name not in value})
        return fields
    rule = field_type.list_rule
    if isinstance(value, list) and rule is not None and not rule.atomic:
        found = items.by_element(field_type, rule, value)
        return {
            element: appeared(field_type.items, same[0]) if len(same) == 1 else MEMBER
            for element, same in found.items()
        }
    return MEMBER
