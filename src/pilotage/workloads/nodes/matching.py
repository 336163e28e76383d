"""Which nodes a Pod may run on: taints and tolerations, node selectors and node affinity."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pilotage.types.core.v1 import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from pilotage.workloads.integers import parse_integer

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"


def tolerates_taint(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether any of the tolerations tolerates the taint."""
    return any(_tolerates(one, taint) for one in tolerations)


def first_untolerated(
    taints: Iterable[Taint], tolerations: Collection[Toleration], effects: Collection[str]
) -> Taint | None:
    """The first taint with one of these effects that no toleration tolerates."""
    for taint in taints:
        if taint.effect in effects and not tolerates_taint(taint, tolerations):
            return taint
    return None


def tolerates(taints: Iterable[Taint], tolerations: Collection[Toleration], effects: Collection[str]) -> bool:
    """Whether all taints with one of these effects are tolerated."""
    return first_untolerated(taints, tolerations, effects) is None


def node_selector_matches(spec: PodSpec, name: str, labels: Mapping[str, str]) -> bool:
    """Whether the node with this name and these labels is one that `nodeSelector` and the required node affinity of a
    Pod select."""
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return required is None or selector_matches(required, name, labels)


def selector_matches(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """Whether any term of the selector matches the node; without a term, none does."""
    return any(term_matches(term, name, labels) for term in selector.node_selector_terms)


def preference(terms: Iterable[PreferredSchedulingTerm], name: str, labels: Mapping[str, str]) -> int:
    """The sum of the weights of the terms that match the node."""
    return sum(term.weight for term in terms if term_matches(term.preference, name, labels))


def term_matches(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    """Whether all requirements of the term match the node; an empty term matches none."""
    if not term.match_expressions and not term.match_fields:
        return False
    # A requirement that is not valid makes its term match nothing, also where another one decides already.
    if not all(_is_valid(one) for one in term.match_expressions):
        return False
    if not all(one.operator in ("In", "NotIn") and len(one.values) == 1 for one in term.match_fields):
        return False
    return all(_label_matches(one, labels) for one in term.match_expressions) and (
        not name or all(_field_matches(one, name) for one in term.match_fields)
    )


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """The operators Gt and Lt tolerate nothing: their feature gate is off by default."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return (toleration.operator or "Equal") == "Equal" and (toleration.value or "") == (taint.value or "")


def _is_valid(requirement: NodeSelectorRequirement) -> bool:
    match requirement.operator:
        case "In" | "NotIn":
            return bool(requirement.values)
        case "Exists" | "DoesNotExist":
            return not requirement.values
        case "Gt" | "Lt":
            return len(requirement.values) == 1 and parse_integer(requirement.values[0]) is not None
        case _:
            return False


def _label_matches(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            return value is not None and _compares(operator, parse_integer(value), parse_integer(requirement.values[0]))


def _compares(operator: str, value: int | None, bound: int | None) -> bool:
    if value is None or bound is None:
        return False
    return value > bound if operator == "Gt" else value < bound


def _field_matches(requirement: NodeSelectorRequirement, name: str) -> bool:
    value = name if requirement.key == "metadata.name" else ""
    return (value == requirement.values[0]) == (requirement.operator == "In")
