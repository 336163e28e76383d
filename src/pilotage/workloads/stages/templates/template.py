"""A template, parsed, and the text or document that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pilotage.errors import DecodeError
from pilotage.meta.text import yamltext
from pilotage.workloads.stages.templates.builtins import BUILTINS
from pilotage.workloads.stages.templates.library import LIBRARY
from pilotage.workloads.stages.templates.nodes import walk
from pilotage.workloads.stages.templates.operands import Rendering
from pilotage.workloads.stages.templates.parser import parse
from pilotage.workloads.stages.templates.problems import RenderError

FUNCTIONS: Mapping[str, Callable[..., Any]] = LIBRARY | BUILTINS
"""The functions that do not depend on the moment, by name. `and` and `or` are part of the language."""


class Template:
    """A template that can be rendered any number of times."""

    __slots__ = ("_bodies", "text")

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self.text = text.strip()
        self._bodies = parse(self.text, frozenset([*names, *FUNCTIONS, "and", "or"]))

    def render(self, data: Any, functions: Mapping[str, Callable[..., Any]]) -> str:
        """The text for a document. Raises RenderError."""
        rendering = Rendering(data, {**FUNCTIONS, **functions})
        try:
            walk(self._bodies[""], rendering, data)
        except RecursionError:
            raise RenderError("the template or the document is nested too deeply") from None
        return "".join(rendering.parts)

    def document(self, data: Any, functions: Mapping[str, Callable[..., Any]]) -> Any:
        """The document that the text is as YAML. Raises RenderError."""
        text = self.render(data, functions)
        try:
            document, _ = yamltext.read_lenient(text)
        except (DecodeError, UnicodeError) as error:
            raise RenderError(f"{error}; the text begins with {text[:200]!r}") from None
        return document

    def __repr__(self) -> str:
        return f"Template({self.text[:60]!r})"
