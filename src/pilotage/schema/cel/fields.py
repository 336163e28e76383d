"""Which fields of `self` and `oldSelf` an expression uses."""

from __future__ import annotations

from typing import Any, TypeAlias

from pilotage.schema.cel.ast import CallExpression, Constant, Expr, Ident, Select, children

UsedFields: TypeAlias = "dict[str, UsedFields] | None"
"""Fields by name, with those inside them; None means all fields."""


def used_fields(tree: Expr, variable: str) -> UsedFields:
    """The fields of a variable that an expression uses."""
    found: dict[str, UsedFields] = {}
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


def only_fields(value: Any, fields: UsedFields) -> Any:
    """A value with only the given fields."""
    if fields is None or not isinstance(value, dict):
        return value
    return {name: only_fields(value[name], inside) for name, inside in fields.items() if name in value}


def _path(node: Expr, variable: str) -> list[str] | None:
    """The field names from the variable to a node: empty for the variable itself, None if it is not part of it."""
    steps: list[str] = []
    while True:
        match node:
            case Select(operand, name) | CallExpression("_?._" | "_[_]" | "_[?_]", (operand, Constant(str(name))), _):
                steps.append(name)
                node = operand
            case Ident(name) if name == variable:
                return steps[::-1]
            case _:
                return None


def _add(found: dict[str, UsedFields], path: list[str]) -> None:
    for step in path[:-1]:
        inside = found.setdefault(step, {})
        if inside is None:
            return
        found = inside
    found[path[-1]] = None
