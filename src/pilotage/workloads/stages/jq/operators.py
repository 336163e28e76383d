"""Arithmetic and comparison of jq."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from pilotage.workloads.stages.jq.limits import DataError, bounded, check_length


class Whole(int):
    """An integer of the expression: a literal, a length. Plain integers are numbers of a document, floats for gojq."""

    __slots__ = ()


def kind(value: Any) -> str:
    """The type of a value, as jq names it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def is_true(value: Any) -> bool:
    """Everything but null and false."""
    return value is not None and value is not False


def compared(one: Any, other: Any) -> int:
    """-1, 0 or 1, in the order of jq: null, false, true, numbers, strings, arrays, objects."""
    rank, other_rank = _rank(one), _rank(other)
    if rank != other_rank:
        return -1 if rank < other_rank else 1
    if rank == _ARRAY:
        return _arrays(one, other)
    if rank == _OBJECT:
        keys, other_keys = sorted(one), sorted(other)
        return _arrays(keys, other_keys) or _arrays([one[key] for key in keys], [other[key] for key in keys])
    if rank < _NUMBER or one == other:
        return 0
    return -1 if one < other or one != one else 1


_NUMBER, _STRING, _ARRAY, _OBJECT = 3, 4, 5, 6


def _rank(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool):
        return 2 if value else 1
    if isinstance(value, int | float):
        return _NUMBER
    return _STRING if isinstance(value, str) else _ARRAY if isinstance(value, list) else _OBJECT


def _arrays(one: list[Any], other: list[Any]) -> int:
    for item, other_item in zip(one, other, strict=False):
        if result := compared(item, other_item):
            return result
    return (len(one) > len(other)) - (len(one) < len(other))


sort_key = cmp_to_key(compared)
"""The key for `sorted`."""


def added(left: Any, right: Any) -> Any:
    """`left + right`."""
    if left is None or right is None:
        return right if left is None else left
    kinds = kind(left), kind(right)
    if kinds == ("number", "number"):
        return _number(from_document(left) + from_document(right))
    if kinds == ("string", "string"):
        return bounded(left + right)
    if kinds == ("array", "array"):
        return left + right
    if kinds == ("object", "object"):
        return left | right
    raise _cannot("add", left, right)


def _subtracted(left: Any, right: Any) -> Any:
    kinds = kind(left), kind(right)
    if kinds == ("number", "number"):
        return _number(from_document(left) - from_document(right))
    if kinds == ("array", "array"):
        return [item for item in left if all(compared(item, each) for each in right)]
    raise _cannot("subtract", left, right)


def _multiplied(left: Any, right: Any) -> Any:
    kinds = kind(left), kind(right)
    if kinds == ("number", "number"):
        return _number(from_document(left) * from_document(right))
    if kinds in (("string", "number"), ("number", "string")):
        text, count = (left, right) if kinds[0] == "string" else (right, left)
        return _repeated(text, count)
    if kinds == ("object", "object"):
        return _merged(left, right)
    raise _cannot("multiply", left, right)


def _repeated(text: str, count: float) -> str | None:
    if count < 0 or math.isnan(count):
        return None
    if not text:
        return text
    whole = int(min(count, 2**53))
    check_length(len(text) * whole)
    return text * whole


def _merged(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    found = dict(left)
    for key, value in right.items():
        old = found.get(key)
        found[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found


def _divided(left: Any, right: Any) -> Any:
    kinds = kind(left), kind(right)
    if kinds == ("string", "string"):
        return split(left, right)
    if kinds != ("number", "number"):
        raise _cannot("divide", left, right)
    if right == 0:
        raise DataError("division by zero")
    if isinstance(left, Whole) and isinstance(right, Whole) and left % right == 0:
        return _number(int(left) // int(right))
    return float(left) / float(right)


def split(text: str, separator: str) -> list[str]:
    """The parts of a text; its characters, if the separator is empty."""
    if not text:
        return []
    return text.split(separator) if separator else list(text)


def _remainder(left: Any, right: Any) -> Any:
    if (kind(left), kind(right)) != ("number", "number"):
        raise _cannot("divide", left, right)
    if any(math.isnan(each) for each in (left, right)):
        return math.nan
    dividend, divisor = _whole(left), _whole(right)
    if divisor == 0:
        raise DataError("division by zero")
    remainder = abs(dividend) % abs(divisor)
    return Whole(-remainder if dividend < 0 else remainder)


def _whole(number: float) -> int:
    return int(max(min(number, 2**53), -(2**53)))


def _number(value: float) -> float:
    """The result of an operation. Integers far beyond 64 bits become floats, so that they do not grow."""
    if isinstance(value, int):
        return float(value) if abs(value) > 2**100 else Whole(value)
    return value


def from_document(value: Any) -> Any:
    """A value of a document as gojq has it: numbers are floats."""
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def _cannot(verb: str, left: Any, right: Any) -> DataError:
    return DataError(f"cannot {verb}: {kind(left)} and {kind(right)}")


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": added,
    "-": _subtracted,
    "*": _multiplied,
    "/": _divided,
    "%": _remainder,
    "==": lambda left, right: compared(left, right) == 0,
    "!=": lambda left, right: compared(left, right) != 0,
    "<": lambda left, right: compared(left, right) < 0,
    "<=": lambda left, right: compared(left, right) <= 0,
    ">": lambda left, right: compared(left, right) > 0,
    ">=": lambda left, right: compared(left, right) >= 0,
}
"""The operators by their sign."""
