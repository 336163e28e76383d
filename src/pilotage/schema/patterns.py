"""What regular expressions cost: RE2 needs time by the length of a text times the size of a pattern."""

from __future__ import annotations

_CHAR, _CHAR_SQUARED, _CLASS = 4_000.0, 0.5, 150_000.0
_STEP, _READ = 8.0, 10.0


def compile_cost(pattern: str) -> float:
    """Nanoseconds that it takes to compile a pattern, at most. Classes of Unicode are large."""
    classes = pattern.count("\\p") + pattern.count("\\P")
    return len(pattern) * (_CHAR + _CHAR_SQUARED * len(pattern)) + _CLASS * classes


def search_cost(states: int, length: int) -> float:
    """Nanoseconds that it takes to search a text for a compiled pattern, at most: where no automaton can be built."""
    return length * (_READ + _STEP * states)
