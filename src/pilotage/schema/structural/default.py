"""Fills in defaults, and takes out nulls that may not be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pilotage.schema.structural.node import Node


class DefaultsTooLargeError(Exception):
    """The defaults of a document need more room than there is."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"with the defaults of its schema the object has more than {limit} bytes")


class Room:
    """The bytes that defaults may still add to a document: a short one can ask for gigabytes of them."""

    __slots__ = ("_left", "_limit")

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise DefaultsTooLargeError(self._limit)


Default = Callable[[Any, Room], None]


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
            self._made[id(node)] = lambda value, room: later[0](value, room)
            made = self._made[id(node)] = self._compile(node)
            later.append(made)
        return made

    def _compile(self, node: Node) -> Default:
        as_object = self._map(node) if node.additional is not None else self._object(node)
        as_list = self._list(node)

        def default(value: Any, room: Room) -> None:
            kind = type(value)
            if kind is dict:
                as_object(value, room)
            elif kind is list and as_list is not None:
                as_list(value, room)

        return default

    def _object(self, node: Node) -> Default:
        given = {name: child.default for name, child in node.properties.items() if child.default is not None}
        fresh = [(name, _maker(value), _size(name, value)) for name, value in given.items()]
        plain = not any(isinstance(value, dict | list) for value in given.values())
        whole = sum(size for _, _, size in fresh)
        keeps_null = frozenset(name for name, child in node.properties.items() if child.nullable)
        compiled = {name: self.compile(child) for name, child in node.properties.items()}
        children = [(name, child) for name, child in compiled.items() if child is not None]
        known = node.properties.keys()

        def default(value: dict[str, Any], room: Room) -> None:
            if None in value.values():
                for name in [name for name, each in value.items() if each is None]:
                    if name in known and name not in keeps_null:
                        del value[name]
            if plain and not value:
                room.take(whole)
                value.update(given)
            else:
                for name, make, size in fresh:
                    if name not in value:
                        room.take(size)
                        value[name] = make()
            for name, child in children:
                each = value.get(name)
                if each is not None:
                    child(each, room)

        return default

    def _map(self, node: Node) -> Default:
        """An object with values under free keys. (Properties beside them only happen in schemas that are refused.)"""
        item = node.additional
        assert item is not None
        named = self._object(node) if node.properties else None
        names = node.properties.keys()
        inside, make, nullable = self.compile(item), _maker(item.default), item.nullable
        size = _size("", item.default)

        def default(value: dict[str, Any], room: Room) -> None:
            if not nullable and None in value.values():
                for name in [name for name, each in value.items() if each is None and name not in names]:
                    if item.default is None:
                        del value[name]
                    else:
                        room.take(size)
                        value[name] = make()
            if named is not None:
                named(value, room)
            if inside is not None:
                for name, each in value.items():
                    if name not in names:
                        inside(each, room)

        return default

    def _list(self, node: Node) -> Default | None:
        item = node.items
        if item is None:
            return None
        inside, make = self.compile(item), _maker(item.default)
        replaces, size = item.default is not None and not item.nullable, _size("", item.default)
        if inside is None and not replaces:
            return None

        def default(value: list[Any], room: Room) -> None:
            if replaces and None in value:
                room.take(size * value.count(None))
                value[:] = [make() if each is None else each for each in value]
            if inside is not None:
                for each in value:
                    inside(each, room)

        return default


def _size(name: str, default: Any) -> int:
    """The bytes of a field with its default, as they are stored."""
    return len(msgspec.json.encode(default)) + (len(name) + 4 if name else 0)


def _maker(default: Any) -> Callable[[], Any]:
    """A function that gives the default, each time a fresh one."""
    if isinstance(default, dict | list):
        encoded = msgspec.json.encode(default)
        return lambda: msgspec.json.decode(encoded)
    return lambda: default
