"""The functions of Go's text/template. `and` and `or`, which do not evaluate all arguments, are in `evaluation`."""

from __future__ import annotations

import html
from typing import Any
from urllib.parse import quote_plus

from pilotage.workloads.stages.templates.functions import function
from pilotage.workloads.stages.templates.govalues import (
    MISSING,
    GoFloat,
    GoInt,
    go_type,
    is_number,
    is_true,
    printed,
    text_of,
)
from pilotage.workloads.stages.templates.limits import RenderError
from pilotage.workloads.stages.templates.printf import formatted


def _kind(value: Any) -> str:
    """The kind of a value for comparisons; empty for a list, a map and nil."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, GoInt):
        return "int"
    if isinstance(value, GoFloat):
        return "float"
    return "string" if isinstance(value, str) or is_number(value) else ""


def _is_nil(value: Any) -> bool:
    return value is None or value is MISSING


def _equal(one: Any, other: Any) -> bool:
    kinds = _kind(one), _kind(other)
    if kinds[0] != kinds[1]:
        if _is_nil(one) or _is_nil(other):
            return False
        raise RenderError(f"incompatible types for comparison: {go_type(one)} and {go_type(other)}")
    if kinds[0]:
        return bool(_comparable(one) == _comparable(other))
    if _is_nil(one) or _is_nil(other):
        return _is_nil(one) and _is_nil(other)
    raise RenderError(f"non-comparable type {go_type(other)}")


def _comparable(value: Any) -> Any:
    text = text_of(value)
    return value if text is None else text.encode()


def _eq(first: Any, *others: Any) -> bool:
    if not others:
        raise RenderError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _less(one: Any, other: Any) -> bool:
    kinds = _kind(one), _kind(other)
    if not all(kinds) or kinds == ("bool", "bool"):
        raise RenderError("invalid type for comparison")
    if kinds[0] != kinds[1]:
        raise RenderError(f"incompatible types for comparison: {go_type(one)} and {go_type(other)}")
    return bool(_comparable(one) < _comparable(other))


def _index(item: Any, *keys: Any) -> Any:
    if _is_nil(item):
        raise RenderError("index of untyped nil")
    for key in keys:
        if _is_nil(item):
            raise RenderError("index of nil pointer")
        item = _item(item, key)
    return item


def _item(item: Any, key: Any) -> Any:
    if isinstance(item, dict):
        if _is_nil(key):
            raise RenderError("value is nil; should be of type string")
        if not isinstance(key, str):
            raise RenderError(f"value has type {go_type(key)}; should be string")
        return item.get(key)
    text = text_of(item)
    if text is None and not isinstance(item, list):
        raise RenderError(f"can't index item of type {go_type(item)}")
    if text is None:
        return item[_position(key, len(item) - 1)]
    data = text.encode()
    return GoInt(data[_position(key, len(data) - 1)])


def _position(key: Any, most: int) -> int:
    if _is_nil(key):
        raise RenderError("cannot index slice/array with nil")
    if not isinstance(key, GoInt):
        raise RenderError(f"cannot index slice/array with type {go_type(key)}")
    if not 0 <= key <= most:
        raise RenderError(f"index out of range: {int(key)}")
    return key


def _length(item: Any) -> GoInt:
    text = text_of(item)
    if text is None and not isinstance(item, list | dict):
        raise RenderError("len of nil pointer" if _is_nil(item) else f"len of type {go_type(item)}")
    return GoInt(len(item if text is None else text.encode()))


def _print(*values: Any) -> str:
    """With a space between operands if neither is a string."""
    parts: list[str] = []
    for index, value in enumerate(values):
        if index and text_of(value) is None and text_of(values[index - 1]) is None:
            parts.append(" ")
        parts.append(printed(value))
    return "".join(parts)


def _println(*values: Any) -> str:
    return " ".join(map(printed, values)) + "\n"


def _escaped(*values: Any) -> str:
    text = html.escape(_print(*values)).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    return text.replace("\x00", "\ufffd")


BUILTINS = {
    "eq": function("raw ...raw", _eq),
    "ne": function("raw raw", lambda one, other: not _equal(one, other)),
    "lt": function("raw raw", _less),
    "le": function("raw raw", lambda one, other: _less(one, other) or _equal(one, other)),
    "gt": function("raw raw", lambda one, other: not (_less(one, other) or _equal(one, other))),
    "ge": function("raw raw", lambda one, other: not _less(one, other)),
    "not": function("raw", lambda value: not is_true(value)),
    "len": function("raw", _length),
    "index": function("raw ...raw", _index),
    "print": function("...any", _print),
    "println": function("...any", _println),
    "printf": function("string ...any", lambda template, *values: formatted(template, values)),
    "html": function("...any", _escaped),
    "urlquery": function("...any", lambda *values: quote_plus(_print(*values), safe="-_.~")),
}
"""By name."""
