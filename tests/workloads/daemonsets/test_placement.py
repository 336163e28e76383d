"""The Pods of a DaemonSet: the behaviours of Kubernetes' daemonset_util_test.go, by the names of its tests."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pilotage.types.core.v1 import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodSpec,
    PreferredSchedulingTerm,
    Toleration,
)
from pilotage.workloads.daemonsets.backoff import FailedPodsBackoff
from pilotage.workloads.daemonsets.placement import (
    affinity_to,
    pod_template,
    target_node,
    template_generation,
    with_daemon_tolerations,
)
from pilotage.workloads.daemonsets.plan import is_updated
from tests.workloads.daemonsets.simulation import LABELS, NOON, daemon_set
from tests.workloads.kit import view

GENERATION = "deprecated.daemonset.template.generation"


def field(operator: str = "In", *values: str, key: str = "metadata.name") -> NodeSelectorTerm:
    requirement = NodeSelectorRequirement(key=key, operator=operator, values=list(values))
    return NodeSelectorTerm(match_fields=[requirement])


def required(*terms: NodeSelectorTerm) -> NodeAffinity:
    return NodeAffinity(
        required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=list(terms))
    )


@pytest.mark.parametrize(
    ("generation", "labels", "hashed", "expected"),
    [
        ("12", {"pod-template-generation": "12"}, "", True),
        ("12", {"pod-template-generation": "12"}, "x", True),
        ("12", {"pod-template-generation": "11", "controller-revision-hash": "x"}, "x", True),
        ("12", {"pod-template-generation": "11", "controller-revision-hash": "y"}, "x", False),
        ("12", {"controller-revision-hash": "y"}, "x", False),
        ("", {"controller-revision-hash": ""}, "", False),
        ("", {"pod-template-generation": "12"}, "x", False),
        ("x", {"pod-template-generation": "x"}, "y", False),
    ],
)
def test_is_pod_updated(generation: str, labels: dict[str, str], hashed: str, expected: bool) -> None:
    owner = daemon_set()
    owner.metadata.annotations = {GENERATION: generation} if generation else {}
    assert is_updated(owner, view(labels=labels), hashed) is expected


@pytest.mark.parametrize("hashed", ["", "123"])
@pytest.mark.parametrize("generation", [None, 1])
def test_create_pod_template(hashed: str, generation: int | None) -> None:
    owner = daemon_set()
    owner.metadata.annotations = {GENERATION: str(generation)} if generation is not None else {}
    assert template_generation(owner) == generation
    template = pod_template(owner, hashed)
    expected = dict(LABELS)
    if generation is not None:
        expected["pod-template-generation"] = "1"
    if hashed:
        expected["controller-revision-hash"] = hashed
    assert template.metadata is not None
    assert template.metadata.labels == expected
    assert owner.spec.template.metadata is not None
    assert owner.spec.template.metadata.labels == LABELS


def test_a_toleration_that_there_is_already_is_replaced_and_others_stay() -> None:
    own = Toleration(key="node.kubernetes.io/not-ready", operator="Exists", effect="NoExecute", toleration_seconds=5)
    found = with_daemon_tolerations([Toleration(key="a"), own], host_network=True)
    assert [one.key for one in found] == [
        "a",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/network-unavailable",
    ]
    assert found[1].toleration_seconds is None


PREFERRED = PreferredSchedulingTerm(weight=1, preference=NodeSelectorTerm())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, Affinity(node_affinity=required(field("In", "host_1")))),
        (Affinity(), Affinity(node_affinity=required(field("In", "host_1")))),
        (
            Affinity(node_affinity=required(NodeSelectorTerm(), field("In", "host_2"))),
            Affinity(node_affinity=required(field("In", "host_1"))),
        ),
        (
            Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=[PREFERRED])),
            Affinity(
                node_affinity=NodeAffinity(
                    preferred_during_scheduling_ignored_during_execution=[PREFERRED],
                    required_during_scheduling_ignored_during_execution=NodeSelector(
                        node_selector_terms=[field("In", "host_1")]
                    ),
                )
            ),
        ),
        (
            Affinity(pod_affinity=PodAffinity()),
            Affinity(pod_affinity=PodAffinity(), node_affinity=required(field("In", "host_1"))),
        ),
    ],
)
def test_replace_daemon_set_pod_node_name_node_affinity(given: Affinity | None, expected: Affinity) -> None:
    assert affinity_to("host_1", given) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PodSpec(containers=[], node_name="node-1"), "node-1"),
        (PodSpec(containers=[], affinity=Affinity(node_affinity=required(field("In", "node-2")))), "node-2"),
        (PodSpec(containers=[], affinity=Affinity(node_affinity=required(field("In", "a", "b")))), ""),
        (PodSpec(containers=[], affinity=Affinity(node_affinity=required(field("NotIn", "a")))), ""),
        (PodSpec(containers=[], affinity=Affinity(node_affinity=required(field("In", "a", key="x")))), ""),
        (PodSpec(containers=[], affinity=Affinity(node_affinity=required())), ""),
        (PodSpec(containers=[]), ""),
    ],
)
def test_get_target_node_name(spec: PodSpec, expected: str) -> None:
    assert target_node(Pod(spec=spec)) == expected


def test_the_delay_of_failed_pods_doubles_up_to_fifteen_minutes_and_is_forgotten() -> None:
    backoff, now, delays = FailedPodsBackoff(), NOON, []
    for _ in range(13):
        assert backoff.delay("key", now) is None
        backoff.next("key", now)
        delay = backoff.delay("key", now)
        assert delay is not None
        delays.append(delay.total_seconds())
        now += delay
    assert delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]
    assert backoff.delay("other", now) is None
    backoff.next("key", now + timedelta(hours=1))
    assert backoff.delay("key", now + timedelta(hours=1)) == timedelta(seconds=1)
