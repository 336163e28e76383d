"""A jq expression, parsed, and its outputs for a document."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pilotage.workloads.stages.jq import nodes
from pilotage.workloads.stages.jq.evaluation import field, outputs
from pilotage.workloads.stages.jq.functions import arities
from pilotage.workloads.stages.jq.limits import DataError, LimitExceeded, Steps
from pilotage.workloads.stages.jq.parser import parse
from pilotage.workloads.stages.jq.tokens import SyntaxProblem as SyntaxProblem


class Query:
    """An expression that can be executed any number of times."""

    __slots__ = ("_node", "_path", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._node = parse(text, arities)
        self._path = _path(self._node)

    def execute(self, document: Any) -> list[Any] | None:
        """Its outputs without nulls, or None if an operation fails, as kwok has it. Raises LimitExceeded."""
        try:
            if self._path is None:
                return [value for value in outputs(self._node, document, Steps()) if value is not None]
            value = document
            for name in self._path:
                value = field(value, name)
            return [] if value is None else [value]
        except (DataError, UnicodeError):
            return None
        except RecursionError:
            raise LimitExceeded("the expression or the document is nested too deeply") from None

    def __repr__(self) -> str:
        return f"Query({self.text!r})"


@lru_cache(maxsize=512)
def query(text: str) -> Query:
    """The query of an expression. Raises SyntaxProblem."""
    return Query(text)


def _path(node: nodes.Node) -> list[str] | None:
    """The names of an expression that is only a path of fields, which is most of them."""
    names: list[str] = []
    while isinstance(node, nodes.Field):
        names.append(node.name)
        node = node.target
    return names[::-1] if isinstance(node, nodes.Identity) else None
