"""Which objects a Stage file selects."""

from __future__ import annotations

from typing import Any

from pilotage.meta.values import Value
from pilotage.workloads.stages.celexpressions import CelExpression, CelFailed
from pilotage.workloads.stages.expressions import cel_expression, jq_expression
from pilotage.workloads.stages.fields import Fields
from pilotage.workloads.stages.jq.operators import Whole
from pilotage.workloads.stages.jq.query import Query

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class Requirement(Value, frozen=True):
    """A condition on the outputs of a jq expression."""

    query: Query
    operator: str
    values: frozenset[str]

    def matches(self, document: Any) -> bool:
        """Whether the document meets it. An expression that fails has no outputs. Raises LimitExceeded."""
        outputs = self.query.execute(document) or []
        found = any(_text(value) in self.values for value in outputs) if self.values else bool(outputs)
        return found == (self.operator in ("In", "Exists"))


def _text(value: Any) -> str | None:
    """The text that values are compared with; None: no text equals it, as for numbers of the document."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return int.__repr__(value) if isinstance(value, Whole) else None


class Selector(Value, frozen=True):
    """All parts have to match. Without any, every object matches."""

    labels: dict[str, str]
    annotations: dict[str, str]
    requirements: tuple[Requirement, ...]
    conditions: tuple[CelExpression, ...]

    def matches(self, document: dict[str, Any]) -> bool:
        """Whether the object is selected. Raises LimitExceeded and CelFailed."""
        if (self.labels or self.annotations) and not self._named(document.get("metadata") or {}):
            return False
        return all(requirement.matches(document) for requirement in self.requirements) and all(
            _is_met(condition, document) for condition in self.conditions
        )

    def _named(self, metadata: dict[str, Any]) -> bool:
        labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
        return all(labels.get(name) == value for name, value in self.labels.items()) and all(
            annotations.get(name) == value for name, value in self.annotations.items()
        )


def _is_met(condition: CelExpression, document: dict[str, Any]) -> bool:
    found = condition.evaluate(document)
    if not isinstance(found, bool):
        raise CelFailed("the result is not a bool")
    return found


def selector(fields: Fields) -> Selector:
    """The selector of a Stage file. Raises InvalidDefinition."""
    requirements: list[Requirement] = []
    conditions: list[CelExpression] = []
    labels, annotations = fields.map_of_texts("matchLabels"), fields.map_of_texts("matchAnnotations")
    for each in fields.objects("matchExpressions"):
        kinds = [kind for kind in ("cel", "jq", "key") if each.has(kind)]
        if len(kinds) != 1:
            raise each.problem("key", "a match expression has one of cel, jq and key")
        inner = each.object(kinds[0]) if kinds[0] != "key" else each
        if inner is not None and kinds[0] == "cel":
            conditions.append(cel_expression(inner))
        elif inner is not None:
            requirements.append(_requirement(inner))
        each.end()
    fields.end()
    return Selector(labels, annotations, tuple(requirements), tuple(conditions))


def _requirement(fields: Fields) -> Requirement:
    query = jq_expression(fields, "key")
    operator = fields.choice("operator", _OPERATORS, "")
    values = fields.texts("values")
    if bool(values) != (operator in ("In", "NotIn")):
        raise fields.problem("values", "is required with In and NotIn, and must be empty with Exists and DoesNotExist")
    fields.end()
    return Requirement(query, operator, frozenset(values))
