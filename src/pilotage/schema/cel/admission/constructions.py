"""The types of what mutations construct: which type names an expression may use, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.schema.cel.admission.unevaluated import CONSTRUCTORS
from pilotage.schema.cel.ast import CallExpression, Constant, Expr, MakeList, MakeMap, walk
from pilotage.schema.cel.costs.estimate import WrongTypes

TYPE = "__type"
"""The key of the type name in a constructed object, until it is checked."""
_OBJECT, _PATCH = CONSTRUCTORS["Object"], CONSTRUCTORS["JSONPatch"]
_PATCH_FIELDS = {"op": "string", "path": "string", "from": "string", "value": ""}


def constructed_type(node: Expr) -> str:
    """The name of the type that an expression constructs; empty if it constructs none."""
    match node:
        case CallExpression(function, (Constant(str(name)), _)) if function == _OBJECT:
            return name
        case CallExpression(function) if function == _PATCH:
            return "JSONPatch"
        case CallExpression("_?_:_", (_, one, _)):
            return constructed_type(one)
        case MakeList((first, *_)):
            inner = constructed_type(first)
            return f"list({inner})" if inner else ""
    return ""


def construction_problems(tree: Expr) -> list[WrongTypes]:
    """Alternatives and items of different types, and fields of patches that do not exist or have another type."""
    return sorted(_problems(tree), key=lambda problem: problem.offset)


def _problems(tree: Expr) -> Iterator[WrongTypes]:
    for node in walk(tree):
        match node:
            case CallExpression("_?_:_", (_, one, other)):
                types = constructed_type(one), constructed_type(other)
                if all(types) and types[0] != types[1]:
                    text = f"found no matching overload for '_?_:_' applied to '(bool, {types[0]}, {types[1]})'"
                    yield WrongTypes(text, node.offset)
            case MakeList((first, *others)):
                wanted = constructed_type(first)
                for item in others:
                    found = constructed_type(item)
                    if wanted and found and wanted != found:
                        yield WrongTypes(f"expected type '{wanted}' but found '{found}'", item.offset)
                        break
            case CallExpression(function, (MakeMap(entries),)) if function == _PATCH:
                for key, value in entries:
                    yield from _patch_field(key, value)


def _patch_field(key: Expr, value: Expr) -> Iterator[WrongTypes]:
    name = key.text or "" if isinstance(key, Constant) else ""
    wanted = _PATCH_FIELDS.get(name)
    found = value.kind if isinstance(value, Constant) else constructed_type(value)
    if wanted is None or (wanted and found and wanted != found):
        text = f"expected type of field '{name}' is '{wanted or ''}' but provided type is '{found or 'dyn'}'"
        yield WrongTypes(text, key.offset + len(name) + 2)  # the colon after the quoted name


def plain(value: Any) -> tuple[Any, list[str]]:
    """A constructed object without the names of its types, and the type names that are not valid at their place."""
    problems: list[str] = []
    path = [value[TYPE]] if isinstance(value, dict) and TYPE in value else []
    return _plain(value, path, problems), problems


def _plain(value: Any, path: list[str], problems: list[str]) -> Any:
    """Lists and maps are not a part of the path."""
    if isinstance(value, list):
        return [_plain(item, path, problems) for item in value]
    if not isinstance(value, dict):
        return value
    name = value.get(TYPE)
    if name is None:
        return {key: _plain(item, path, problems) for key, item in value.items()}
    wanted = ".".join(path)
    if path and name != wanted:
        problems.append(
            f'unexpected type name "{name}", expected "{wanted}", which matches field name path from root Object type'
        )
    return {key: _plain(item, [*path, key], problems) for key, item in value.items() if key != TYPE}
