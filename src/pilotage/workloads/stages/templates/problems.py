"""Errors of a template."""

from __future__ import annotations


class TemplateProblem(Exception):
    """A template that is not valid, or uses what is not supported. `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        self.line = line
        super().__init__(message)


class RenderError(Exception):
    """A template that fails for a document. `line` is 0 where it is not known yet."""

    def __init__(self, message: str, line: int = 0, construct: str = "") -> None:
        self.message = message
        self.line = line
        super().__init__(f"{message}{f' in {construct}' if construct else ''}")
