"""Pairs the items of a changed list with the items of the list before: by keys, by value, by position."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from pilotage.meta.documents import canonical
from pilotage.meta.values import Value

_TEXTS = frozenset((str,))
Origins: TypeAlias = "list[int | None]"
"""For each item after, the index of the same item before; None for a new one."""


class Ambiguous(Exception):
    """An item with unknown fields may be any of several items, or none."""


class Lists(Value, frozen=True):
    """A list before and after, each item as canonical bytes."""

    before: list[bytes]
    """The part of each item that the class knows …"""
    after: list[bytes]
    base: list[bytes]
    """… and the whole item."""
    unknown: list[bool]
    """Whether the item has fields that the class does not know."""


def by_keys(before: Sequence[Any], after: Sequence[Any], keys: Sequence[str]) -> Origins | None:
    """Pair items by their map keys; None if these do not identify them.

    All items must be objects with the same keys present: one that was left out because it has its default value would
    not be found again. And no two items of a list may be equal in them.
    """
    if not keys or not all(isinstance(item, dict) for item in (*before, *after)):
        return None
    if len({tuple(key in item for key in keys) for item in (*before, *after)}) > 1:
        return None
    identities = _identities((*before, *after), keys)
    olds = {identity: index for index, identity in enumerate(identities[: len(before)])}
    news = identities[len(before) :]
    if len(olds) < len(before) or len(set(news)) < len(news):
        return None
    return [olds.get(identity) for identity in news]


def by_value(lists: Lists) -> Origins:
    """Pair equal items, then the others by position. Raises Ambiguous if a guess could lose unknown fields.

    If the equal items are in the same order as before, the others lie in the gaps between them. A gap with the same
    number of items before and after has the same items, changed; a gap with items on one side only has new or removed
    ones. If items have moved, those at the same index are the same, provided that the list is as long as before.
    """
    origins = _equal(lists.before, lists.after)
    kept = {old: new for new, old in enumerate(origins) if old is not None}
    # `kept` is in the order of `after`, so rising keys mean that no item has moved.
    if all(one < other for one, other in pairwise(kept)):
        removed = _fill_gaps(origins, lists.unknown)
    else:
        removed = _fill_indexes(origins, kept, lists)
    _refuse_twins(removed, kept, lists)
    return origins


def _equal(before: list[bytes], after: list[bytes]) -> Origins:
    """Pair items that have not changed; None for the others."""
    origins: Origins = [None] * len(after)
    # Before the search by value: of several equal items, the one that stayed in its place is the same.
    for new, old in _anchors(before, after):
        origins[new] = old
    # Items that moved: equal values are paired in their order, each only once.
    taken = set(origins)
    waiting: dict[bytes, deque[int]] = defaultdict(deque)
    for index, item in enumerate(before):
        if index not in taken:
            waiting[item].append(index)
    for index, item in enumerate(after):
        if origins[index] is None and (same := waiting.get(item)):
            origins[index] = same.popleft()
    return origins


def _anchors(before: list[bytes], after: list[bytes]) -> list[tuple[int, int]]:
    """Equal items at the same index, counted from the start or from the end: the usual case, in linear time."""
    shorter = min(len(before), len(after))
    # An item in the middle was changed, in the usual case: those after it still have their index.
    if len(before) == len(after):
        return [(index, index) for index in range(shorter) if before[index] == after[index]]
    start = 0
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    head = [(index, index) for index in range(start)]
    return head + [(len(after) - back, len(before) - back) for back in range(1, end + 1)]


def _fill_gaps(origins: Origins, unknown: list[bool]) -> list[int]:
    """Pair the items in gaps of equal length, in place; returns the indexes of the removed items."""
    removed: list[int] = []
    fresh: list[int] = []
    last = -1
    # A sentinel pair after both ends closes the last gap.
    for new, old in [*enumerate(origins), (len(origins), len(unknown))]:
        if old is None:
            fresh.append(new)
            continue
        missing = range(last + 1, old)
        if len(missing) == len(fresh):
            for place, index in zip(fresh, missing, strict=True):
                origins[place] = index
        elif fresh and any(unknown[index] for index in missing):
            raise Ambiguous  # a removed item may be a new item that was changed; its unknown fields would be lost
        else:
            removed += missing
        fresh, last = [], old
    return removed


def _fill_indexes(origins: Origins, kept: dict[int, int], lists: Lists) -> list[int]:
    """Pair the items at equal indexes, in place; returns the indexes of the removed items."""
    missing = [old for old in range(len(lists.before)) if old not in kept]
    removed: list[int] = []
    for old in missing:
        if len(lists.before) == len(origins) and origins[old] is None:
            origins[old] = old
        else:
            removed.append(old)
    if None in origins and any(lists.unknown[old] for old in removed):
        raise Ambiguous  # as in a gap: an item that seems removed may be one that seems new, but changed
    return removed


def _refuse_twins(removed: list[int], kept: dict[int, int], lists: Lists) -> None:
    """Raise Ambiguous if one of two items was removed that the class cannot distinguish, but that are not the same."""
    alike: dict[bytes, set[tuple[bytes, bool]]] = defaultdict(set)
    # Which of them was removed cannot be seen from the part that the class knows, and their unknown fields differ.
    for old in kept:
        alike[lists.before[old]].add((lists.base[old], lists.unknown[old]))
    for old in removed:
        for whole, unknown in alike.get(lists.before[old], ()):
            if whole != lists.base[old] and (unknown or lists.unknown[old]):
                raise Ambiguous


def _identities(items: Sequence[dict[str, Any]], keys: Sequence[str]) -> Sequence[str | bytes]:
    if len(keys) == 1:
        texts: list[Any] = [item.get(keys[0]) for item in items]
        if _TEXTS.issuperset(map(type, texts)):  # as in most lists: the texts identify the items
            return texts
    # Canonical bytes: a key may be an object, and 1 and True are different keys.
    return [canonical([item.get(key) for key in keys]) for item in items]
