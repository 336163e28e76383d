"""The expressions of a Stage file, in jq or CEL, from its fields."""

from __future__ import annotations

from pilotage.errors import InvalidDefinition
from pilotage.workloads.stages.celexpressions import CelExpression, cel
from pilotage.workloads.stages.fields import Fields
from pilotage.workloads.stages.jq.query import Query, SyntaxProblem, query


def jq_expression(fields: Fields, name: str) -> Query:
    """The jq expression in a field. Raises InvalidDefinition."""
    try:
        return query(fields.required(name))
    except SyntaxProblem as problem:
        raise fields.problem(name, f"{problem} (column {problem.position + 1})") from None


def cel_expression(fields: Fields) -> CelExpression:
    """The CEL expression in `expression`. Raises InvalidDefinition, and MissingExtra without the engine."""
    text = fields.required("expression")
    fields.end()
    try:
        return cel(text)
    except InvalidDefinition as error:
        raise fields.problem("expression", str(error)) from None


def expression_from(parent: Fields, name: str) -> Query | CelExpression | None:
    """The expression of `weightFrom`, `durationFrom` and the like; None without it."""
    fields = parent.object(name)
    if fields is None:
        return None
    kinds = [kind for kind in ("cel", "jq", "expressionFrom") if fields.has(kind)]
    if len(kinds) != 1:
        raise parent.problem(name, "must have one of cel, jq and expressionFrom")
    inner = fields.object(kinds[0]) if kinds[0] != "expressionFrom" else None
    found: Query | CelExpression
    if inner is None:
        found = jq_expression(fields, "expressionFrom")
    elif kinds[0] == "cel":
        found = cel_expression(inner)
    else:
        found = jq_expression(inner, "expression")
        inner.end()
    fields.end()
    return found
