"""Which Pods are created and deleted: the behaviours of Kubernetes' daemon_controller_test.go, by the names of its
tests."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from pilotage.types.apps.v1 import DaemonSet, DaemonSetStatus, DaemonSetUpdateStrategy
from pilotage.types.core.v1 import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Taint,
    Toleration,
)
from pilotage.workloads.daemonsets.placement import Placement
from pilotage.workloads.daemonsets.plan import next_plan
from pilotage.workloads.daemonsets.status import next_status
from tests.workloads.daemonsets.simulation import NOON, Simulation, daemon_set, node, rolling, simulation

ON_DELETE = DaemonSetUpdateStrategy(type="OnDelete")
STRATEGIES = pytest.mark.parametrize("strategy", [ON_DELETE, rolling(1), rolling(max_surge=1)])
NO_SCHEDULE, NO_EXECUTE = Taint(key="dedicated", effect="NoSchedule"), Taint(key="dedicated", effect="NoExecute")
SSD = {"disk": "ssd"}


@STRATEGIES
def test_simple_daemon_set_launches_pods(strategy: DaemonSetUpdateStrategy) -> None:
    assert simulation(strategy).sync() == (5, 0)


@STRATEGIES
def test_no_nodes_does_nothing(strategy: DaemonSetUpdateStrategy) -> None:
    assert simulation(strategy, nodes=0).sync() == (0, 0)


@STRATEGIES
def test_simple_daemon_set_updates_status_after_launching_pods(strategy: DaemonSetUpdateStrategy) -> None:
    made = simulation(strategy)
    made.sync()
    status = next_status(made.observe())
    assert (status.desired_number_scheduled, status.current_number_scheduled) == (5, 5)
    assert (status.updated_number_scheduled, status.number_ready, status.number_unavailable) == (5, 0, 5)


@STRATEGIES
def test_deals_with_existing_pods(strategy: DaemonSetUpdateStrategy) -> None:
    made = simulation(strategy)
    for name, count in (("node-1", 1), ("node-2", 2), ("node-3", 5)):
        for _ in range(count):
            made.add(name)
    assert made.sync() == (2, 5)


@STRATEGIES
def test_selector_daemon_launches_pods_and_deletes_unselected_pods(strategy: DaemonSetUpdateStrategy) -> None:
    made = Simulation(daemon_set(strategy, disk="ssd"))
    for number in range(7):
        made.nodes[f"node-{number}"] = node(f"node-{number}", **(SSD if number >= 4 else {}))
    for name, count in (("node-0", 1), ("node-1", 3), ("node-4", 1)):
        for _ in range(count):
            made.add(name)
    plan = made.plan()
    assert sorted(plan.create) == ["node-5", "node-6"]
    assert {pod.node for pod in plan.delete} == {"node-0", "node-1"}
    assert len(plan.delete) == 4


def named(owner: DaemonSet, name: str) -> DaemonSet:
    assert owner.spec.template.spec is not None
    owner.spec.template.spec.node_name = name
    return owner


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("node-0", {}, ["node-0"]),
        ("node-10", {}, []),
        ("node-4", SSD, ["node-4"]),
        ("node-0", SSD, []),
    ],
)
def test_name_daemon_set_launches_pods(name: str, labels: dict[str, str], expected: list[str]) -> None:
    made = Simulation(named(daemon_set(None, (), **labels), name))
    for number in range(6):
        made.nodes[f"node-{number}"] = node(f"node-{number}", **(SSD if number >= 4 else {}))
    assert made.plan().create == expected


def with_affinity(value: str) -> DaemonSet:
    owner = daemon_set()
    requirement = NodeSelectorRequirement(key="type", operator="In", values=[value])
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[requirement])])
    assert owner.spec.template.spec is not None
    affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=required)
    owner.spec.template.spec.affinity = Affinity(node_affinity=affinity)
    return owner


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (daemon_set(), (True, True)),
        (named(daemon_set(), "other-node"), (False, False)),
        (daemon_set(type="test"), (False, False)),
        (daemon_set(type="production"), (True, True)),
        (with_affinity("test"), (False, False)),
        (with_affinity("production"), (True, True)),
    ],
)
def test_node_should_run_daemon_pod(owner: DaemonSet, expected: tuple[bool, bool]) -> None:
    assert Placement(owner).fit(node(type="production")) == expected
    unschedulable = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    assert Placement(owner).fit(node("node-0", unschedulable, type="production")) == expected


@pytest.mark.parametrize(
    ("taint", "tolerations", "expected"),
    [
        (NO_SCHEDULE, [], (False, True)),
        (NO_EXECUTE, [], (False, False)),
        (NO_SCHEDULE, [Toleration(key="dedicated", operator="Exists")], (True, True)),
        (Taint(key="dedicated", effect="PreferNoSchedule"), [], (True, True)),
        (Taint(key="node.kubernetes.io/not-ready", effect="NoExecute"), [], (True, True)),
        (Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule"), [], (False, True)),
        (Taint(key="node.kubernetes.io/unreachable", effect="NoExecute"), [], (True, True)),
        (Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule"), [], (True, True)),
        (Taint(key="node.kubernetes.io/disk-pressure", effect="NoSchedule"), [], (True, True)),
        (Taint(key="node.kubernetes.io/pid-pressure", effect="NoSchedule"), [], (True, True)),
        (Taint(key="node.kubernetes.io/network-unavailable", effect="NoSchedule"), [], (False, True)),
    ],
)
def test_tainted_node(taint: Taint, tolerations: list[Toleration], expected: tuple[bool, bool]) -> None:
    assert Placement(daemon_set(None, tolerations)).fit(node("node-0", taint)) == expected


def test_network_unavailable_node_daemon_launches_pod_on_the_host_network() -> None:
    owner = daemon_set()
    assert owner.spec.template.spec is not None
    owner.spec.template.spec.host_network = True
    unavailable = Taint(key="node.kubernetes.io/network-unavailable", effect="NoSchedule")
    assert Placement(owner).fit(node("node-0", unavailable)).should_run


@STRATEGIES
@pytest.mark.parametrize(("taint", "deletes"), [(NO_SCHEDULE, 0), (NO_EXECUTE, 1)])
def test_a_taint_evicts_running_pods_that_do_not_tolerate_it(
    strategy: DaemonSetUpdateStrategy, taint: Taint, deletes: int
) -> None:
    made = simulation(strategy, nodes=0)
    made.nodes["node-0"] = node("node-0", taint)
    made.add("node-0")
    assert made.sync() == (0, deletes)


@STRATEGIES
def test_number_ready_status(strategy: DaemonSetUpdateStrategy) -> None:
    made = simulation(strategy, nodes=2)
    made.sync()
    assert next_status(made.observe()).number_ready == 0
    made.set_ready()
    assert next_status(made.observe()).number_ready == 2


def test_observed_generation() -> None:
    made = simulation(nodes=1)
    made.owner.metadata.generation = 7
    assert next_status(made.observe()).observed_generation == 7


@STRATEGIES
@pytest.mark.parametrize(
    ("failed", "normal", "deletes", "events"), [(0, 1, 0, 0), (0, 0, 0, 0), (5, 0, 5, 5), (2, 1, 2, 2)]
)
def test_daemon_kill_failed_pods(
    strategy: DaemonSetUpdateStrategy, failed: int, normal: int, deletes: int, events: int
) -> None:
    made = simulation(strategy, nodes=1)
    for _ in range(failed):
        made.add("node-0", phase="Failed")
    for _ in range(normal):
        made.add("node-0")
    plan = made.plan()
    assert (len(plan.delete), len(plan.ended)) == (deletes, events)


def test_daemon_kill_failed_pods_backoff() -> None:
    made = simulation(nodes=1)
    made.add("node-0", phase="Failed")
    assert made.plan(lambda name: False).is_empty
    made.add("node-0", phase="Succeeded")
    assert [one.pod.phase for one in made.plan(lambda name: False).ended] == ["Succeeded"]


@STRATEGIES
def test_daemon_set_respects_termination(strategy: DaemonSetUpdateStrategy) -> None:
    made = simulation(strategy, nodes=1)
    made.add("node-0", deleted=True)
    surge = strategy.rolling_update is not None and strategy.rolling_update.max_surge == 1
    assert made.sync() == ((1, 0) if surge else (0, 0))


def test_delete_unscheduled_pod_for_not_existing_node() -> None:
    made = simulation(nodes=2)
    for name in ("node-0", "node-1", "node-2"):
        made.add(name)
    waiting = made.add("node-3")
    seen = made.observe()
    unscheduled = replace(waiting, node="")
    made.nodes.clear()
    pods = {**seen.pods, "node-3": [unscheduled]}
    plan = next_plan(replace(seen, pods=pods), lambda name: True)
    assert plan.delete == [unscheduled]


def surging() -> Simulation:
    """A node with a new Pod, and others with none."""
    made = simulation(rolling(max_surge=1))
    made.hash = "second"
    made.add("node-2", "second")
    return made


def test_surge_preserves_ready_old_pods() -> None:
    made = surging()
    made.add("node-1", "second")
    made.add("node-1", ready=True, age=50)
    excess = made.add("node-1", ready=True, age=40)
    plan = made.plan()
    assert (len(plan.create), list(plan.delete)) == (3, [excess])


def test_surge_creates_new_pod_when_at_max_surge_and_old_pod_deleted() -> None:
    made = simulation(rolling(max_surge=1))
    made.hash = "second"
    made.add("node-0", "second")
    made.add("node-0", ready=True, age=50)
    for number in range(1, 5):
        made.add(f"node-{number}", ready=True, age=100, deleted=number == 4)
    assert made.sync() == (1, 0)


def test_surge_deletes_unready_old_pods() -> None:
    made = surging()
    made.add("node-1", "second")
    unready = made.add("node-1", age=50)
    excess = made.add("node-1", ready=True, age=40)
    plan = made.plan()
    assert (len(plan.create), {pod.name for pod in plan.delete}) == (3, {unready.name, excess.name})


@pytest.mark.parametrize(("seconds", "is_deleted"), [(10, False), (20, True)])
def test_surge_and_min_ready(seconds: int, is_deleted: bool) -> None:
    made = surging()
    made.owner.spec.min_ready_seconds = 15
    made.add("node-1", "second", ready=True, ready_since=NOON - timedelta(seconds=seconds))
    old = made.add("node-1", ready=True, age=50)
    excess = made.add("node-1", ready=True, age=40)
    expected = {old.name, excess.name} if is_deleted else {excess.name}
    assert {pod.name for pod in made.plan().delete} == expected


def test_of_several_pods_on_a_node_the_scheduled_and_oldest_one_stays() -> None:
    made = simulation(nodes=1)
    for age in (10, 30, 20):
        made.add("node-0", age=age)
    assert sorted(pod.name for pod in made.plan().delete) == ["pod-001", "pod-003"]


def test_a_node_that_should_have_no_pod_and_has_one_is_misplaced() -> None:
    made = Simulation(daemon_set(disk="ssd"), [node()])
    made.add("node-0", ready=True)
    status = next_status(made.observe())
    assert (status.number_misscheduled, status.desired_number_scheduled, status.number_ready) == (1, 0, 0)


def test_store_daemon_set_status_keeps_the_collision_count() -> None:
    made = simulation(nodes=0)
    made.owner.status = DaemonSetStatus(
        collision_count=3,
        current_number_scheduled=0,
        desired_number_scheduled=0,
        number_misscheduled=0,
        number_ready=0,
    )
    assert next_status(made.observe()).collision_count == 3
