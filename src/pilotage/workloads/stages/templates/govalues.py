"""Values of a template, as Go has them.

| Python | Go |
|---|---|
| `MISSING` | no value: a key that does not exist |
| None | a nil interface: null in the document |
| int, float | json.Number: a number of the document, which is a kind of string |
| `GoInt`, `GoFloat` | int and float64: numbers of the template and of functions |
| str, bool, list, dict | string, bool, []interface {}, map[string]interface {} |

So a document is used as it is, without a copy.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pilotage.workloads.stages.templates.limits import MAX_OUTPUT, RenderError


class GoInt(int):
    """An int of Go."""

    __slots__ = ()


class GoFloat(float):
    """A float64 of Go."""

    __slots__ = ()


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()
_INT64 = 2**64


def whole(value: int) -> GoInt:
    """An integer in the range of int64: beyond it, Go wraps around."""
    wrapped = value % _INT64
    return GoInt(wrapped - _INT64 if wrapped >= _INT64 // 2 else wrapped)


def is_number(value: Any) -> bool:
    """Whether it is a number of the document."""
    return type(value) is int or type(value) is float


def number_text(value: float) -> str:
    """A number as Go writes it to JSON."""
    if isinstance(value, int):
        return int.__repr__(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return re.sub(r"e([+-])0(\d)$", r"e\1\2", _shortest(value, 1e-6, 1e21))


def go_type(value: Any) -> str:
    """The type of a value in Go's words."""
    if value is None or value is MISSING:
        return "nil"
    if is_number(value):
        return "json.Number"
    return next(name for kind, name in _TYPES if isinstance(value, kind))


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (GoInt, "int"),
    (GoFloat, "float64"),
    (str, "string"),
    (list, "[]interface {}"),
    (dict, "map[string]interface {}"),
)


def is_true(value: Any) -> bool:
    """Whether `if` takes it for true. Every number of the document is: it is a text that is not empty."""
    return bool(value) or is_number(value)


def text_of(value: Any) -> str | None:
    """The text of a string or of a number of the document; None: the value is neither."""
    if isinstance(value, str):
        return value
    return number_text(value) if is_number(value) else None


def printed(value: Any) -> str:
    """A value as an action prints it, and `%v`. Raises RenderError if it is too long."""
    if isinstance(value, str):
        return value
    if value is MISSING:
        return "<no value>"
    parts: list[str] = []
    _print(value, parts, [MAX_OUTPUT])
    return "".join(parts)


def _print(value: Any, parts: list[str], left: list[int]) -> None:
    if isinstance(value, dict):
        parts.append("map[")
        for index, key in enumerate(sorted(value)):
            parts.append(f"{' ' if index else ''}{key}:")
            _print(value[key], parts, left)
        parts.append("]")
    elif isinstance(value, list):
        parts.append("[")
        for index, item in enumerate(value):
            parts.append(" " if index else "")
            _print(item, parts, left)
        parts.append("]")
    else:
        parts.append(_scalar(value))
    left[0] -= len(parts[-1])
    if left[0] < 0:
        raise RenderError(f"a text of more than {MAX_OUTPUT} characters")


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None or value is MISSING:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_text(value) if isinstance(value, GoFloat) else number_text(value)


def float_text(value: float) -> str:
    """A float64 as `%v` prints it."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(float(value)), "NaN")
    return _shortest(value, 1e-4, 1e6)


def _shortest(value: float, least: float, most: float) -> str:
    """The shortest digits of a float: with an exponent where the number is below or beyond these."""
    sign = "-" if str(float(value)).startswith("-") else ""
    digits, exponent = _decimal(abs(value))
    if value == 0:
        return f"{sign}0"
    if least <= abs(value) < most:
        if exponent <= 0:
            return f"{sign}0.{'0' * -exponent}{digits}"
        if len(digits) <= exponent:
            return sign + digits.ljust(exponent, "0")
        return f"{sign}{digits[:exponent]}.{digits[exponent:]}"
    power = exponent - 1
    return f"{sign}{digits[0]}{'.' + digits[1:] if len(digits) > 1 else ''}e{'-' if power < 0 else '+'}{abs(power):02}"


def _decimal(value: float) -> tuple[str, int]:
    """The digits, and where the point is in them."""
    mantissa, _, power = f"{float(value)!r}".partition("e")
    before, _, after = mantissa.partition(".")
    digits = (before + after).lstrip("0")
    shift = len(before) - (len(before + after) - len(digits))
    return digits.rstrip("0") or "0", shift + int(power or 0)
