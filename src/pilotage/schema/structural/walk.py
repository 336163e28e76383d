"""Runs checks at all places of a document whose schema needs them: list types, embedded resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import MapKey, Path

Found = TypeVar("Found")
Walk = Callable[[Any, Path, list[Found]], None]
"""Looks at a value and what is in it; adds what it finds."""


def compile_walk(node: Node, check_of: Callable[[Node], Walk[Found] | None]) -> Walk[Found] | None:
    """A walk over the values of `node` and below that runs `check_of` each node; None if there is nothing to check.

    It is for the schemas of CRDs, which do not recurse.
    """
    check = check_of(node)
    compiled = {name: compile_walk(child, check_of) for name, child in node.properties.items()}
    children = [(name, child) for name, child in compiled.items() if child is not None]
    additional = compile_walk(node.additional, check_of) if node.additional is not None else None
    items = compile_walk(node.items, check_of) if node.items is not None else None
    if not children and additional is None and items is None:
        return check

    def walk(value: Any, path: Path, out: list[Found]) -> None:
        if check is not None:
            check(value, path, out)
        kind = type(value)
        if kind is dict:
            for name, child in children:
                if name in value:
                    child(value[name], (path, name), out)
            if additional is not None:
                for name, each in value.items():
                    additional(each, (path, MapKey(name)), out)
        elif kind is list and items is not None:
            for index, each in enumerate(value):
                items(each, (path, index), out)

    return walk
