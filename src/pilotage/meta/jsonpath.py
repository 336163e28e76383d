"""Kubernetes' JSONPath: selects values of a document, as printer columns and `kubectl -o jsonpath` do.

A path is parsed once into steps, each a function from one value to the values that it selects. Values that a step does
not fit (a field of a text) are an error, a missing field is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

from pilotage.errors import InvalidDefinition

TYPE_CHECKING = False  # a command that prints a table loads this, and no typing
if TYPE_CHECKING:
    from typing import Any

    Step = Callable[[Any], Iterator[Any]]
    Union = tuple[Step, ...]
    """What `['a','b']` selects: all that the first step selects, then all that the second one does."""

MAX_VALUES = 10_000
"""How many values a step may select: `..` and `[*]` multiply."""
_MAX_STEPS = 64

_NAME = r"(?:[^\s.\[\]\\'\"(){}|@?*,]|\\.)+"
_SLICE = r"(-?\d*):(-?\d*)(?::(\d+))?"
_QUOTED = r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\""
_FILTER = r"(?s)(?P<left>.+?)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<right>.+))?"
_ESCAPED = r"\\(.)"
_DOT = r"(?<!\\)\."

_pattern = cache(re.compile)
"""Compiled on use: most paths of columns need none of them."""


class UnfitValueError(Exception):
    """A step does not fit the value that it is applied to."""


class JSONPath:
    """A parsed path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._names = _names(text)
        self._steps = tuple((_member(name),) for name in self._names) or _parse(text)

    def find(self, document: Any) -> list[Any]:
        """The values that the path selects. Raises UnfitValueError."""
        if self._names:
            value = document
            try:
                for name in self._names:
                    value = value[name]
            except KeyError:
                return []
            except TypeError:
                pass  # something on the way has no fields
            else:
                return [value]
        values = [document]
        for union in self._steps:
            selected: list[Any] = []
            for step in union:
                for value in values:
                    selected += step(value)
                    if len(selected) > MAX_VALUES:
                        raise UnfitValueError(f"{self.text} selects more than {MAX_VALUES} values")
            values = selected
        return values


@lru_cache(maxsize=1024)
def parse(text: str) -> JSONPath:
    """A path such as `.spec.replicas` or `.status.conditions[?(@.type=="Ready")].status`. Raises InvalidDefinition."""
    return JSONPath(text)


def _names(text: str) -> list[str]:
    """The fields that a path leads through if it has no other steps, as most of columns do; else none."""
    first, *names = text.split(".")
    return names if not first and len(names) <= _MAX_STEPS and all(map(str.isalnum, names)) else []


def _parse(text: str) -> tuple[Union, ...]:
    steps: list[Union] = []
    position = 1 if text.startswith(("$", "@")) else 0
    while position < len(text):
        if len(steps) == _MAX_STEPS:
            raise _problem(text, f"it has more than {_MAX_STEPS} steps")
        if text.startswith("..", position):
            steps.append((_descendants,))
            position += 2
            if not text.startswith("[", position):
                position = _parse_field(text, position, steps, everywhere=True)
        elif text[position] == ".":
            position = _parse_field(text, position + 1, steps)
        elif text[position] == "[":
            end = _closing(text, position)
            steps.append(_bracket(text, text[position + 1 : end].strip()))
            position = end + 1
        elif position == 0:
            position = _parse_field(text, 0, steps)
        else:
            raise _problem(text, f"unexpected {text[position]!r} at {position}")
    return tuple(steps)


def _parse_field(text: str, position: int, steps: list[Union], *, everywhere: bool = False) -> int:
    if text.startswith("*", position):
        steps.append((_children,))
        return position + 1
    match = _pattern(_NAME).match(text, position)
    if match is None:
        if position == len(text) and not steps:
            return position  # "." is the document itself
        raise _problem(text, f"there is no field name at {position}")
    steps.append((_member(_pattern(_ESCAPED).sub(r"\1", match[0]), everywhere=everywhere),))
    return match.end()


def _closing(text: str, start: int) -> int:
    """Where the bracket that begins at `start` ends; brackets in quotes and nested brackets are skipped."""
    depth, position = 0, start
    while position < len(text):
        character = text[position]
        if character in "'\"":
            quoted = _pattern(_QUOTED).match(text, position)
            if quoted is None:
                break
            position = quoted.end()
            continue
        depth += (character == "[") - (character == "]")
        if depth == 0:
            return position
        position += 1
    raise _problem(text, "a bracket is not closed")


def _bracket(text: str, inside: str) -> Union:
    if inside == "*":
        return (_children,)
    if inside.startswith("?(") and inside.endswith(")"):
        return (_filter(text, inside[2:-1].strip()),)
    return tuple(_choice(text, part.strip()) for part in _split(inside))


