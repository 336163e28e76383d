"""A jq expression, parsed, and its outputs for a document."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pilotage.workloads.stages.jq.filters import Path
from pilotage.workloads.stages.jq.parser import parse
from pilotage.workloads.stages.jq.tokens import SyntaxProblem as SyntaxProblem
from pilotage.workloads.stages.jq.values import DataError, QueryFailed


class Query:
    """An expression that can be executed any number of times."""

    __slots__ = ("_filter", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._filter = parse(text)

    def execute(self, document: Any) -> list[Any] | None:
        """Its outputs without nulls, or None if an operation fails, as kwok has it. Raises QueryFailed."""
        made = self._filter
        try:
            found = [made.of(document)] if isinstance(made, Path) else made(document)
            return [value for value in found if value is not None]
        except (DataError, ArithmeticError, ValueError):
            return None
        except RecursionError:
            raise QueryFailed("the expression or the document is nested too deeply") from None

    def __repr__(self) -> str:
        return f"Query({self.text!r})"


@lru_cache(maxsize=512)
def query(text: str) -> Query:
    """The query of an expression. Raises SyntaxProblem."""
    return Query(text)
