from __future__ import annotations

import pytest

from pilotage.types.core.v1 import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from pilotage.workloads.nodes.matching import first_untolerated, node_selector_matches, preference, tolerates

TAINT = Taint(key="gpu", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(key="gpu", value="yes"), True),
        (Toleration(key="gpu", operator="Equal", value="yes", effect="NoSchedule"), True),
        (Toleration(key="gpu", operator="Equal", value="no"), False),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="cpu", operator="Exists"), False),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="gpu", operator="Gt", value="1"), False),
        (Toleration(key="gpu"), False),
    ],
)
def test_a_toleration_is_compared_by_effect_key_and_value(toleration: Toleration, expected: bool) -> None:
    assert tolerates([TAINT], [toleration], ["NoSchedule"]) is expected


def test_a_toleration_without_a_value_tolerates_a_taint_without_one() -> None:
    assert tolerates([Taint(key="gpu", effect="NoSchedule")], [Toleration(key="gpu")], ["NoSchedule"])


def test_only_taints_with_the_effects_count() -> None:
    soft = Taint(key="slow", effect="PreferNoSchedule")
    assert tolerates([soft], [], ["NoSchedule", "NoExecute"])
    assert first_untolerated([soft, TAINT], [], ["NoSchedule", "NoExecute"]) == TAINT


def requirement(operator: str, *values: str, key: str = "zone") -> NodeSelectorRequirement:
    return NodeSelectorRequirement(key=key, operator=operator, values=list(values))


def spec(*terms: NodeSelectorTerm) -> PodSpec:
    required = NodeSelector(node_selector_terms=list(terms))
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    return PodSpec(containers=[], affinity=Affinity(node_affinity=affinity))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (requirement("In", "a", "b"), True),
        (requirement("In", "b"), False),
        (requirement("In"), False),
        (requirement("NotIn", "b"), True),
        (requirement("NotIn", "a"), False),
        (requirement("NotIn", "a", key="other"), True),
        (requirement("Exists"), True),
        (requirement("Exists", "a"), False),
        (requirement("DoesNotExist"), False),
        (requirement("DoesNotExist", key="other"), True),
        (requirement("Gt", "3", key="cores"), True),
        (requirement("Gt", "4", key="cores"), False),
        (requirement("Lt", "5", key="cores"), True),
        (requirement("Lt", "x", key="cores"), False),
        (requirement("Lt", "5"), False),
        (requirement("Lt", "5", key="other"), False),
        (requirement("Like", "a"), False),
    ],
)
def test_a_requirement_is_compared_with_the_labels_of_the_node(one: NodeSelectorRequirement, expected: bool) -> None:
    labels = {"zone": "a", "cores": "4"}
    assert node_selector_matches(spec(NodeSelectorTerm(match_expressions=[one])), "node-1", labels) is expected


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (requirement("In", "node-1", key="metadata.name"), True),
        (requirement("In", "node-2", key="metadata.name"), False),
        (requirement("NotIn", "node-2", key="metadata.name"), True),
        (requirement("In", "node-1", "node-2", key="metadata.name"), False),
        (requirement("Exists", key="metadata.name"), False),
    ],
)
def test_a_field_is_the_name_of_the_node(one: NodeSelectorRequirement, expected: bool) -> None:
    assert node_selector_matches(spec(NodeSelectorTerm(match_fields=[one])), "node-1", {}) is expected


def test_one_term_must_match_with_all_its_requirements() -> None:
    both = NodeSelectorTerm(match_expressions=[requirement("In", "a"), requirement("Exists", key="disk")])
    other = NodeSelectorTerm(match_expressions=[requirement("In", "c")])
    assert not node_selector_matches(spec(both, other), "node-1", {"zone": "a"})
    assert node_selector_matches(spec(both, other), "node-1", {"zone": "c"})


def test_no_term_and_an_empty_term_match_nothing() -> None:
    assert not node_selector_matches(spec(), "node-1", {})
    assert not node_selector_matches(spec(NodeSelectorTerm()), "node-1", {})


def test_the_node_selector_and_the_affinity_must_both_match() -> None:
    pod = spec(NodeSelectorTerm(match_expressions=[requirement("Exists")]))
    pod.node_selector = {"disk": "ssd"}
    assert not node_selector_matches(pod, "node-1", {"zone": "a"})
    assert not node_selector_matches(pod, "node-1", {"disk": "ssd"})
    assert node_selector_matches(pod, "node-1", {"zone": "a", "disk": "ssd"})


def test_the_preference_is_the_sum_of_the_weights_of_matching_terms() -> None:
    terms = [
        PreferredSchedulingTerm(weight=5, preference=NodeSelectorTerm(match_expressions=[requirement("In", "a")])),
        PreferredSchedulingTerm(weight=7, preference=NodeSelectorTerm(match_expressions=[requirement("Exists")])),
        PreferredSchedulingTerm(weight=9, preference=NodeSelectorTerm(match_expressions=[requirement("In", "b")])),
        PreferredSchedulingTerm(weight=11, preference=NodeSelectorTerm()),
    ]
    assert preference(terms, "node-1", {"zone": "a"}) == 12
