"""Regular expressions in CEL rules, and what they cost, counted as they run: RE2 takes time by text times pattern.

The engine passes these functions nothing but their operands, so the meter of the evaluation is that of the thread.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pilotage.schema.cel.ast import Call, Constant, Tree, walk
from pilotage.schema.patterns import PatternError, compile_cost, compile_re2, search_cost

BOUNDED = {"matches": "kubernetes.matches", "lists.range": "kubernetes.range"}
"""The engine's functions that are replaced by ours, which count."""
ITERATIONS = 10_000
"""After so many the engine itself ends an evaluation."""
EXCEEDED = "operation cancelled: actual cost limit exceeded"
MAXIMUM_PATTERN = 4096
"""Bytes of a pattern: what a longer one takes to compile grows faster than it does."""

_METERED = frozenset((*BOUNDED, "find", "findAll"))
_MEMORY = 2 << 20  # of one compiled pattern
_FOUND = 5_000.0  # nanoseconds for each match
_MEASURED = 5e6


class CostExceededError(ValueError):
    """The evaluation has cost more than it may."""

    def __init__(self) -> None:
        super().__init__(EXCEEDED)


class Meter:
    """Counts the nanoseconds that patterns take, for all the rules of one object."""

    def __init__(self, limit: float) -> None:
        self._left = limit
        self._patterns: dict[str, Any] = {}

    @property
    def exceeded(self) -> bool:
        return self._left < 0

    @contextmanager
    def measuring(self, patterns: dict[str, Any]) -> Iterator[None]:
        """Count in this block. `patterns`: those of the rule itself, which are compiled already."""
        self._patterns |= patterns
        before, _current.meter = _current.meter, self
        try:
            yield
        finally:
            _current.meter = before

    def charge(self, nanoseconds: float) -> None:
        self._left -= nanoseconds
        if self._left < 0:
            raise CostExceededError

    def pattern(self, text: str) -> Any:
        found = self._patterns.get(text)
        if found is None:
            long = len(text) > MAXIMUM_PATTERN
            self.charge(math.inf if long else compile_cost(text))
            try:
                found = self._patterns[text] = compiled(text)
            except CostExceededError:
                self.charge(math.inf)
        return found


class _Current(threading.local):
    meter: Meter = Meter(0.0)


_current = _Current()


def compiled(pattern: str) -> Any:
    """A compiled pattern. ValueError if it is not an RE2 expression, CostExceededError if it is too large."""
    try:
        return compile_re2(pattern, memory=_MEMORY)
    except PatternError as error:
        if "too large" in error.reason:
            raise CostExceededError from error
        raise ValueError(f"Illegal regex: {pattern}") from error


def is_metered(tree: Tree) -> bool:
    """Whether an expression calls functions of this module."""
    return any(isinstance(node, Call) and node.function in _METERED for node in walk(tree))


def written_patterns(tree: Tree) -> dict[str, Any]:
    """The regular expressions that are written in an expression, compiled. Those that cannot be fail when they run."""
    found: dict[str, Any] = {}
    for node in walk(tree):
        match node:
            case Call("matches" | "find" | "findAll", (_, Constant(str(pattern)), *_)) if (
                len(pattern) <= MAXIMUM_PATTERN
            ):
                with suppress(ValueError):
                    found[pattern] = compiled(pattern)
    return found


def matches(text: str, pattern: str) -> bool:
    return _found(text, pattern) is not None


def find(text: str, pattern: str) -> str:
    found = _found(text, pattern)
    return found.group(0) if found else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found: list[str] = []
    meter = _current.meter
    compiled_pattern = meter.pattern(pattern)
    meter.charge(search_cost(compiled_pattern.programsize, len(text)))
    for match in compiled_pattern.finditer(text):
        if len(found) == limit:
            break
        meter.charge(_FOUND)
        found.append(match.group(0))
    return found


def numbers(end: int) -> list[int]:
    """`lists.range`, up to as many numbers as an expression may go through."""
    if end > ITERATIONS:
        _current.meter.charge(math.inf)
    return list(range(end))


def _found(text: str, pattern: str) -> Any:
    """Search a text. The bound is for patterns at their worst: where even that is short, the time is measured."""
    meter = _current.meter
    search = meter.pattern(pattern)
    bound = search_cost(search.programsize, len(text))
    if bound > _MEASURED:
        meter.charge(bound)
        return search.search(text)
    begin = time.thread_time_ns()
    found = search.search(text)
    meter.charge(time.thread_time_ns() - begin)
    return found
