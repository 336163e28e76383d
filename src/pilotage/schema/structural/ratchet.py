"""What an update may keep: problems in parts that it did not change (Kubernetes' validation ratcheting)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pilotage.schema.structural.lists import identity, key_of
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import Problem, Steps

_NONE: Any = object()


def kept(root: Node, new: Any, old: Any, problems: Iterable[Problem]) -> list[Problem]:
    """The problems that count although there was an old object."""
    comparison = Comparison(root, new, old)
    return [each for each in problems if not (each.ratchets and comparison.unchanged(each.steps[: each.spine]))]


class Comparison:
    """An object beside its predecessor, place by place as far as the schema lets places be matched."""

    def __init__(self, root: Node, new: Any, old: Any) -> None:
        self._root, self._new, self._old = root, new, old
        self._same: dict[tuple[int, int], bool] = {}
        self._items: dict[int, dict[Any, Any]] = {}

    def unchanged(self, steps: Steps) -> bool:
        """Whether the place, or one above it, is what it was."""
        return any(self._equal(new, old) for new, old in self._pairs(steps))

    def old_at(self, steps: Steps) -> Any:
        """What stood at a place before; None where there was nothing that can be matched with it."""
        pairs = list(self._pairs(steps))
        return pairs[-1][1] if len(pairs) == len(steps) + 1 else None

    def _pairs(self, steps: Steps) -> Iterator[tuple[Any, Any]]:
        node: Node | None = self._root
        new, old = self._new, self._old
        yield new, old
        if steps and steps[0] in ("apiVersion", "kind"):
            return  # both were converted to one version, so that a change of these cannot be seen
        for step in steps:
            if node is None:
                return
            if isinstance(step, int):
                new, old, node = self._item(node, new, old, step)
            else:
                new, old, node = _member(node, new, old, step)
            if old is _NONE:
                return
            yield new, old

    def _item(self, node: Node, new: Any, old: Any, index: int) -> tuple[Any, Any, Node | None]:
        """Items can be matched in a list that is a map, and there by their keys."""
        if node.list_type != "map" or not isinstance(new, list) or not isinstance(old, list) or index >= len(new):
            return None, _NONE, None
        items = self._items.get(id(old))
        if items is None:  # made once for each list, not searched for each item: both may have tens of thousands
            items = {identity(key_of(each, node.list_keys)): each for each in reversed(old)}
            self._items[id(old)] = items
        found = items.get(identity(key_of(new[index], node.list_keys)), _NONE)
        return (None, _NONE, None) if found is _NONE else (new[index], found, node.items)

    def _equal(self, new: Any, old: Any) -> bool:
        known = (id(new), id(old))
        if known not in self._same:
            self._same[known] = new == old and identity(new) == identity(old)
        return self._same[known]


def _member(node: Node, new: Any, old: Any, name: str) -> tuple[Any, Any, Node | None]:
    child = node.properties.get(name) or node.additional
    if child is None or not isinstance(new, dict) or not isinstance(old, dict) or name not in new or name not in old:
        return None, _NONE, None
    return new[name], old[name], child
