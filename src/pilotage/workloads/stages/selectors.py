"""Which objects a Stage file selects."""

from __future__ import annotations

from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.values import Value
from pilotage.workloads.stages import definitions
from pilotage.workloads.stages.celexpressions import CelExpression, CelFailed
from pilotage.workloads.stages.expressions import cel_expression, jq_expression
from pilotage.workloads.stages.jq.query import Query
from pilotage.workloads.stages.jq.values import Whole


class Requirement(Value, frozen=True):
    """A condition on the outputs of a jq expression."""

    query: Query
    operator: str
    values: frozenset[str]

    def matches(self, document: Any) -> bool:
        """Whether the document meets it. An expression that fails has no outputs. Raises QueryFailed."""
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
        """Whether the object is selected. Raises QueryFailed and CelFailed."""
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


def selector(given: definitions.Selector) -> Selector:
    """The selector of a Stage file. Raises InvalidDefinition."""
    requirements: list[Requirement] = []
    conditions: list[CelExpression] = []
    for index, each in enumerate(given.match_expressions):
        path = f"spec.selector.matchExpressions[{index}]"
        if sum(map(bool, (each.cel, each.jq, each.key))) != 1:
            raise InvalidDefinition(f"{path}: must have one of cel, jq and key")
        if each.cel is not None:
            conditions.append(cel_expression(each.cel, path))
        elif each.jq is not None:
            requirements.append(_requirement(each.jq, f"{path}.jq"))
        else:
            requirements.append(_requirement(each, path))
    return Selector(given.match_labels, given.match_annotations, tuple(requirements), tuple(conditions))


def _requirement(given: definitions.Requirement | definitions.MatchExpression, path: str) -> Requirement:
    if bool(given.values) != (given.operator in ("In", "NotIn")):
        raise InvalidDefinition(
            f"{path}.values: is required with In and NotIn, and must be empty with Exists and DoesNotExist"
        )
    return Requirement(jq_expression(given.key, f"{path}.key"), given.operator, frozenset(given.values))
