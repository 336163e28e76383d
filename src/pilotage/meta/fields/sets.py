"""Field sets: plain data in the form of FieldsV1, and their algebra.

A set is a nested dict from path elements (`f:spec`, `k:{"name":"a"}`, `v:"x"`, `i:0`) to what is below them. An element
without anything below it is a member; one with more below it is a member only if it also has the key `.`. The set
`{"f:data": {".": {}, "f:key": {}}}` has two members, `data` and `data.key`. Sets are never changed in place, so they
may share parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

FieldSet: TypeAlias = "dict[str, Any]"

SELF = "."
"""The key of an element with more below it that is a member itself."""
MEMBER: FieldSet = {}
"""What is below an element that is only a member."""


def from_paths(paths: Iterable[tuple[str, ...]]) -> FieldSet:
    """The set of the given paths; their parents are not members."""
    result: FieldSet = {}
    for path in paths:
        only: FieldSet = MEMBER
        for element in reversed(path):
            only = {element: only}
        result = union(result, only)
    return result


def paths(fields: FieldSet, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The members of a set; at each level the members first, then what is below."""
    children = [(element, below) for element, below in sorted(fields.items()) if element != SELF]
    for element, below in children:
        if is_member(below):
            yield (*prefix, element)
    for element, below in children:
        yield from paths(below, (*prefix, element))


def is_member(below: FieldSet) -> bool:
    """Whether an element with this below it is a member."""
    return not below or SELF in below


def has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    """Whether a path is a member."""
    found: FieldSet | None = fields
    for element in path:
        found = found.get(element) if found else None
        if found is None:
            return False
    return bool(path) and is_member(found or {})


def below(fields: FieldSet, element: str) -> FieldSet:
    """The set of what is below an element."""
    found: FieldSet = fields.get(element, MEMBER)
    return {key: value for key, value in found.items() if key != SELF} if SELF in found else found


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """The members of either set."""
    if not one or not other:
        return one or other
    result = dict(one)
    for element, below in other.items():
        found = result.get(element)
        result[element] = below if found is None else _joined(found, below)
    return result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """The members of one set that are not in the other. What is below a removed member stays."""
    return (_without(one, other, root=True) or {}) if one and other else one


def without(one: FieldSet, other: FieldSet) -> FieldSet:
    """The members of one set that are neither in the other nor below a member of it."""
    result: FieldSet = {}
    for element, below in one.items():
        removed = other.get(element)
        if removed is None:
            result[element] = below
        elif not is_member(removed):
            rest = without(below, removed)
            if rest or not below:
                result[element] = rest if rest.keys() != {SELF} else MEMBER
    return result


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """The members of both sets."""
    result: FieldSet = {}
    for element, below in one.items():
        found = other.get(element)
        if found is not None and element != SELF:
            common = _common(below, found)
            if common is not None:
                result[element] = common
    return result


def intersects(one: FieldSet, other: FieldSet) -> bool:
    """Whether the sets have a member in common."""
    for element, below in one.items():
        found = other.get(element)
        if found is None or element == SELF:
            continue
        if (is_member(below) and is_member(found)) or (below and found and intersects(below, found)):
            return True
    return False


def includes(one: FieldSet, other: FieldSet) -> bool:
    """Whether every member of the other set is in the first."""
    for element, below in other.items():
        if element == SELF:
            continue
        found = one.get(element)
        if found is None or (is_member(below) and not is_member(found)) or (below and not includes(found, below)):
            return False
    return True


def _joined(one: FieldSet, other: FieldSet) -> FieldSet:
    if one is other or not (one or other):
        return one
    # A plain member has nothing below it. Joined with a set, it is a member only if the result has the key `.`.
    if not one:
        return other if SELF in other else {SELF: MEMBER, **other}
    if not other:
        return one if SELF in one else {SELF: MEMBER, **one}
    return union(one, other)


def _without(one: FieldSet, other: FieldSet, *, root: bool = False) -> FieldSet | None:
    """The difference below an element; None where nothing is left."""
    member = not root and is_member(one) and not is_member(other)  # the root is not an element, and so not a member
    result: FieldSet = {}
    for element, below in one.items():
        if element == SELF:
            continue
        removed = other.get(element)
        rest = below if removed is None else _without(below, removed)
        if rest is not None:
            result[element] = rest
    if member and result:
        return {SELF: MEMBER, **result}
    return result if result or member else None


def _common(one: FieldSet, other: FieldSet) -> FieldSet | None:
    result = intersection(one, other) if one and other else {}
    if is_member(one) and is_member(other):
        return {SELF: MEMBER, **result} if result else MEMBER
    return result or None
