"""The functions of Go's text/template. `and` and `or`, which do not evaluate all arguments, are in `operands`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pilotage.meta.causes import quoted
from pilotage.workloads.stages.templates.problems import RenderError
from pilotage.workloads.stages.templates.values import GoInt, go_type, is_true, printed, text_of

_DIRECTIVE = re.compile(r"%(-?0?)(\d{0,3})([sdvqt%])?")


def _comparable(value: Any) -> tuple[str, Any]:
    """The kind of a value in comparisons, with what is compared. The kind is empty for a list, a map and nil."""
    text = text_of(value)
    if text is not None:
        return "string", text
    return "" if value is None or isinstance(value, list | dict) else go_type(value), value


def _equal(one: Any, other: Any) -> bool:
    (kind, first), (other_kind, second) = _comparable(one), _comparable(other)
    if one is None or other is None:
        return one is other
    if kind != other_kind:
        raise RenderError(f"incompatible types for comparison: {go_type(one)} and {go_type(other)}")
    if not kind:
        raise RenderError(f"non-comparable type {go_type(other)}")
    return bool(first == second)


def _eq(first: Any, second: Any, *others: Any) -> bool:
    return any(_equal(first, other) for other in (second, *others))


def _less(one: Any, other: Any) -> bool:
    (kind, first), (other_kind, second) = _comparable(one), _comparable(other)
    if not kind or not other_kind or kind == "bool":
        raise RenderError("invalid type for comparison")
    if kind != other_kind:
        raise RenderError(f"incompatible types for comparison: {go_type(one)} and {go_type(other)}")
    return bool(first < second)


def _index(item: Any, *keys: Any) -> Any:
    for key in keys:
        item = _item(item, key)
    return item


def _item(item: Any, key: Any) -> Any:
    if isinstance(item, dict):
        if not isinstance(key, str):
            raise RenderError(f"value has type {go_type(key)}; should be string")
        return item.get(key)
    if not isinstance(item, list):
        raise RenderError(f"can't index item of type {go_type(item)}")
    if not isinstance(key, GoInt):
        raise RenderError(f"cannot index slice/array with type {go_type(key)}")
    if not 0 <= key < len(item):
        raise RenderError(f"index out of range: {int(key)}")
    return item[key]


def _length(item: Any) -> GoInt:
    text = text_of(item)
    if text is None and not isinstance(item, list | dict):
        raise RenderError(f"len of type {go_type(item)}")
    return GoInt(len(item if text is None else text.encode()))


def _print(*values: Any) -> str:
    """With a space between operands if neither is a string."""
    parts: list[str] = []
    for index, value in enumerate(values):
        if index and text_of(value) is None and text_of(values[index - 1]) is None:
            parts.append(" ")
        parts.append(printed(value))
    return "".join(parts)


def _formatted(template: str, *values: Any) -> str:
    """`printf`. A verb that is not supported, and an argument that is not of its type, is an error here."""
    waiting = list(values)

    def replaced(match: re.Match[str]) -> str:
        flags, width, verb = match.groups()
        if verb == "%":
            return "%"
        if verb is None or not waiting:
            raise RenderError(f"printf does not support {template!r} with {len(values)} arguments")
        text = _verb(verb, waiting.pop(0))
        if "-" in flags:
            return text.ljust(int(width or 0))
        return text.zfill(int(width or 0)) if flags and verb == "d" else text.rjust(int(width or 0))

    found = _DIRECTIVE.sub(replaced, template)
    if waiting:
        raise RenderError(f"printf has more arguments than {template!r} needs")
    return found


def _verb(verb: str, value: Any) -> str:
    text = text_of(value)
    kinds = {"d": isinstance(value, GoInt), "t": isinstance(value, bool), "s": text is not None, "q": text is not None}
    if not kinds.get(verb, True):
        raise RenderError(f"printf does not support %{verb} of {go_type(value)}")
    return quoted(text or "") if verb == "q" else printed(value)


BUILTINS: dict[str, Callable[..., Any]] = {
    "eq": _eq,
    "ne": lambda one, other: not _equal(one, other),
    "lt": _less,
    "le": lambda one, other: not _less(other, one),
    "gt": lambda one, other: _less(other, one),
    "ge": lambda one, other: not _less(one, other),
    "not": lambda value: not is_true(value),
    "len": _length,
    "index": _index,
    "print": _print,
    "println": lambda *values: " ".join(map(printed, values)) + "\n",
    "printf": _formatted,
}
"""By name."""
