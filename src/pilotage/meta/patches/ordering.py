"""The order of a merged list is the order of the patch; items that the patch does not name keep their place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pilotage.meta.documents import canonical


@dataclass(slots=True)
class MergedItem:
    """An item of a merged list."""

    value: Any
    identity: bytes | None
    """What identifies it: its merge key, or itself if it is a scalar; None where the merge key is missing."""
    position: int | None
    """Where it was in the list before; None for a new one."""


def identity(item: Any, key: str) -> bytes | None:
    """What identifies an item in its list."""
    if not isinstance(item, dict):
        return canonical(item)
    return canonical(item[key]) if key in item else None


def arranged(entries: Iterable[MergedItem], order: Iterable[bytes | None]) -> list[Any]:
    """The values of the entries: those in `order` in that order; each other entry before the first of them that
    followed it in the old list, else at the end."""
    ranks: dict[bytes | None, int] = {}
    for rank, name in enumerate(order):
        ranks.setdefault(name, rank)
    named: list[MergedItem] = []
    others: list[MergedItem] = []
    for entry in entries:
        (named if entry.identity is not None and entry.identity in ranks else others).append(entry)
    named.sort(key=lambda entry: ranks[entry.identity])
    result: list[Any] = []
    waiting = 0
    for entry in named:
        while waiting < len(others) and _stood_before(others[waiting], entry):
            result.append(others[waiting].value)
            waiting += 1
        result.append(entry.value)
    return result + [entry.value for entry in others[waiting:]]


def _stood_before(one: MergedItem, other: MergedItem) -> bool:
    return one.position is not None and other.position is not None and one.position < other.position
