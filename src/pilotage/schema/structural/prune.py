"""Pruning: drops the fields that a schema does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pilotage.schema.structural.node import META_FIELDS, OBJECT_META, Node
from pilotage.schema.structural.paths import MAXIMUM_REPORTED, Path, dotted, steps_of

Prune = Callable[[Any, Path, list[str]], None]
"""Prunes a value in place and adds the paths of dropped fields, up to MAXIMUM_REPORTED."""


_SCALARS = ("string", "integer", "number", "boolean")
_CONTAINERS = (dict, list)


class Pruner:
    """Compiles nodes to functions. A node below which nothing can be dropped compiles to None."""

    def __init__(self, *, metadata: bool = True) -> None:
        self._metadata = metadata  # whether to drop unknown fields of the metadata of embedded resources

    def compile(self, node: Node, *, keeping: bool = False) -> Prune | None:
        """With `keeping`, unknown fields of this node (not of those below it) are kept."""
        keeping = keeping or node.preserves
        if not self._has_work(node, keeping):
            return None
        return self._compile(node, keeping)

    def _has_work(self, node: Node, keeping: bool) -> bool:
        if not keeping and node.type not in _SCALARS:
            return True
        if node.embedded:
            return True
        return bool(node.schema.get("properties") or node.schema.get("additionalProperties") or node.items)

    def _compile(self, node: Node, keeping: bool) -> Prune:
        as_object = self._object(node, keeping)
        # As in Kubernetes, preserve-unknown-fields on a list holds for its items, too.
        as_list = self._list(self._items(node.items, keeping) if node.items else None)
        if node.items is None and not keeping:
            as_list = self._list(_drop_all)

        def prune(value: Any, path: Path, dropped: list[str]) -> None:
            kind = type(value)
            if kind is dict:
                as_object(value, path, dropped)
            elif kind is list:
                as_list(value, path, dropped)

        if node.type == "object":
            return _only(dict, as_object, prune)
        return prune

    def _object(self, node: Node, keeping: bool) -> Prune:
        skipped = META_FIELDS if node.embedded else frozenset[str]()
        metadata = _prune_metadata if self._metadata and skipped and not node.root else None
        known = frozenset(node.properties) | skipped
        compiled = {name: self.compile(child) for name, child in node.properties.items() if name not in skipped}
        children = [(name, child) for name, child in compiled.items() if child is not None]
        scalars = frozenset(name for name, child in node.properties.items() if _is_scalar(child)) - skipped
        if metadata is not None:
            children.append(("metadata", metadata))
        additional = node.additional
        if additional is not None:
            return _map(self._items(additional, keeping=False), known, children, scalars)

        def prune(value: dict[str, Any], path: Path, dropped: list[str]) -> None:
            if not keeping and not value.keys() <= known:
                for name in value.keys() - known:
                    del value[name]
                    if path is not None or name not in META_FIELDS:
                        _report(dropped, path, name)
            for name, child in children:
                if name in value:
                    child(value[name], (path, name), dropped)
            _empty(value, scalars, path, dropped)

        return prune

    def _items(self, node: Node, keeping: bool) -> Prune | None:
        """The function that prunes the items of a list or the values of a map."""
        return _drop_all if _is_scalar(node) and not keeping else self.compile(node, keeping=keeping)

    def _list(self, item: Prune | None) -> Prune:
        def prune(value: list[Any], path: Path, dropped: list[str]) -> None:
            if item is not None:
                for index, each in enumerate(value):
                    if type(each) in _CONTAINERS:
                        item(each, (path, index), dropped)

        return prune


def _only(kind: type, expected: Prune, otherwise: Prune) -> Prune:
    def prune(value: Any, path: Path, dropped: list[str]) -> None:
        (expected if type(value) is kind else otherwise)(value, path, dropped)

    return prune


def _map(
    item: Prune | None, known: frozenset[str], children: list[tuple[str, Prune]], scalars: frozenset[str]
) -> Prune:
    def prune(value: dict[str, Any], path: Path, dropped: list[str]) -> None:
        for name, child in children:
            if name in value:
                child(value[name], (path, name), dropped)
        _empty(value, scalars, path, dropped)
        if item is not None:
            for name, each in value.items():
                if type(each) in _CONTAINERS and name not in known:
                    item(each, (path, name), dropped)

    return prune


def _is_scalar(node: Node) -> bool:
    return node.type in _SCALARS and not node.preserves


def _empty(value: dict[str, Any], scalars: frozenset[str], path: Path, dropped: list[str]) -> None:
    """Drop the content of objects and lists where the schema has a scalar; validation reports the wrong type."""
    for name, each in value.items():
        if type(each) in _CONTAINERS and name in scalars:
            _drop_all(each, (path, name), dropped)


def _prune_metadata(value: Any, path: Path, dropped: list[str]) -> None:
    """Prune the metadata of an embedded resource. The server handles the metadata of the document itself."""
    if type(value) is dict and not value.keys() <= OBJECT_META:
        for name in value.keys() - OBJECT_META:
            del value[name]
            _report(dropped, path, name)


def _drop_all(value: Any, path: Path, dropped: list[str]) -> None:
    """Drop all fields of a value without a schema, also in nested lists. Iterative, because the depth has no limit."""
    stack: list[tuple[Any, Path]] = [(value, path)]
    while stack:
        value, path = stack.pop()
        if type(value) is dict:
            for name in value:
                _report(dropped, path, name)
            value.clear()
        elif type(value) is list:
            stack.extend((each, (path, index)) for index, each in enumerate(value))


def _report(dropped: list[str], path: Path, name: str) -> None:
    if len(dropped) < MAXIMUM_REPORTED:
        dropped.append(dotted((*steps_of(path), name)))
