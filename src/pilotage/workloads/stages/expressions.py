"""The expressions of a Stage file, in jq or CEL."""

from __future__ import annotations

from pilotage.errors import InvalidDefinition
from pilotage.workloads.stages import definitions
from pilotage.workloads.stages.celexpressions import CelExpression, cel
from pilotage.workloads.stages.jq.query import Query, SyntaxProblem, query


def jq_expression(text: str, path: str) -> Query:
    """A jq expression; `path` is its field. Raises InvalidDefinition."""
    try:
        return query(text)
    except SyntaxProblem as problem:
        raise InvalidDefinition(f"{path}: {problem} (column {problem.position + 1})") from None


def cel_expression(given: definitions.Expression, path: str) -> CelExpression:
    """A CEL expression. Raises InvalidDefinition, and MissingExtra without the engine."""
    try:
        return cel(given.expression)
    except InvalidDefinition as error:
        raise InvalidDefinition(f"{path}.cel.expression: {str(error).splitlines()[0]}") from None


def expression_from(given: definitions.ExpressionFrom | None, path: str) -> Query | CelExpression | None:
    """The expression of `weightFrom`, `durationFrom` and the like; None without it."""
    if given is None:
        return None
    if sum(map(bool, (given.cel, given.jq, given.expression_from))) != 1:
        raise InvalidDefinition(f"{path}: must have one of cel, jq and expressionFrom")
    if given.cel is not None:
        return cel_expression(given.cel, path)
    if given.jq is not None:
        return jq_expression(given.jq.expression, f"{path}.jq.expression")
    return jq_expression(given.expression_from, f"{path}.expressionFrom")
