"""A template, parsed, and the text or document that it gives."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from pilotage.errors import DecodeError
from pilotage.meta.text import yamltext
from pilotage.workloads.stages.templates.builtins import BUILTINS
from pilotage.workloads.stages.templates.collections import COLLECTIONS
from pilotage.workloads.stages.templates.evaluation import Evaluation
from pilotage.workloads.stages.templates.functions import Function
from pilotage.workloads.stages.templates.general import GENERAL
from pilotage.workloads.stages.templates.govalues import MISSING
from pilotage.workloads.stages.templates.limits import RenderError
from pilotage.workloads.stages.templates.numbers import NUMBERS
from pilotage.workloads.stages.templates.parser import parse
from pilotage.workloads.stages.templates.texts import TEXTS

FUNCTIONS: Mapping[str, Function] = NUMBERS | COLLECTIONS | TEXTS | GENERAL | BUILTINS
"""The functions that do not depend on the moment, by name. `and` and `or` are part of the language."""
_LOGIC = frozenset(["and", "or"])


class Template:
    """A template that can be rendered any number of times."""

    __slots__ = ("_trees", "text")

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self.text = text.strip()
        self._trees = parse(self.text, _Names(names))

    def render(self, data: Any, functions: Mapping[str, Function]) -> str:
        """The text for a document. Raises RenderError."""
        try:
            return Evaluation(self._trees, (functions, FUNCTIONS), MISSING if data is None else data).text()
        except RecursionError:
            raise RenderError("the template or the document is nested too deeply") from None
        except UnicodeError as error:
            raise RenderError(f"a text is not UTF-8: {error}") from None

    def document(self, data: Any, functions: Mapping[str, Function]) -> Any:
        """The document that the text is as YAML. Raises RenderError."""
        text = self.render(data, functions)
        try:
            document, _ = yamltext.read_lenient(text)
        except DecodeError as error:
            raise RenderError(f"{error}; the text begins with {text[:200]!r}") from None
        return document

    def __repr__(self) -> str:
        return f"Template({self.text[:60]!r})"


class _Names(Container[str]):
    """The names of all functions, with some that the moment has."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in FUNCTIONS or name in _LOGIC
