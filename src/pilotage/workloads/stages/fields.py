"""The fields of documents, as structs with expressions and templates in them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Annotated, Any, TypeVar

import msgspec

from pilotage.errors import InvalidDefinition
from pilotage.workloads.stages.celexpressions import CelExpression, cel
from pilotage.workloads.stages.jq.query import Query, SyntaxProblem, query
from pilotage.workloads.stages.templates.problems import TemplateProblem
from pilotage.workloads.stages.templates.template import Template

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
T = TypeVar("T")


class Fields(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The fields of an object. Any other field is an error."""


def read(value: Any, kind: type[T], where: str, functions: AbstractSet[str]) -> T:
    """A value as fields; templates may call `functions`. `where` is its path, for errors. Raises InvalidDefinition."""

    def parsed(kind: type, text: Any) -> Any:
        if not isinstance(text, str):
            raise TypeError("Expected `str`")
        try:
            return Template(text, functions) if kind is Template else query(text) if kind is Query else cel(text)
        except SyntaxProblem as problem:
            raise ValueError(f"{problem} (column {problem.position + 1})") from None
        except TemplateProblem as problem:
            raise ValueError(f"{problem} (line {problem.line})") from None
        except InvalidDefinition as problem:
            raise ValueError(str(problem).split("\n")[0]) from None

    try:
        return msgspec.convert(_without_nulls(value), kind, dec_hook=parsed)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        raise InvalidDefinition(f"{where}{path.rstrip('`')}: {message}") from None


def _without_nulls(value: Any) -> Any:
    """A field that is null is one that is not there."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


class Cel(Fields):
    """An expression in CEL."""

    expression: CelExpression


class Jq(Fields):
    """An expression in jq."""

    expression: Query


class ExpressionFrom(Fields):
    """An expression in one of the languages; `expressionFrom` is in jq, too."""

    expression_from: Query | None = None
    jq: Jq | None = None
    cel: Cel | None = None

    def __post_init__(self) -> None:
        if [self.expression_from, self.jq, self.cel].count(None) != 2:
            raise ValueError("must have one of cel, jq and expressionFrom")

    @property
    def query(self) -> Query:
        """The expression in jq, if it is not in CEL."""
        found = self.jq.expression if self.jq is not None else self.expression_from
        assert found is not None
        return found
