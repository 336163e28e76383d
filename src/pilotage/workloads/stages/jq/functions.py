"""The functions of jq that expressions can call, by name and number of arguments.

A function gets its input, the counter of steps, and its arguments, each of which has outputs for a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from pilotage.workloads.stages.jq.conversions import (
    array,
    items,
    joined,
    json_text,
    lowered,
    object_,
    raised,
    string,
    tested,
    text_of,
    to_number,
    without_prefix,
    without_suffix,
)
from pilotage.workloads.stages.jq.limits import DataError, Steps
from pilotage.workloads.stages.jq.operators import Whole, added, compared, from_document, is_true, kind, sort_key, split

Argument = Callable[[Any], Iterator[Any]]
Function = Callable[..., Iterator[Any]]
"""Called with the input, the counter of steps, and an `Argument` for each argument."""


def arities(name: str) -> list[int]:
    """The numbers of arguments that a function exists with."""
    return [count for known, count in FUNCTIONS if known == name]


def _of_value(function: Callable[[Any], Any]) -> Function:
    """A function of the input alone."""

    def run(value: Any, steps: Steps) -> Iterator[Any]:
        if isinstance(value, list | dict | str):
            steps.take(len(value) >> 4)
        yield function(value)

    return run


def _of_argument(function: Callable[[Any, Any], Any]) -> Function:
    """A function of the input and each output of one argument."""

    def run(value: Any, steps: Steps, argument: Argument) -> Iterator[Any]:
        for each in argument(value):
            if isinstance(value, list | dict | str):
                steps.take(len(value) >> 4)
            yield function(value, each)

    return run


def _select(value: Any, steps: Steps, condition: Argument) -> Iterator[Any]:
    for each in condition(value):
        if is_true(each):
            yield value


def _empty(value: Any, steps: Steps) -> Iterator[Any]:
    return iter(())


def _map(value: Any, steps: Steps, function: Argument) -> Iterator[Any]:
    yield [output for item in items(value) for output in function(from_document(item))]


def _any(value: Any, steps: Steps, condition: Argument = lambda value: iter([value])) -> Iterator[Any]:
    yield any(is_true(each) for item in items(value) for each in condition(from_document(item)))


def _any_of(value: Any, steps: Steps, generator: Argument, condition: Argument) -> Iterator[Any]:
    yield any(is_true(each) for item in generator(value) for each in condition(item))


def _all(value: Any, steps: Steps, condition: Argument = lambda value: iter([value])) -> Iterator[Any]:
    yield all(is_true(each) for item in items(value) for each in condition(from_document(item)))


def _all_of(value: Any, steps: Steps, generator: Argument, condition: Argument) -> Iterator[Any]:
    yield all(is_true(each) for item in generator(value) for each in condition(item))


def _first_of(value: Any, steps: Steps, generator: Argument) -> Iterator[Any]:
    for each in generator(value):
        yield each
        return


def _last_of(value: Any, steps: Steps, generator: Argument) -> Iterator[Any]:
    found = list(generator(value))
    yield from found[-1:]


def _sorted_by(value: Any, steps: Steps, function: Argument) -> Iterator[Any]:
    yield [item for _, item in sorted(_keyed(value, function), key=lambda pair: sort_key(pair[0]))]


def _min_by(value: Any, steps: Steps, function: Argument) -> Iterator[Any]:
    found = min(_keyed(value, function), key=lambda pair: sort_key(pair[0]), default=(None, None))
    yield from_document(found[1])


def _max_by(value: Any, steps: Steps, function: Argument) -> Iterator[Any]:
    found = max(reversed(_keyed(value, function)), key=lambda pair: sort_key(pair[0]), default=(None, None))
    yield from_document(found[1])


def _keyed(value: Any, function: Argument) -> list[tuple[list[Any], Any]]:
    return [(list(function(from_document(item))), item) for item in array(value)]


def _range(value: Any, steps: Steps, *bounds: Argument) -> Iterator[Any]:
    firsts = bounds[0](value) if len(bounds) > 1 else iter([Whole(0)])
    for first in firsts:
        for last in bounds[-1](value):
            if not (kind(first) == kind(last) == "number"):
                raise DataError("range cannot be applied to values that are not numbers")
            current = first
            while current < last:
                steps.take()
                yield current
                current = added(current, Whole(1))


def _length(value: Any) -> Any:
    if value is None:
        return Whole(0)
    if isinstance(value, bool):
        raise DataError("length cannot be applied to: boolean")
    if isinstance(value, int | float):
        return Whole(abs(value)) if isinstance(value, Whole) else abs(float(value))
    return Whole(len(value))


def _keys(value: Any) -> list[Any]:
    return list(map(Whole, range(len(value)))) if isinstance(value, list) else sorted(object_(value))


def _has(value: Any, key: Any) -> bool:
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and kind(key) == "number":
        return bool(0 <= key < len(value))
    raise DataError(f"cannot check whether {kind(value)} has a key: {kind(key)}")


def _contains(value: Any, steps: Steps, other: Argument) -> Iterator[Any]:
    for each in other(value):
        yield _has_within(value, each, steps)


def _inside(value: Any, steps: Steps, other: Argument) -> Iterator[Any]:
    for each in other(value):
        yield _has_within(each, value, steps)


def _has_within(value: Any, other: Any, steps: Steps) -> bool:
    steps.take()
    if isinstance(value, dict) and isinstance(other, dict):
        return all(key in value and _has_within(value[key], each, steps) for key, each in other.items())
    if isinstance(value, list) and isinstance(other, list):
        return all(any(kind(item) == kind(each) and _has_within(item, each, steps) for item in value) for each in other)
    if isinstance(value, str) and isinstance(other, str):
        return str(other) in value
    if kind(value) == kind(other):
        return compared(value, other) == 0
    raise DataError(f"cannot check whether {kind(value)} contains {kind(other)}")


def _add(value: Any) -> Any:
    total: Any = None
    for item in items(value):
        total = added(total, from_document(item))
    return total


def _unique(value: Any) -> list[Any]:
    found: list[Any] = []
    for item in sorted(array(value), key=sort_key):
        if not found or compared(found[-1], item):
            found.append(item)
    return found


def _entries(value: Any) -> list[Any]:
    return [{"key": key, "value": each} for key, each in sorted(object_(value).items())]


def _reversed(value: Any) -> Any:
    if value is None:
        return []
    return value[::-1] if isinstance(value, str) else array(value)[::-1]


def _rounded(function: Callable[[float], int]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        if kind(value) != "number":
            raise DataError(f"expected a number but got: {kind(value)}")
        if isinstance(value, Whole) or not math.isfinite(value):
            return value
        return float(function(value))

    return run


FUNCTIONS: dict[tuple[str, int], Function] = {
    ("add", 0): _of_value(_add),
    ("all", 0): _all,
    ("all", 1): _all,
    ("all", 2): _all_of,
    ("any", 0): _any,
    ("any", 1): _any,
    ("any", 2): _any_of,
    ("ascii_downcase", 0): _of_value(lowered),
    ("ascii_upcase", 0): _of_value(raised),
    ("ceil", 0): _of_value(_rounded(math.ceil)),
    ("contains", 1): _contains,
    ("empty", 0): _empty,
    ("endswith", 1): _of_argument(lambda value, suffix: string(value).endswith(string(suffix))),
    ("first", 0): _of_value(lambda value: from_document((array(value) or [None])[0])),
    ("first", 1): _first_of,
    ("floor", 0): _of_value(_rounded(math.floor)),
    ("has", 1): _of_argument(_has),
    ("inside", 1): _inside,
    ("join", 1): _of_argument(joined),
    ("keys", 0): _of_value(_keys),
    ("last", 0): _of_value(lambda value: from_document((array(value) or [None])[-1])),
    ("last", 1): _last_of,
    ("length", 0): _of_value(_length),
    ("ltrimstr", 1): _of_argument(without_prefix),
    ("map", 1): _map,
    ("max", 0): _of_value(lambda value: from_document(max(reversed(array(value)), key=sort_key, default=None))),
    ("max_by", 1): _max_by,
    ("min", 0): _of_value(lambda value: from_document(min(array(value), key=sort_key, default=None))),
    ("min_by", 1): _min_by,
    ("not", 0): _of_value(lambda value: not is_true(value)),
    ("range", 1): _range,
    ("range", 2): _range,
    ("reverse", 0): _of_value(_reversed),
    ("rtrimstr", 1): _of_argument(without_suffix),
    ("select", 1): _select,
    ("sort", 0): _of_value(lambda value: sorted(array(value), key=sort_key)),
    ("sort_by", 1): _sorted_by,
    ("split", 1): _of_argument(lambda value, separator: split(string(value), string(separator))),
    ("startswith", 1): _of_argument(lambda value, prefix: string(value).startswith(string(prefix))),
    ("test", 1): _of_argument(tested),
    ("to_entries", 0): _of_value(_entries),
    ("tojson", 0): _of_value(json_text),
    ("tonumber", 0): _of_value(to_number),
    ("tostring", 0): _of_value(text_of),
    ("type", 0): _of_value(kind),
    ("unique", 0): _of_value(_unique),
    ("values", 0): lambda value, steps: iter([value] if value is not None else []),
}
