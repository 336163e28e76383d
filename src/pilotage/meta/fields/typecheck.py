"""Whether an applied document fits its type: what is wrong, in the words of Kubernetes' typed values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.meta.fields import elements, items
from pilotage.meta.fields.schema import FieldType, ListRule
from pilotage.meta.text.gotext import go_syntax, go_text

_MAX_PROBLEMS = 64
_DUPLICATE = "duplicate entries for key"
_NUMERIC = "expected numeric (int or float), got {}"
_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64"}


def problem(field_type: FieldType, document: Any, *, duplicates: bool = False) -> str:
    """Why a document is not of a type; empty if it is. Stored ones may have `duplicates` in sets and maps."""
    found = []
    for path, message in _problems(field_type, document, ()):
        if duplicates and message.startswith(_DUPLICATE):
            continue
        found.append(f"{elements.shown(path)}: {message}" if path else message)
        if len(found) == _MAX_PROBLEMS:
            break
    if len(found) <= 1:
        return "".join(found)
    return "\n".join(["errors:", *(f"  {line}" for line in found)])


def _problems(field_type: FieldType, value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if value is None:
        return
    rule = field_type.list_rule
    if isinstance(value, dict) and field_type.is_map:
        yield from _of_map(field_type, value, path)
    elif isinstance(value, list) and rule is not None:
        yield from _of_list(field_type, rule, value, path)
    elif field_type.is_map and not field_type.scalar:
        yield path, f"expected map, got {_shown(value)}"
    elif field_type.scalar:
        if message := _scalar_problem(field_type, value):
            yield path, message
    else:
        yield path, f"expected list, got {_shown(value)}"


def _of_map(
    field_type: FieldType, value: dict[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, item in value.items():
        child = field_type.fields.get(name) or field_type.element
        if child is None:
            yield (*path, f"f:{name}"), "field not declared in schema"
            return  # Kubernetes stops here, too
        yield from _problems(child, item, (*path, f"f:{name}"))


def _of_list(
    field_type: FieldType, rule: ListRule, value: list[Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    seen: set[str] = set()
    for index, item in enumerate(value):
        element = f"i:{index}"
        if not rule.atomic:
            try:
                element = items.element_of(field_type, rule, item)
            except items.NoIdentityError as error:
                yield path, f"element {index}: {error}"
                return
            if element in seen:
                yield path, f"{_DUPLICATE} {elements.shown((element,))}"
            seen.add(element)
        yield from _problems(field_type.items, item, (*path, element))


def _scalar_problem(field_type: FieldType, value: Any) -> str:
    match field_type.scalar:
        case "numeric" if isinstance(value, bool) or not isinstance(value, int | float):
            return _NUMERIC.format(_go_type(value))
        case "string" if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got {_shown(value)}"
        case "untyped" if isinstance(value, dict | list):
            return f"expected any scalar, got {_shown(value)}"
    return ""


def _go_type(value: Any) -> str:
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else _GO_TYPES[type(value)]


def _shown(value: Any) -> str:
    """A value as Go prints it inside its wrapper."""
    return f"&{{{go_text(value)}}}"
