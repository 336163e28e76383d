"""Errors of an evaluation, and how much it may do."""

from __future__ import annotations

MAX_STEPS = 50_000
"""Values that one evaluation may produce, with those in between."""
MAX_TEXT = 1_000_000
"""Characters of a string that an evaluation creates."""


class DataError(Exception):
    """A value that an operation cannot work with. For kwok such an expression has no outputs."""


class LimitExceeded(Exception):
    """An evaluation that would take too much time or memory."""


class Steps:
    """Counts the values of one evaluation."""

    __slots__ = ("_left",)

    def __init__(self, most: int = MAX_STEPS) -> None:
        self._left = most

    def take(self, count: int = 1) -> None:
        """Raise LimitExceeded if the evaluation has produced too many values."""
        self._left -= count
        if self._left < 0:
            raise LimitExceeded(f"the expression needs more than {MAX_STEPS} steps")


def bounded(text: str) -> str:
    """Raise LimitExceeded if the text is too long."""
    check_length(len(text))
    return text


def check_length(length: int) -> None:
    """Raise LimitExceeded if a text of this length is too long."""
    if length > MAX_TEXT:
        raise LimitExceeded(f"the expression creates a string of more than {MAX_TEXT} characters")
