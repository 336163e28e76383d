"""Validation ratcheting: an update may keep problems in parts that it does not change.

So a schema can become stricter without blocking all writes to objects that were stored before. Old and new values are
paired along the path of a problem: properties by name, items of list maps by their keys. Items of other lists cannot be
paired, because a position does not identify an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pilotage.schema.structural.lists import identity, key_of
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import Problem, Steps


class _Pair(NamedTuple):
    """A value of the new object, its schema, and the value of the old object that it replaces."""

    node: Node
    new: Any
    old: Any


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
        return any(self._equal(*pair) for pair in self._pairs(steps))

    def old_at(self, steps: Steps) -> Any:
        """The old value at a path of the new object; None if there is none that can be paired with it."""
        pairs = list(self._pairs(steps))
        return pairs[-1].old if len(pairs) == len(steps) + 1 else None

    def _pairs(self, steps: Steps) -> Iterator[_Pair]:
        pair: _Pair | None = _Pair(self._root, self._new, self._old)
        assert pair is not None
        yield pair
        if steps and steps[0] in ("apiVersion", "kind"):
            return  # both objects are in the version of the request: a change of these is not visible
        for step in steps:
            pair = self._item(pair, step) if isinstance(step, int) else _member(pair, step)
            if pair is None:
                return
            yield pair

    def _item(self, pair: _Pair, index: int) -> _Pair | None:
        """Items are paired by their keys, in list maps only."""
        node, new, old = pair
        if node.list_type != "map" or not isinstance(new, list) or not isinstance(old, list) or index >= len(new):
            return None
        key = key_of(new[index], node.list_keys)
        if len(key) < len(node.list_keys):  # only defaults are checked before their own defaults are set
            return None
        items = self._items.get(id(old))
        if items is None:  # one index for each list: a search for each item would take quadratic time
            items = {identity(key_of(each, node.list_keys)): each for each in reversed(old)}
            self._items[id(old)] = items
        found = items.get(identity(key))
        return _Pair(node.items, new[index], found) if found is not None and node.items is not None else None

    def _equal(self, node: Node, new: Any, old: Any) -> bool:
        known = (id(new), id(old))
        if known not in self._same:
            self._same[known] = self._compare(_Pair(node, new, old))
        return self._same[known]

    def _compare(self, pair: _Pair) -> bool:
        """Whether two values are equal, as far as their schema goes.

        As in Kubernetes, the order of a list map does not count, and objects with fields that have no schema are never
        equal. A whole object is never equal either, because its metadata has no schema.
        """
        node, new, old = pair
        if type(new) is not type(old):
            return False
        if isinstance(new, dict):
            inner = [_member(pair, name) for name in new] if len(new) == len(old) else [None]
        elif isinstance(new, list) and node.list_type == "map":
            inner = [self._item(pair, index) for index in range(len(new))] if len(new) == len(old) else [None]
        else:
            return bool(new == old and identity(new) == identity(old))
        return all(each is not None and self._equal(*each) for each in inner)


def _member(pair: _Pair, name: str) -> _Pair | None:
    node, new, old = pair
    child = node.properties.get(name) or node.additional
    if child is None or not isinstance(new, dict) or not isinstance(old, dict) or name not in new or name not in old:
        return None
    return _Pair(child, new[name], old[name])
