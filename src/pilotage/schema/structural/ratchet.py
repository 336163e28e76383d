"""Validation ratcheting: an update may keep problems in parts that it does not change.

So a schema can become stricter without blocking all writes to objects that were stored before. Old and new values are
paired along the path of a problem: properties by name, items of list maps by their keys. Items of other lists cannot be
paired, because a position does not identify an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pilotage.schema.structural.lists import identity, key_of
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import Problem, Steps

_UNPAIRED: Any = object()


def remaining_problems(root: Node, new: Any, old: Any, problems: Iterable[Problem]) -> list[Problem]:
    """The problems that are not tolerated: in values that the update changed, or that never ratchet."""
    comparison = Comparison(root, new, old)
    return [each for each in problems if not (each.ratchets and comparison.unchanged(each.steps[: each.spine]))]


class Comparison:
    """The new and the old object of an update, paired value by value."""

    def __init__(self, root: Node, new: Any, old: Any) -> None:
        self._root, self._new, self._old = root, new, old
        self._same: dict[tuple[int, int], bool] = {}  # by the ids of the new and the old value
        self._items: dict[int, dict[Any, Any]] = {}  # by the id of the old list

    def unchanged(self, steps: Steps) -> bool:
        """Whether the value at a path, or one that contains it, is equal in the old object."""
        return any(self._equal(new, old) for new, old in self._pairs(steps))

    def old_at(self, steps: Steps) -> Any:
        """The old value at a path of the new object; None if there is none that can be paired with it."""
        pairs = list(self._pairs(steps))
        return pairs[-1][1] if len(pairs) == len(steps) + 1 else None

    def _pairs(self, steps: Steps) -> Iterator[tuple[Any, Any]]:
        node: Node | None = self._root
        new, old = self._new, self._old
        yield new, old
        if steps and steps[0] in ("apiVersion", "kind"):
            return  # both objects are in the version of the request: a change of these is not visible
        for step in steps:
            if node is None:
                return
            if isinstance(step, int):
                new, old, node = self._item(node, new, old, step)
            else:
                new, old, node = _member(node, new, old, step)
            if old is _UNPAIRED:
                return
            yield new, old

    def _item(self, node: Node, new: Any, old: Any, index: int) -> tuple[Any, Any, Node | None]:
        """Items are paired by their keys, in list maps only."""
        if node.list_type != "map" or not isinstance(new, list) or not isinstance(old, list) or index >= len(new):
            return None, _UNPAIRED, None
        items = self._items.get(id(old))
        if items is None:  # one index for each list: a search for each item would take quadratic time
            items = {identity(key_of(each, node.list_keys)): each for each in reversed(old)}
            self._items[id(old)] = items
        found = items.get(identity(key_of(new[index], node.list_keys)), _UNPAIRED)
        return (None, _UNPAIRED, None) if found is _UNPAIRED else (new[index], found, node.items)

    def _equal(self, new: Any, old: Any) -> bool:
        known = (id(new), id(old))
        if known not in self._same:
            self._same[known] = new == old and identity(new) == identity(old)
        return self._same[known]


def _member(node: Node, new: Any, old: Any, name: str) -> tuple[Any, Any, Node | None]:
    child = node.properties.get(name) or node.additional
    if child is None or not isinstance(new, dict) or not isinstance(old, dict) or name not in new or name not in old:
        return None, _UNPAIRED, None
    return new[name], old[name], child
