"""The functions of jq that expressions can call, by name and number of arguments.

A function gets its input and its arguments, which are filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from itertools import islice
from typing import Any

import msgspec

from pilotage.workloads.stages.jq.filters import Filter, Path, items_of
from pilotage.workloads.stages.jq.values import DataError, Whole, added, checked, equal, is_true, kind

Function = Callable[..., Iterator[Any]]


def _of_value(function: Callable[[Any], Any]) -> Function:
    """A function of the input alone."""
    return lambda value: iter((function(value),))


def _of_argument(function: Callable[[Any, Any], Any]) -> Function:
    """A function of the input and each output of one argument."""
    return lambda value, argument: (function(value, each) for each in argument(value))


def _quantified(decide: Callable[[Iterator[bool]], bool]) -> Function:
    """`any` and `all`: of items or of the outputs of a generator, with a condition."""

    def run(value: Any, *arguments: Filter) -> Iterator[Any]:
        items = arguments[0](value) if len(arguments) == 2 else items_of(value)
        condition = arguments[-1] if arguments else Path()
        yield decide(is_true(each) for item in items for each in condition(item))

    return run


def _length(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Whole(abs(value)) if isinstance(value, Whole) else abs(float(value))
    return Whole(len(checked(value, "null", "string", "array", "object") or ""))


def _has(value: Any, key: Any) -> bool:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    return bool(0 <= checked(key, "number") < len(checked(value, "array")))


def _contains(value: Any, other: Any) -> bool:
    if kind(value) != kind(other):
        raise DataError(f"cannot check whether {kind(value)} contains {kind(other)}")
    if isinstance(value, dict):
        return all(key in value and _contains(value[key], each) for key, each in other.items())
    if isinstance(value, list):
        return all(any(kind(item) == kind(each) and _contains(item, each) for item in value) for each in other)
    return other in value if isinstance(value, str) else equal(value, other)


def _text(value: Any) -> str:
    """`tostring`: JSON, and strings as they are."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()


def _number(value: Any) -> Any:
    text = value if kind(value) == "number" else checked(value, "string")
    if not isinstance(text, str):
        return text
    if len(text) > 100 or not set(text) <= set("0123456789+-.eE"):
        raise DataError("the string is not a number")
    return Whole(text) if text.isdigit() else float(text)


def _tested(value: Any, pattern: Any) -> bool:
    import re2  # heavy, and few expressions have patterns

    options = re2.Options()
    options.log_errors = False
    try:
        return bool(re2.compile(checked(pattern, "string"), options).search(checked(value, "string")))
    except re2.error:
        raise DataError("the regular expression is not valid") from None


FUNCTIONS: dict[tuple[str, int], Function] = {
    ("add", 0): _of_value(lambda value: reduce(added, items_of(value), None)),
    **{("all", count): _quantified(all) for count in range(3)},
    **{("any", count): _quantified(any) for count in range(3)},
    ("contains", 1): _of_argument(_contains),
    ("endswith", 1): _of_argument(lambda value, end: checked(value, "string").endswith(checked(end, "string"))),
    ("first", 0): _of_value(lambda value: (checked(value, "array") or [None])[0]),
    ("first", 1): lambda value, generator: islice(generator(value), 1),
    ("has", 1): _of_argument(_has),
    ("keys", 0): _of_value(lambda value: sorted(checked(value, "object"))),
    ("last", 0): _of_value(lambda value: (checked(value, "array") or [None])[-1]),
    ("length", 0): _of_value(_length),
    ("map", 1): lambda value, each: iter(([found for item in items_of(value) for found in each(item)],)),
    ("not", 0): _of_value(lambda value: not is_true(value)),
    ("select", 1): lambda value, condition: (value for found in condition(value) if is_true(found)),
    ("startswith", 1): _of_argument(lambda value, begin: checked(value, "string").startswith(checked(begin, "string"))),
    ("test", 1): _of_argument(_tested),
    ("tonumber", 0): _of_value(_number),
    ("tostring", 0): _of_value(_text),
    ("type", 0): _of_value(kind),
}


def arities(name: str) -> list[int]:
    """The numbers of arguments that a function exists with."""
    return [count for known, count in FUNCTIONS if known == name]


def call(name: str, arguments: list[Filter]) -> Filter:
    """`name(argument; …)`."""
    function = FUNCTIONS[name, len(arguments)]
    return lambda value: function(value, *arguments)
