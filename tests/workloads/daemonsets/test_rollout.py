"""Rolling updates: the behaviours of Kubernetes' update_test.go, by the names of its tests."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pilotage.types.core.v1 import Taint, Toleration
from pilotage.workloads.daemonsets.placement import HASH_LABEL, surge_count, unavailable_count
from tests.workloads.daemonsets.simulation import Simulation, daemon_set, node, rolling, running, simulation

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def syncs(made: Simulation, *expected: tuple[int, int]) -> None:
    """Reconcile, and compare how many Pods are created and deleted each time."""
    assert [made.sync() for _ in expected] == list(expected)


def test_updates_pods() -> None:
    made = running()
    made.update("second", rolling(2))
    for count in (2, 2, 1):
        syncs(made, (0, count), (count, 0))
        made.set_ready()
    syncs(made, (0, 0))


def test_updates_pods_with_max_surge() -> None:
    made = running()
    made.update("second", rolling(max_surge=2))
    for creates, deletes in ((2, 0), (2, 2), (1, 2), (0, 1)):
        syncs(made, (creates, deletes), (0, 0))
        made.set_ready()


def test_updates_pods_not_match_taints_with_max_surge() -> None:
    tolerations = [Toleration(key=CONTROL_PLANE, operator="Exists")]
    nodes = [node("node-0", Taint(key=CONTROL_PLANE, effect="NoSchedule")), *(node(f"node-{n}") for n in range(1, 5))]
    made = Simulation(daemon_set(rolling(max_surge=1), tolerations), nodes)
    syncs(made, (5, 0))
    made.set_ready()
    assert made.owner.spec.template.spec is not None
    made.owner.spec.template.spec.tolerations = []
    made.hash = "second"
    for creates, deletes in ((1, 1), (1, 1), (1, 1), (1, 1), (0, 1)):
        syncs(made, (creates, deletes), (0, 0))
        made.set_ready()


def test_updates_when_new_pod_is_not_ready() -> None:
    made = running()
    made.update("second", rolling(3))
    syncs(made, (0, 3), (3, 0), (0, 0))


def test_updates_some_old_pods_not_ready() -> None:
    made = running()
    made.update("second", rolling(2))
    syncs(made, (0, 2), (2, 0), (0, 0))
    made.hash = "third"
    syncs(made, (0, 2), (2, 0), (0, 0))
    assert sum(pod.is_ready for pod in made.pods.values()) == 3


def ready_names(made: Simulation) -> set[str]:
    return {name for name, pod in made.pods.items() if pod.is_ready}


def test_updates_save_old_healthy_pods() -> None:
    made = running(20)
    made.update("second", rolling(10))
    syncs(made, (0, 10), (10, 0), (0, 0))
    kept = ready_names(made)
    for most in range(10):
        made.update(f"third-{most}", rolling(most))
        syncs(made, (0, 10), (10, 0), (0, 0))
        assert ready_names(made) == kept
    made.update("fourth", rolling(11))
    syncs(made, (0, 11), (11, 0), (0, 0))
    assert len(ready_names(made)) == 9


def test_updates_all_old_not_ready_pods_and_new_not_ready_pods() -> None:
    made = running(100)
    made.update("second", rolling(10))
    made.pods.clear()
    for number in range(100):
        made.add(f"node-{number}", "first" if number < 12 else "second", ready=number < 10)
    old = {name for name, pod in made.pods.items() if pod.labels[HASH_LABEL] == "first" and not pod.is_ready}
    syncs(made, (0, 2), (2, 0), (0, 0))
    assert not old & made.pods.keys()


def test_updates_all_old_pods_not_ready() -> None:
    made = running(ready=False)
    made.update("second", rolling(3))
    syncs(made, (0, 5), (5, 0), (0, 0))


def test_updates_all_old_pods_not_ready_max_surge() -> None:
    made = running(ready=False)
    made.update("second", rolling(max_surge=3))
    syncs(made, (5, 0), (0, 5))
    made.set_ready()
    made.owner.spec.min_ready_seconds = 15
    made.hash = "third"
    made.now += timedelta(seconds=100)
    syncs(made, (3, 0))
    updated = {pod.node for pod in made.pods.values() if pod.labels[HASH_LABEL] == "third"}
    made.set_ready(2, lambda pod: pod.labels[HASH_LABEL] == "third")
    made.set_ready(1, lambda pod: pod.node not in updated, ready=False)
    made.now += timedelta(seconds=10)
    syncs(made, (1, 0))
    made.now += timedelta(seconds=10)
    syncs(made, (1, 3))
    made.set_ready(3, lambda pod: pod.labels[HASH_LABEL] == "third")
    made.now += timedelta(seconds=20)
    syncs(made, (0, 2), (0, 0))


def test_updates_no_template_changed() -> None:
    made = running(ready=False)
    made.update("first", rolling(3))
    syncs(made, (0, 0))


@pytest.mark.parametrize(
    ("max_surge", "max_unavailable", "nodes", "surge", "unavailable"),
    [
        (0, 0, 0, 0, 0),
        (0, 1, 2, 0, 1),
        (0, "50%", 2, 0, 1),
        ("50%", 0, 2, 1, 0),
        ("100%", 0, 2, 2, 0),
        (0, "50%", 3, 0, 2),
    ],
)
def test_get_unavailable_numbers(
    max_surge: int | str, max_unavailable: int | str, nodes: int, surge: int, unavailable: int
) -> None:
    owner = daemon_set(rolling(max_unavailable, max_surge))
    assert (surge_count(owner, nodes), unavailable_count(owner, nodes)) == (surge, unavailable)


def test_without_surge_and_unavailability_one_pod_at_a_time_is_replaced() -> None:
    made = running(2)
    made.update("second", rolling(0))
    syncs(made, (0, 1), (1, 0), (0, 0))


def test_a_pod_that_is_being_deleted_counts_as_unavailable() -> None:
    made = simulation(rolling(1), nodes=2)
    made.hash = "second"
    made.add("node-0", ready=True)
    made.add("node-1", ready=True, deleted=True)
    syncs(made, (0, 0))
