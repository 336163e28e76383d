"""Values of a template, as Go has them.

| Python | Go |
|---|---|
| None | no value: a key that does not exist, and null in the document |
| int, float | json.Number: a number of the document, which is a kind of string |
| `GoInt`, `GoFloat` | int and float64: numbers of the template and of functions |
| str, bool, list, dict | string, bool, []interface {}, map[string]interface {} |

So a document is used as it is, without a copy.
"""

from __future__ import annotations

from typing import Any

from pilotage.meta.causes import json_shown


class GoInt(int):
    """An int of Go."""

    __slots__ = ()


class GoFloat(float):
    """A float64 of Go."""

    __slots__ = ()


def is_number(value: Any) -> bool:
    """Whether it is a number of the document."""
    return type(value) is int or type(value) is float


def go_type(value: Any) -> str:
    """The type of a value in Go's words."""
    return "json.Number" if is_number(value) else _TYPES.get(type(value), "nil")


_TYPES: dict[type, str] = {
    bool: "bool",
    GoInt: "int",
    GoFloat: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def is_true(value: Any) -> bool:
    """Whether `if` takes it for true. Every number of the document is: it is a text that is not empty."""
    return bool(value) or is_number(value)


def text_of(value: Any) -> str | None:
    """The text of a string or of a number of the document; None: the value is neither."""
    return printed(value) if isinstance(value, str) or is_number(value) else None


def plain(value: Any) -> Any:
    """A value without the types of Go, for JSON and YAML. Whole numbers have no fraction."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e21 else float(value)
    return int(value) if isinstance(value, GoInt) else value


def as_json(value: Any) -> str:
    """A value as Go's encoder writes it: keys sorted, and the signs of HTML escaped."""
    text = json_shown(plain(value), order="sorted")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")  # in YAML they end a line


def printed(value: Any) -> str:
    """A value as `%v` prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{printed(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(printed, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "<nil>", True: "true", False: "false"}[value]
    return value if isinstance(value, str) else str(plain(value))
