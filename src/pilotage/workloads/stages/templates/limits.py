"""Errors of a template, and how much it may do."""

from __future__ import annotations

from typing import Any

MAX_STEPS = 200_000
"""Actions, iterations and blocks of text of one rendering."""
MAX_OUTPUT = 1_000_000
"""Characters of the text that a template gives, and of a string that a function returns."""
MAX_VALUES = 50_000
"""Values within a list or an object that a function returns."""
_BLOCK = 64


class TemplateProblem(Exception):
    """A template that is not valid, or uses what is not supported. `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        self.line = line
        super().__init__(message)


class RenderError(Exception):
    """A template that fails for a document. `line` is 0 where it is not known yet, `construct` the action."""

    def __init__(self, message: str, line: int = 0, construct: str = "") -> None:
        self.message = message
        self.line = line
        self.construct = construct
        super().__init__(f"{message}{f' in {construct}' if construct else ''}")


class Steps:
    """Counts the work of one rendering."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_STEPS

    def take(self, count: int = 1) -> None:
        """Raise RenderError if the rendering has done too much."""
        self._left -= count
        if self._left < 0:
            raise RenderError(f"the template needs more than {MAX_STEPS} steps")

    def check(self, value: Any) -> None:
        """Count the size of a result. Raise RenderError if it is too large."""
        if isinstance(value, str):
            check_length(len(value))
            self.take(len(value) // _BLOCK)
        elif isinstance(value, list | dict):
            self.take(_size(value))


def check_length(length: int) -> None:
    """Raise RenderError if a text of this length is too long."""
    if length > MAX_OUTPUT:
        raise RenderError(f"a text of more than {MAX_OUTPUT} characters")


def _size(value: Any) -> int:
    """The values within a value. One that is used twice counts twice: it is printed twice."""
    count, waiting = 0, [value]
    while waiting:
        current = waiting.pop()
        count += 1 + (len(current) // _BLOCK if isinstance(current, str | list | dict) else 0)
        if count > MAX_VALUES:
            raise RenderError(f"a list or an object with more than {MAX_VALUES} values")
        if isinstance(current, dict):
            waiting += current.values()
        elif isinstance(current, list):
            waiting += current
    return count
