"""Which fields of `self` and `oldSelf` an expression looks at."""

from __future__ import annotations

from typing import Any, TypeAlias

from pilotage.schema.cel.ast import Call, Constant, Ident, Select, Tree, children

Needs: TypeAlias = "dict[str, Needs] | None"
"""The fields that are looked at, and those inside them; None for all of them."""


def needs(tree: Tree, variable: str) -> Needs:
    """What an expression looks at of a variable."""
    found: dict[str, Needs] = {}
    stack = [tree]
    while stack:
        node = stack.pop()
        path = _path(node, variable)
        if path is None:
            stack.extend(children(node))
        elif not path:
            return None
        else:
            _add(found, path)
    return found


def needed(value: Any, fields: Needs) -> Any:
    """The part of a value that is looked at."""
    if fields is None or not isinstance(value, dict):
        return value
    return {name: needed(value[name], inside) for name, inside in fields.items() if name in value}


def _path(node: Tree, variable: str) -> list[str] | None:
    """The fields from the variable to a node: none for the variable itself, None for what does not start with it."""
    steps: list[str] = []
    while True:
        match node:
            case Select(operand, name) | Call("_?._" | "_[_]" | "_[?_]", (operand, Constant(str(name))), _):
                steps.append(name)
                node = operand
            case Ident(name) if name == variable:
                return steps[::-1]
            case _:
                return None


def _add(found: dict[str, Needs], path: list[str]) -> None:
    for step in path[:-1]:
        inside = found.setdefault(step, {})
        if inside is None:
            return
        found = inside
    found[path[-1]] = None
