"""Regular expressions, compiled by RE2, and what they cost.

RE2 does not backtrack: a search takes time by the length of the text times the size of the pattern.
"""

from __future__ import annotations

from typing import Any

from pilotage.errors import InvalidDefinition

_MEMORY = 1 << 20
_CHAR, _CHAR_SQUARED, _CLASS = 4_000.0, 0.5, 150_000.0
_STEP, _READ = 8.0, 10.0
_GO_PROBLEMS = {
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
}


class PatternError(InvalidDefinition):
    """A pattern that RE2 does not compile, with the reason that RE2 gives."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"the pattern {pattern!r} is not an RE2 expression: {reason}")
        self.reason = reason

    @property
    def go_message(self) -> str:
        """The error of Go's implementation of RE2."""
        problem, _colon, fragment = self.reason.partition(": ")
        return f"error parsing regexp: {_GO_PROBLEMS.get(problem, problem)}: `{fragment}`"


def compile_re2(pattern: str, *, as_bytes: bool = False, memory: int = _MEMORY) -> Any:
    """Compile a pattern that searches texts, or their bytes. A larger program than `memory` is a PatternError."""
    import re2  # compiled code, which only schemas with a pattern need

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = memory
    try:
        return re2.compile(pattern.encode(errors="replace") if as_bytes else pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise PatternError(pattern, reason.decode() if isinstance(reason, bytes) else str(reason)) from error


def compile_cost(pattern: str) -> float:
    """The most nanoseconds that compiling a pattern takes. Unicode classes are large."""
    classes = pattern.count("\\p") + pattern.count("\\P")
    return len(pattern) * (_CHAR + _CHAR_SQUARED * len(pattern)) + _CLASS * classes


def search_cost(states: int, length: int) -> float:
    """The most nanoseconds that a search takes: RE2 without an automaton, which it gives up when memory is short."""
    return length * (_READ + _STEP * states)
