"""Which objects a Stage file selects."""

from __future__ import annotations

from typing import Any, Literal

from pilotage.workloads.stages.celexpressions import CelFailed
from pilotage.workloads.stages.fields import Cel, Fields
from pilotage.workloads.stages.jq.query import Query
from pilotage.workloads.stages.jq.values import Whole

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]


class Requirement(Fields):
    """A condition on the outputs of a jq expression."""

    key: Query
    operator: Operator
    values: list[str] = []

    def __post_init__(self) -> None:
        if bool(self.values) != (self.operator in ("In", "NotIn")):
            raise ValueError("values are required with In and NotIn, and must be empty with Exists and DoesNotExist")

    def matches(self, document: Any) -> bool:
        """Whether the document meets it. An expression that fails has no outputs. Raises QueryFailed."""
        outputs = self.key.execute(document) or []
        found = any(_text(value) in self.values for value in outputs) if self.values else bool(outputs)
        return found == (self.operator in ("In", "Exists"))


def _text(value: Any) -> str | None:
    """The text that values are compared with; None: no text equals it, as for numbers of the document."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else int.__repr__(value) if isinstance(value, Whole) else None


class MatchExpression(Fields):
    """A requirement, here or in `jq`, or an expression in CEL."""

    key: Query | None = None
    operator: Operator | None = None
    values: list[str] = []
    jq: Requirement | None = None
    cel: Cel | None = None

    def __post_init__(self) -> None:
        if [self.key, self.jq, self.cel].count(None) != 2:
            raise ValueError("must have one of cel, jq and key")
        if self.key is not None:
            if self.operator is None:
                raise ValueError("operator is required")
            self.jq = Requirement(self.key, self.operator, self.values)

    def matches(self, document: dict[str, Any]) -> bool:
        """Whether the document meets it. Raises QueryFailed and CelFailed."""
        if self.jq is not None:
            return self.jq.matches(document)
        found = self.cel is not None and self.cel.expression.evaluate(document)
        if not isinstance(found, bool):
            raise CelFailed("the result is not a bool")
        return found


class Selector(Fields):
    """All parts have to match. Without any, every object matches."""

    match_labels: dict[str, str] = {}
    match_annotations: dict[str, str] = {}
    match_expressions: list[MatchExpression] = []

    def matches(self, document: dict[str, Any]) -> bool:
        """Whether the object is selected. Raises QueryFailed and CelFailed."""
        metadata = document.get("metadata") or {}
        wanted = (("labels", self.match_labels), ("annotations", self.match_annotations))
        if any(values and not values.items() <= (metadata.get(field) or {}).items() for field, values in wanted):
            return False
        return all(each.matches(document) for each in self.match_expressions)
