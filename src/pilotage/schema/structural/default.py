"""Fills in defaults, and takes out nulls that may not be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pilotage.schema.structural.node import Node

Default = Callable[[Any], None]


class Defaulter:
    """Compiles nodes to functions; a node below which nothing can change gives None."""

    def __init__(self) -> None:
        self._made: dict[int, Default] = {}
        self._nodes: list[Node] = []

    def compile(self, node: Node) -> Default | None:
        if node.type in ("string", "integer", "number", "boolean"):
            return None
        if not (node.schema.get("properties") or node.additional or node.items):
            return None
        made = self._made.get(id(node))
        if made is None:
            self._nodes.append(node)
            later: list[Default] = []
            self._made[id(node)] = lambda value: later[0](value)
            made = self._made[id(node)] = self._compile(node)
            later.append(made)
        return made

    def _compile(self, node: Node) -> Default:
        as_object = self._map(node) if node.additional is not None else self._object(node)
        as_list = self._list(node)

        def default(value: Any) -> None:
            kind = type(value)
            if kind is dict:
                as_object(value)
            elif kind is list and as_list is not None:
                as_list(value)

        return default

    def _object(self, node: Node) -> Default:
        fresh = [(name, _maker(child.default)) for name, child in node.properties.items() if child.default is not None]
        keeps_null = frozenset(name for name, child in node.properties.items() if child.nullable)
        compiled = {name: self.compile(child) for name, child in node.properties.items()}
        children = [(name, child) for name, child in compiled.items() if child is not None]
        known = node.properties.keys()

        def default(value: dict[str, Any]) -> None:
            if None in value.values():
                for name in [name for name, each in value.items() if each is None]:
                    if name in known and name not in keeps_null:
                        del value[name]
            for name, make in fresh:
                if name not in value:
                    value[name] = make()
            for name, child in children:
                each = value.get(name)
                if each is not None:
                    child(each)

        return default

    def _map(self, node: Node) -> Default:
        """An object with values under free keys. (Properties beside them only happen in schemas that are refused.)"""
        item = node.additional
        assert item is not None
        named = self._object(node) if node.properties else None
        names = node.properties.keys()
        inside, make, nullable = self.compile(item), _maker(item.default), item.nullable

        def default(value: dict[str, Any]) -> None:
            if not nullable and None in value.values():
                for name in [name for name, each in value.items() if each is None and name not in names]:
                    if item.default is None:
                        del value[name]
                    else:
                        value[name] = make()
            if named is not None:
                named(value)
            if inside is not None:
                for name, each in value.items():
                    if name not in names:
                        inside(each)

        return default

    def _list(self, node: Node) -> Default | None:
        item = node.items
        if item is None:
            return None
        inside, make = self.compile(item), _maker(item.default)
        replaces = item.default is not None and not item.nullable
        if inside is None and not replaces:
            return None

        def default(value: list[Any]) -> None:
            if replaces and None in value:
                value[:] = [make() if each is None else each for each in value]
            if inside is not None:
                for each in value:
                    inside(each)

        return default


def _maker(default: Any) -> Callable[[], Any]:
    """A function that gives the default, each time a fresh one."""
    if isinstance(default, dict | list):
        encoded = msgspec.json.encode(default)
        return lambda: msgspec.json.decode(encoded)
    return lambda: default
