"""Kubernetes' own tables of tests for the rules of its scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from pilotage.workloads.scheduling.decisions import Outcome, Situation, choose
from pilotage.workloads.scheduling.filters import FITS, verdict_of
from pilotage.workloads.scheduling.placement import NodeInfo, Placement
from pilotage.workloads.scheduling.preemption import PREFIX, preempt
from pilotage.workloads.scheduling.relations import Relations
from pilotage.workloads.scheduling.requirements import Verdict
from tests.workloads.scheduling.tables import NOT_APPLICABLE, Row, names, placement_of, pod_info, rows

RANDOM = Random(0)
NODE = {"metadata": {"name": "node"}}
LARGE = {
    "cpu": "10m",
    "memory": "20",
    "pods": "32",
    "example.com/aaa": "5",
    "ephemeral-storage": "20",
    "hugepages-2Mi": "5",
}


def named(row: Row) -> str:
    return str(row["name"])


def code(verdict: Verdict) -> str:
    if verdict is FITS:
        return "Success"
    return "Unschedulable" if verdict.is_resolvable else "UnschedulableAndUnresolvable"


def check(verdict: Verdict, wanted: Row | None) -> None:
    """Compare a verdict with a status of a table."""
    assert code(verdict) == (wanted["code"] if wanted else "Success")
    assert sorted(verdict.reasons) == sorted((wanted or {}).get("reasons", ()))


def node_with(pods: Iterable[Row], allocatable: Row) -> NodeInfo:
    placed = [pod | {"spec": pod.get("spec", {}) | {"nodeName": "node"}} for pod in pods]
    return placement_of([NODE], placed, allocatable).nodes["node"]


@pytest.mark.parametrize("row", rows("testEnoughRequests", "testStorageRequests"), ids=named)
def test_resources_are_enough_or_not(row: Row) -> None:
    node = node_with(row["nodeInfo"].get("pods", ()), LARGE)
    check(verdict_of(pod_info(row["pod"]).requirements, node), row.get("wantStatus"))


@pytest.mark.parametrize("row", rows("testNotEnoughRequests"), ids=named)
def test_a_node_has_room_for_a_number_of_pods(row: Row) -> None:
    sizes = {"cpu": "10m", "memory": "20", "pods": "1"}
    node = node_with(row["nodeInfo"].get("pods", ()), sizes)
    check(verdict_of(pod_info(row["pod"]).requirements, node), row.get("wantStatus"))


@pytest.mark.parametrize("row", rows("testRestartableInitContainers"), ids=named)
def test_sidecars_count_together_with_containers(row: Row) -> None:
    node = node_with((), {"cpu": "2m", "memory": "0", "pods": "1"})
    check(verdict_of(pod_info(row["pod"]).requirements, node), row.get("wantFilterStatus"))


@pytest.mark.parametrize("row", rows("TestNodePorts"), ids=named)
def test_host_ports_are_free_or_not(row: Row) -> None:
    node = node_with(row["nodeInfo"].get("pods", ()), {})
    check(verdict_of(pod_info(row["pod"]).requirements, node), row.get("wantFilterStatus"))


@pytest.mark.parametrize(
    "row",
    rows("TestNodeUnschedulable", "TestTaintTolerationFilter", "TestTaintTolerationFilterWithFeatureGate"),
    ids=named,
)
def test_taints_are_tolerated_or_not(row: Row) -> None:
    node = row["node"] | {"metadata": {"name": "node"}}
    found = placement_of([node], ()).nodes["node"]
    check(verdict_of(pod_info(row["pod"]).requirements, found), row.get("wantStatus"))


@pytest.mark.parametrize("row", rows("TestNodeAffinity"), ids=named)
def test_a_node_is_selected_or_not(row: Row) -> None:
    name = row.get("nodeName") or "node"
    node = {"metadata": {"name": name, "labels": row.get("labels", {})}}
    needs = pod_info(row["pod"]).requirements
    check(verdict_of(needs, placement_of([node], ()).nodes[name]), row.get("wantStatus"))
    wanted = row.get("wantPreFilterResult")
    conflict = row.get("wantPreFilterStatus", {}).get("code") == "UnschedulableAndUnresolvable"
    assert needs.only_nodes == (frozenset() if conflict else frozenset(wanted["NodeNames"]) if wanted else None)


@pytest.mark.parametrize("row", rows("TestSingleConstraint", "TestMultipleConstraints"), ids=named)
def test_pods_are_spread_over_domains(row: Row) -> None:
    placement = placement_of(row["nodes"], row.get("existingPods", ()))
    relations = Relations(pod_info(row["pod"]), placement)
    found = {name: code(relations.verdict(node)) for name, node in placement.nodes.items()}
    assert found == row["wantStatusCode"]


def with_teams(placement: Placement) -> Placement:
    """The namespaces of the tables, with their labels."""
    for sub in ("subteam1", "subteam2"):
        for team in ("team1", "team2"):
            placement.namespaces[f"{sub}.{team}"] = {"team": team}
    return placement


@pytest.mark.parametrize("row", rows("TestRequiredAffinitySingleNode"), ids=named)
def test_pods_are_near_or_apart_on_one_node(row: Row) -> None:
    placement = with_teams(placement_of([row["node"]], row.get("pods", ())))
    check(Relations(pod_info(row["pod"]), placement).verdict(placement.nodes["node1"]), row.get("wantFilterStatus"))


@pytest.mark.parametrize("row", rows("TestRequiredAffinityMultipleNodes"), ids=named)
def test_pods_are_near_or_apart_on_several_nodes(row: Row) -> None:
    placement = with_teams(placement_of(row["nodes"], row.get("pods", ())))
    relations = Relations(pod_info(row["pod"]), placement)
    for index, name in enumerate(placement.nodes):
        wanted = row.get("wantFilterStatuses") or [None] * len(placement.nodes)
        check(relations.verdict(placement.nodes[name]), wanted[index])


@pytest.mark.parametrize("row", rows("TestPostFilter"), ids=named)
def test_preemption_makes_room_or_says_why_not(row: Row) -> None:
    placement = placement_of(row["nodes"], row.get("pods", ()))
    situation = Situation(pod_info(row["pod"], 99), placement)
    outcome = Outcome(verdicts={name: Verdict(("given",)) for name in placement.nodes})
    plan = preempt(situation, outcome, "")
    assert plan.node == row["wantResult"]["NominatedNodeName"]
    wanted = row["wantStatus"].get("reasons")
    assert plan.message == ((PREFIX + wanted[0].removeprefix("preemption: ")) if wanted else "")


@pytest.mark.parametrize("row", rows("TestSelectBestCandidate"), ids=named)
def test_preemption_chooses_the_node_where_it_costs_least(row: Row) -> None:
    nodes = [{"metadata": {"name": name}} for name in row["nodeNames"]]
    placement = placement_of(nodes, row.get("pods", ()), {"cpu": "500m", "memory": "500", "pods": "32"})
    situation = Situation(pod_info(row["pod"], 99), placement)
    outcome = choose(situation, "", RANDOM)
    assert not outcome.node
    assert preempt(situation, outcome, "").node in row["expected"]


@pytest.mark.parametrize("row", rows("TestPodEligibleToPreemptOthers"), ids=named)
def test_a_pod_may_preempt_others_or_not(row: Row) -> None:
    nodes = [{"metadata": {"name": name}} for name in row.get("nodes", ())]
    placement = placement_of(nodes, row.get("pods", ()))
    for pod in row.get("pods", ()):
        if any(one.get("reason") == "PreemptionByScheduler" for one in pod["status"].get("conditions", ())):
            placement.preempted.add(pod["metadata"]["uid"])
    status = row.get("nominatedNodeStatus")
    verdicts = {"node1": Verdict(tuple(status["reasons"]), status["code"] == "Unschedulable")} if status else {}
    situation = Situation(pod_info(row["pod"], 99), placement)
    nominated = row["pod"].get("status", {}).get("nominatedNodeName", "")
    plan = preempt(situation, Outcome(verdicts=verdicts), nominated)
    assert ("not eligible" not in plan.message) == row.get("expected", False)


def test_each_row_that_does_not_apply_exists() -> None:
    for table, left_out in NOT_APPLICABLE.items():
        assert left_out.keys() <= names(table)
