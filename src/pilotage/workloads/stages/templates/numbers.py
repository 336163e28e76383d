"""The functions of sprig about numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

from pilotage.workloads.stages.templates.functions import function
from pilotage.workloads.stages.templates.govalues import GoFloat, GoInt, text_of, whole
from pilotage.workloads.stages.templates.limits import RenderError

_MAX_COUNT = 10_000


def to_int(value: Any) -> GoInt:
    """Any value as an integer; 0 if it is not a number."""
    text = text_of(value)
    if text is not None:
        return _parsed(text)
    if isinstance(value, bool | GoInt):
        return GoInt(value)
    if isinstance(value, GoFloat):
        return whole(int(value)) if math.isfinite(value) else GoInt(-(2**63))
    return GoInt(0)


def _parsed(text: str) -> GoInt:
    """With the prefixes of Go's literals, without a fraction of zeros."""
    match = re.fullmatch(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|\d+)(?:\.0*)?", text)
    if match is None or len(text) > 80:
        return GoInt(0)
    digits = match.group(2).lower()
    if len(digits) > 1 and digits.isdigit() and digits[0] == "0":
        digits = f"0o{digits}"
    try:
        value = int(digits, 0)
    except ValueError:
        return GoInt(0)
    return GoInt(-value if match.group(1) == "-" else value) if value < 2**63 else GoInt(0)


def _to_float(value: Any) -> GoFloat:
    text = text_of(value)
    if text is None:
        return GoFloat(value) if isinstance(value, bool | int | float) else GoFloat(0)
    try:
        return GoFloat(text) if len(text) < 400 and not set(text) & set("_ \t\n") else GoFloat(0)
    except ValueError:
        return GoFloat(0)


def _folded(operate: Callable[[int, int], int]) -> Callable[..., GoInt]:
    return lambda *values: whole(reduce(operate, map(int, map(to_int, values))))


def _divided(one: Any, other: Any) -> GoInt:
    dividend, divisor = int(to_int(one)), _nonzero(other)
    quotient = abs(dividend) // abs(divisor)
    return whole(quotient if (dividend < 0) == (divisor < 0) else -quotient)


def _remainder(one: Any, other: Any) -> GoInt:
    dividend, divisor = int(to_int(one)), _nonzero(other)
    remainder = abs(dividend) % abs(divisor)
    return GoInt(-remainder if dividend < 0 else remainder)


def _nonzero(value: Any) -> int:
    number = int(to_int(value))
    if not number:
        raise RenderError("integer divide by zero")
    return number


def _until(count: GoInt) -> list[Any]:
    return _steps(GoInt(0), count, GoInt(-1 if count < 0 else 1))


def _steps(first: GoInt, last: GoInt, step: GoInt) -> list[Any]:
    if not step or (last < first) != (step < 0):
        return []
    found = range(first, last, step)
    if len(found) > _MAX_COUNT:
        raise RenderError(f"a list of more than {_MAX_COUNT} numbers")
    return [GoInt(each) for each in found]


NUMBERS = {
    "int": function("any", to_int),
    "int64": function("any", to_int),
    "float64": function("any", _to_float),
    "atoi": function("string", lambda text: GoInt(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else GoInt(0)),
    "add": function("...any", lambda *values: whole(sum(map(to_int, values)))),
    "add1": function("any", lambda value: whole(to_int(value) + 1)),
    "sub": function("any any", _folded(lambda one, other: one - other)),
    "mul": function("any ...any", _folded(lambda one, other: one * other)),
    "div": function("any any", _divided),
    "mod": function("any any", _remainder),
    "max": function("any ...any", _folded(max)),
    "min": function("any ...any", _folded(min)),
    "until": function("int", _until),
    "untilStep": function("int int int", _steps),
}
"""By name."""
