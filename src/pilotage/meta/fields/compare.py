"""Which fields differ between two documents of one type."""

from __future__ import annotations

from typing import Any, NamedTuple

from pilotage.meta.documents import equal, same
from pilotage.meta.fields import items, sets
from pilotage.meta.fields.schema import FieldType, ListRule
from pilotage.meta.fields.sets import MEMBER, SELF, FieldSet

_ABSENT: Any = object()


class Changes(NamedTuple):
    """The fields that the newer of two documents lacks, and those that it has in addition or with another value."""

    removed: FieldSet
    written: FieldSet

    def ignoring(self, fields: FieldSet) -> Changes:
        """The changes without those of some fields, and of all that is below them."""
        if not fields:
            return self
        return Changes(sets.without(self.removed, fields), sets.without(self.written, fields))


def changes(field_type: FieldType, old: Any, new: Any) -> Changes:
    """The changes from one document to another, both of that type."""
    found = _Comparison()
    found.compare(field_type, old, new)
    return Changes(found.removed, found.written)


class _Comparison:
    """Collects the changes below one field."""

    __slots__ = ("differs", "removed", "written")

    def __init__(self) -> None:
        self.removed: FieldSet = {}
        self.written: FieldSet = {}
        self.differs = False
        """The field itself has another value."""

    def compare(self, field_type: FieldType, old: Any, new: Any) -> None:
        if field_type.is_map and isinstance(old, dict) and isinstance(new, dict):
            self._maps(field_type, old, new)
        elif field_type.list_rule is not None and isinstance(old, list) and isinstance(new, list):
            self._lists(field_type, field_type.list_rule, old, new)
        else:
            self._kinds(field_type, old, new)

    def _maps(self, field_type: FieldType, old: dict[str, Any], new: dict[str, Any]) -> None:
        if field_type.atomic:
            self.differs = not equal(old, new)
            return
        for name, value in new.items():
            before = old.get(name, _ABSENT)
            if before is _ABSENT:
                self.written[f"f:{name}"] = appeared(field_type.child(name), value)
            elif before is not value:
                child = field_type.child(name)
                if before != value or not (child.exact or same(before, value)):  # most are the same
                    self._both(f"f:{name}", child, before, value)
        for name in old.keys() - new.keys():
            self.removed[f"f:{name}"] = appeared(field_type.child(name), old[name])

    def _lists(self, field_type: FieldType, rule: ListRule, old: list[Any], new: list[Any]) -> None:
        if rule.atomic:
            self.differs = not equal(old, new)
            return
        olds = items.by_element(field_type, rule, old)
        news = items.by_element(field_type, rule, new)
        for element in olds.keys() | news.keys():
            self._items(element, field_type.items, olds.get(element, []), news.get(element, []))

    def _items(self, element: str, field_type: FieldType, old: list[Any], new: list[Any]) -> None:
        """Compare the items that one path element names. Duplicates are one value, without fields."""
        if len(old) == len(new) == 1:
            self._both(element, field_type, old[0], new[0])
        elif len(old) > 1 and len(new) > 1:
            if not equal(old, new):
                self.written[element] = MEMBER
        else:
            if old:
                self.removed[element] = appeared(field_type, old[0]) if len(old) == 1 else MEMBER
            if new:
                self.written[element] = appeared(field_type, new[0]) if len(new) == 1 else MEMBER

    def _kinds(self, field_type: FieldType, old: Any, new: Any) -> None:
        """Compare values of two kinds, such as a scalar and a map, or null and a list: all below them differs."""
        self.removed, self.written = _below(field_type, old), _below(field_type, new)
        absent = (old is None and self.written) or (new is None and self.removed)  # null is an empty map or list
        self.differs = not absent and not equal(old, new)

    def _both(self, element: str, field_type: FieldType, old: Any, new: Any) -> None:
        below = _Comparison()
        below.compare(field_type, old, new)
        if below.removed:
            self.removed[element] = below.removed
        if below.differs:
            self.written[element] = {SELF: MEMBER, **below.written} if below.written else MEMBER
        elif below.written:
            self.written[element] = below.written


def appeared(field_type: FieldType, value: Any) -> FieldSet:
    """What is below an element whose value appears as a whole: the element is a member, and so is each field."""
    below = _below(field_type, value)
    return {SELF: MEMBER, **below} if below else MEMBER


def _below(field_type: FieldType, value: Any) -> FieldSet:
    """The fields and items of a value; none of a value that is a leaf."""
    if isinstance(value, dict) and field_type.is_map and not field_type.atomic:
        return {f"f:{name}": appeared(field_type.child(name), item) for name, item in value.items()}
    rule = field_type.list_rule
    if isinstance(value, list) and rule is not None and not rule.atomic:
        found = items.by_element(field_type, rule, value)
        return {
            element: appeared(field_type.items, same[0]) if len(same) == 1 else MEMBER
            for element, same in found.items()
        }
    return MEMBER
