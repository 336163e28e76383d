"""Arithmetic and comparison of jq.

Integers of a document are plain, and floats for gojq; integers of the expression and lengths are `Whole`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


class DataError(Exception):
    """A value that an operation cannot work with. For kwok such an expression has no outputs."""


class QueryFailed(Exception):
    """An evaluation that needs an operation that is not supported here."""


class Whole(int):
    """An integer of the expression."""

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


def checked(value: Any, *kinds: str) -> Any:
    """The value, if it is of one of these kinds. Raises DataError."""
    if kind(value) not in kinds:
        raise DataError(f"expected {' or '.join(kinds)} but got: {kind(value)}")
    return value


def equal(one: Any, other: Any) -> bool:
    """`one == other`."""
    if kind(one) != kind(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(item, other[key]) for key, item in one.items())
    return bool(one == other)


_ORDER = ("null", "boolean", "number", "string", "array", "object")


def less(one: Any, other: Any) -> bool:
    """`one < other`: kinds have an order, too. Raises QueryFailed for two arrays or two objects."""
    kinds = kind(one), kind(other)
    if kinds[0] != kinds[1]:
        return _ORDER.index(kinds[0]) < _ORDER.index(kinds[1])
    if kinds[0] in ("array", "object"):
        raise QueryFailed(f"the order of two values of the type {kinds[0]} is not supported here")
    return one is not None and bool(one < other)


def added(left: Any, right: Any) -> Any:
    """`left + right`."""
    if left is None or right is None:
        return right if left is None else left
    kinds = kind(left), kind(right)
    if kinds == ("object", "object"):
        return left | right
    if kinds[0] != kinds[1] or kinds[0] == "boolean":
        raise DataError(f"cannot add: {kinds[0]} and {kinds[1]}")
    return left + right if kinds[0] != "number" else _numbers(operator.add, left, right)


def _subtracted(left: Any, right: Any) -> Any:
    if isinstance(left, list) and isinstance(right, list):
        raise QueryFailed("the difference of two arrays is not supported here")
    return _numbers(operator.sub, checked(left, "number"), checked(right, "number"))


def _numbers(operate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    both_whole = isinstance(left, Whole) and isinstance(right, Whole)
    return Whole(operate(int(left), int(right))) if both_whole else operate(float(left), float(right))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": added,
    "-": _subtracted,
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": less,
    "<=": lambda left, right: not less(right, left),
    ">": lambda left, right: less(right, left),
    ">=": lambda left, right: not less(left, right),
}
"""The operators by their sign."""