def _split(inside: str) -> list[str]:
    parts, start, position = [], 0, 0
    while position < len(inside):
        quoted = _pattern(_QUOTED).match(inside, position)
        if quoted is not None:
            position = quoted.end()
            continue
        if inside[position] == ",":
            parts.append(inside[start:position])
            start = position + 1
        position += 1
    return [*parts, inside[start:]]


def _choice(text: str, part: str) -> Step:
    quoted = _pattern(_QUOTED).fullmatch(part)
    if quoted is not None:
        return _quoted_member(quoted)
    if re.fullmatch(r"-?\d{1,18}", part):
        return _index(int(part))
    sliced = _pattern(_SLICE).fullmatch(part)
    if sliced is not None:
        first, last, step = (int(each) if each else None for each in sliced.groups())
        return _slice(first, last, step or 1)
    raise _problem(text, f"{part[:50]!r} in brackets is not an index, a range, a quoted name, * or a filter")


def _quoted_member(quoted: re.Match[str]) -> Step:
    """Into the field of a quoted name; where there is none, along its dots: `['metadata.name']`, as kubectl does."""
    names = [
        _pattern(_ESCAPED).sub(r"\1", name)
        for name in _pattern(_DOT).split(quoted[1] if quoted[1] is not None else quoted[2])
    ]
    name = ".".join(names)
    literal, path = _member(name), [_member(each) for each in names]

    def step(value: Any) -> Iterator[Any]:
        if (isinstance(value, dict) and name in value) or len(path) == 1:
            yield from literal(value)
            return
        values = [value]
        for each in path:
            values = [found for one in values for found in each(one)]
        yield from values

    return step


def _member(name: str, *, everywhere: bool = False) -> Step:
    """Into a field; after `..`, values that have no fields are skipped."""

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict):
            if name in value:
                yield value[name]
        elif value is not None and not everywhere:
            raise UnfitValueError(f"{name!r} is a field of something that has no fields")

    return step


def _index(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if not isinstance(value, list):
            raise UnfitValueError("an index of something that is not a list")
        if not -len(value) <= index < len(value):
            raise UnfitValueError(f"there is no item {index}")
        yield value[index]

    return step


def _slice(first: int | None, last: int | None, every: int) -> Step:
    """From the first up to the last item, which must be there: kubectl does not cut a range."""

    def step(value: Any) -> Iterator[Any]:
        if not isinstance(value, list):
            raise UnfitValueError("a range of something that is not a list")
        start, end = (
            len(value) + each if each < 0 else each for each in (first or 0, len(value) if last is None else last)
        )
        if start == end:
            return
        if not (0 <= start < len(value) and start <= end <= len(value)):
            raise UnfitValueError(f"there are no items from {start} to {end}")
        yield from value[start:end:every]

    return step


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (value[key] for key in sorted(value))
    elif isinstance(value, list):
        yield from value


def _descendants(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        here = waiting.pop()
        yield here
        waiting += reversed(list(_children(here)))


def _filter(text: str, condition: str) -> Step:
    match = _pattern(_FILTER).fullmatch(condition)
    if match is None:
        raise _problem(text, "the filter is empty")
    left = _operand(text, match["left"])
    right = _operand(text, match["right"]) if match["right"] else None
    operator = match["operator"]

    def step(value: Any) -> Iterator[Any]:
        if not isinstance(value, list):
            raise UnfitValueError("a filter of something that is not a list")
        for item in value:
            found = left(item)
            if right is None:
                if found:
                    yield item
            elif found and (others := right(item)) and _holds(found[0], operator, others[0]):
                yield item

    return step


def _operand(text: str, operand: str) -> Callable[[Any], list[Any]]:
    if operand.startswith("@"):
        return JSONPath(operand).find
    quoted = _pattern(_QUOTED).fullmatch(operand)
    literal: Any
    if quoted is not None:
        literal = _pattern(_ESCAPED).sub("\\1", quoted[1] if quoted[1] is not None else quoted[2])
    elif operand in ("true", "false"):
        literal = operand == "true"
    else:
        try:
            literal = float(operand) if "." in operand else int(operand)
        except ValueError:
            raise _problem(text, f"{operand[:50]!r} in a filter is neither a path nor a value") from None
    return lambda _: [literal]


def _holds(left: Any, operator: str, right: Any) -> bool:
    if isinstance(left, bool) is not isinstance(right, bool):
        return operator == "!="
    match operator:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
    if not _ordered(left, right):
        raise UnfitValueError("a filter compares values that have no order")
    match operator:
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
    return bool(left >= right)


def _ordered(left: Any, right: Any) -> bool:
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return numbers or (isinstance(left, str) and isinstance(right, str))


def _problem(text: str, reason: str) -> InvalidDefinition:
    return InvalidDefinition(f"the JSONPath {text[:100]!r} cannot be read: {reason}")
