"""Filters: what an expression gives for a value, made of the filters of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from pilotage.workloads.stages.jq.values import BINARY, DataError, checked, is_true

Filter = Callable[[Any], Iterator[Any]]
"""The outputs for a value. Raises DataError and QueryFailed."""


class Path:
    """`.a.b`: a filter of fields. Without names it is `.`."""

    __slots__ = ("names",)

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, value: Any) -> Iterator[Any]:
        yield self.of(value)

    def of(self, value: Any) -> Any:
        """The only output. Raises DataError."""
        for name in self.names:
            if value is None:
                return None
            value = checked(value, "object").get(name)
        return value


def field(target: Filter, name: str) -> Filter:
    """`target.name`."""
    return Path(*target.names, name) if isinstance(target, Path) else pipe(target, Path(name))


def literal(value: Any) -> Filter:
    """A number, a string, `null`, `true` or `false`."""
    return lambda given: iter((value,))


def element(target: Filter, position: int) -> Filter:
    """`target[position]`."""

    def run(value: Any) -> Iterator[Any]:
        for each in target(value):
            items = checked(each, "null", "array", "string") or ()
            yield items[position] if -len(items) <= position < len(items) else None

    return run


def iterate(target: Filter) -> Filter:
    """`target[]`."""
    return lambda value: (item for each in target(value) for item in items_of(each))


def items_of(value: Any) -> list[Any]:
    """The items of an array, or the values of an object by their sorted keys. Raises DataError."""
    found: list[Any] = checked(value, "array", "object")
    return [value[key] for key in sorted(value)] if isinstance(value, dict) else found


def optional(target: Filter) -> Filter:
    """`target?`: an error ends the outputs."""

    def run(value: Any) -> Iterator[Any]:
        try:
            yield from target(value)
        except DataError:
            return

    return run


def array(items: Filter | None) -> Filter:
    """`[items]`."""
    return lambda value: iter(([*items(value)] if items else [],))


def pipe(first: Filter, second: Filter) -> Filter:
    """`first | second`."""

    return lambda value: (found for each in first(value) for found in second(each))


def combined(sign: str, left: Filter, right: Filter) -> Filter:
    """`left sign right`."""
    if sign == "|":
        return pipe(left, right)
    if sign in BINARY:
        return _binary(BINARY[sign], left, right)
    if sign == ",":
        return lambda value: chain(left(value), right(value))
    return _alternative(left, right) if sign == "//" else _logic(sign, left, right)


def _binary(operate: Callable[[Any, Any], Any], left: Filter, right: Filter) -> Filter:
    return lambda value: (operate(first, second) for second in right(value) for first in left(value))


def _alternative(left: Filter, right: Filter) -> Filter:
    """The outputs that are neither null nor false; without any, those of the other."""

    def run(value: Any) -> Iterator[Any]:
        found = False
        for each in left(value):
            if is_true(each):
                found = True
                yield each
        if not found:
            yield from right(value)

    return run


def _logic(sign: str, left: Filter, right: Filter) -> Filter:
    def run(value: Any) -> Iterator[Any]:
        for each in left(value):
            if is_true(each) == (sign == "or"):
                yield sign == "or"
            else:
                yield from map(is_true, right(value))

    return run
