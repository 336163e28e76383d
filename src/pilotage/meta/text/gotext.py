"""Values as Go prints them, for messages that kube-apiserver makes of them."""

from __future__ import annotations

from typing import Any

_MAX_SHOWN = 1000


def go_text(value: Any) -> str:
    """A value as `%v` prints it: `map[a:1 b:[x y]]`; cut where it is long."""
    return _text(value)[:_MAX_SHOWN]


def go_syntax(value: Any) -> str:
    """A value as `%#v` prints it: `map[string]interface {}{"a":1}`; cut where it is long."""
    return _syntax(value)[:_MAX_SHOWN]


def go_type(value: Any) -> str:
    """The type of a JSON value, as `%T` prints it."""
    if value is None:
        return "<nil>"
    return _TYPES[type(value)]


_TYPES = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    dict: "map[string]interface {}",
    list: "[]interface {}",
}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{_text(item)}" for name, item in sorted(value.items())) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(_text, value)) + "]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _syntax(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f'"{name}":{_syntax(item)}' for name, item in sorted(value.items()))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_syntax, value))}}}"
    if isinstance(value, str):
        return f'"{value}"'
    return "interface {}(nil)" if value is None else str(value).lower()
