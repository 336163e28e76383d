"""The CEL functions whose cost is counted while they run: regular expressions, and `lists.range`.

The cost of a regular expression depends on its pattern, which may be computed by the rule, so that no bound is known
before. The engine passes these functions only their operands: the meter of an evaluation is found by its thread.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pilotage.schema.cel.ast import CallExpression, Constant, Expr, walk
from pilotage.schema.patterns import PatternError, compile_cost, compile_re2, search_cost

REPLACED = {
    "matches": "kubernetes.matches",
    "lists.range": "kubernetes.range",
    "cel.@mapInsert": "kubernetes.mapInsert",
}
"""The functions of the engine that ours replace, because ours count their cost, or because the engine lacks them."""
INDEXED = {"min": "kubernetes.indexOfMin", "max": "kubernetes.indexOfMax"}
"""The functions that return an item of a list, and those that return its index."""
ITERATIONS = 10_000
"""The engine stops an evaluation after this many iterations of all its loops."""
COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"
MAXIMUM_PATTERN = 4096
"""The most characters of a pattern: compile time grows faster than the length."""

_METERED = frozenset((*REPLACED, "find", "findAll"))
_MEMORY = 2 << 20  # of one compiled pattern
_FOUND = 5_000.0  # nanoseconds for each match
_MEASURED = 5e6  # nanoseconds: searches with a lower bound are measured


class CostExceededError(ValueError):
    """The evaluation exceeds its cost limit."""

    def __init__(self) -> None:
        super().__init__(COST_EXCEEDED)


class CostMeter:
    """Counts the nanoseconds that patterns take in all rules of one object."""

    def __init__(self, limit: float) -> None:
        self._left = limit
        self._patterns: dict[str, Any] = {}

    @property
    def exceeded(self) -> bool:
        return self._left < 0

    @contextmanager
    def measuring(self, patterns: dict[str, Any]) -> Iterator[None]:
        """Use this meter in the block. `patterns` are the patterns of the rule that are compiled already."""
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
                found = self._patterns[text] = compile_pattern(text)
            except CostExceededError:
                self.charge(math.inf)
        return found


class _Current(threading.local):
    meter: CostMeter = CostMeter(0.0)


_current = _Current()


def compile_pattern(pattern: str) -> Any:
    """A compiled pattern. ValueError if it is not an RE2 expression, CostExceededError if it is too large."""
    try:
        return compile_re2(pattern, memory=_MEMORY)
    except PatternError as error:
        if "too large" in error.reason:
            raise CostExceededError from error
        raise ValueError(f"Illegal regex: {pattern}") from error


def is_metered(tree: Expr) -> bool:
    """Whether an expression calls functions that count their cost."""
    return any(isinstance(node, CallExpression) and node.function in _METERED for node in walk(tree))


def constant_patterns(tree: Expr) -> dict[str, Any]:
    """The constant regular expressions of an expression, compiled. Invalid ones fail when the rule runs."""
    found: dict[str, Any] = {}
    for node in walk(tree):
        match node:
            case CallExpression("matches" | "find" | "findAll", (_, Constant(str(pattern)), *_)) if (
                len(pattern) <= MAXIMUM_PATTERN
            ):
                with suppress(ValueError):
                    found[pattern] = compile_pattern(pattern)
    return found


def matches(text: str, pattern: str) -> bool:
    return _search(text, pattern) is not None


def find(text: str, pattern: str) -> str:
    found = _search(text, pattern)
    return found.group(0) if found else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found: list[str] = []
    meter = _current.meter
    compiled_pattern = meter.pattern(pattern)
    meter.charge(search_cost(compiled_pattern.programsize, len(text)))
    begin = time.thread_time_ns()
    for match in compiled_pattern.finditer(text):
        if len(found) == limit:
            break
        end = time.thread_time_ns()
        meter.charge(max(_FOUND, end - begin))  # each search may read to the end of the text
        begin = end
        found.append(match.group(0))
    return found


def list_range(end: int) -> list[int]:
    """`lists.range`, for at most as many numbers as an evaluation may iterate over."""
    if end > ITERATIONS:
        _current.meter.charge(math.inf)
    return list(range(end))


def _search(text: str, pattern: str) -> Any:
    """Search a text. The bound is far above the usual time: only a large one is charged, else the time is measured."""
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
