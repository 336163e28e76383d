"""Sets defaults, and removes nulls of fields that are not nullable (which then get their default)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pilotage.meta.documents import copied, make_whole
from pilotage.schema.structural.node import OBJECT_META, Node
from pilotage.schema.structural.prune import Pruner


class DefaultsTooLargeError(Exception):
    """The defaults of a document have too many bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the defaults of its schema add more than {limit} bytes to the object")


class DefaultBudget:
    """The bytes that defaults may still add to one document.

    A list of many empty objects is short, and the defaults of its items can have gigabytes.
    """

    __slots__ = ("_left", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise DefaultsTooLargeError(self._limit)


Default = Callable[[Any, DefaultBudget], None]


def compile_default(node: Node, *, metadata: bool = False) -> Default | None:
    """The function that defaults the values of a node; None if it cannot change them.

    With `metadata`, the node is the metadata of an embedded resource.
    """
    if node.type in ("string", "integer", "number", "boolean"):
        return None
    if not (node.schema.get("properties") or node.additional or node.items):
        return None
    as_object = _map(node) if node.additional is not None else _object(node, metadata=metadata)
    as_list = _list(node)

    def default(value: Any, budget: DefaultBudget) -> None:
        kind = type(value)
        if kind is dict:
            as_object(value, budget)
        elif kind is list and as_list is not None:
            as_list(value, budget)

    return default


def _object(node: Node, *, metadata: bool = False) -> Default:
    given = _defaults(node, metadata=metadata)
    fresh = [(name, _maker(value), _size(name, value)) for name, value in given.items()]
    plain = not any(isinstance(value, dict | list) for value in given.values())
    whole = sum(size for _, _, size in fresh)
    keeps_null = frozenset(name for name, child in node.properties.items() if child.nullable)
    compiled = {
        name: compile_default(child, metadata=_is_metadata(node, name)) for name, child in node.properties.items()
    }
    children = [(name, child) for name, child in compiled.items() if child is not None]
    known = node.properties.keys()

    def default(value: dict[str, Any], budget: DefaultBudget) -> None:
        if None in value.values():
            for name in [name for name, each in value.items() if each is None]:
                if name in known and name not in keeps_null:
                    del value[name]
        if plain and not value:
            budget.spend(whole)
            value.update(given)
        else:
            for name, make, size in fresh:
                if name not in value:
                    budget.spend(size)
                    value[name] = make()
        for name, child in children:
            each = value.get(name)
            if each is not None:
                child(each, budget)

    return default


def _map(node: Node) -> Default:
    """An object with `additionalProperties`. (The schemas of CRDs may not have `properties` beside them.)"""
    item = node.additional
    assert item is not None
    named = _object(node) if node.properties else None
    names = node.properties.keys()
    given, nullable = _default(item), item.nullable
    inside, make, size = compile_default(item), _maker(given), _size("", given)

    def default(value: dict[str, Any], budget: DefaultBudget) -> None:
        if not nullable and None in value.values():
            for name in [name for name, each in value.items() if each is None and name not in names]:
                if given is None:
                    del value[name]
                else:
                    budget.spend(size)
                    value[name] = make()
        if named is not None:
            named(value, budget)
        if inside is not None:
            for name, each in value.items():
                if name not in names:
                    inside(each, budget)

    return default


def _list(node: Node) -> Default | None:
    item = node.items
    if item is None:
        return None
    given = _default(item)
    inside, make = compile_default(item), _maker(given)
    replaces, size = given is not None and not item.nullable, _size("", given)
    if inside is None and not replaces:
        return None

    def default(value: list[Any], budget: DefaultBudget) -> None:
        if replaces and None in value:
            budget.spend(size * value.count(None))
            value[:] = [make() if each is None else each for each in value]
        if inside is not None:
            for each in value:
                inside(each, budget)

    return default


def _size(name: str, default: Any) -> int:
    """The bytes that a field with its default takes in the stored object."""
    return len(msgspec.json.encode(default)) + (len(name) + 4 if name else 0)


def _is_metadata(node: Node, name: str) -> bool:
    return name == "metadata" and node.embedded and not node.root


def _defaults(node: Node, *, metadata: bool) -> dict[str, Any]:
    """The defaults of an object's fields, without unknown fields in the metadata of embedded resources."""
    given = {name: _default(child) for name, child in node.properties.items() if child.default is not None}
    if metadata:
        return {name: default for name, default in given.items() if name in OBJECT_META}
    return {name: _known(node, name, default) for name, default in given.items()}


def _default(node: Node) -> Any:
    """The default of a node as it is stored: numbers without a fraction are integers."""
    if not isinstance(node.default, float | dict | list):
        return node.default
    holder = [copied(node.default)]
    make_whole(holder)
    return holder[0]


def _known(node: Node, name: str, default: Any) -> Any:
    if not isinstance(default, dict | list):
        return default
    if _is_metadata(node, name) and isinstance(default, dict):
        return {key: value for key, value in default.items() if key in OBJECT_META}
    pruned = msgspec.json.decode(msgspec.json.encode(default))
    if prune := Pruner().compile(node.properties[name]):
        prune(pruned, None, [])
    return pruned


def _maker(default: Any) -> Callable[[], Any]:
    """A function that returns the default: a new copy each time, because documents are changed in place."""
    if isinstance(default, dict | list):
        encoded = msgspec.json.encode(default)
        return lambda: msgspec.json.decode(encoded)
    return lambda: default
