"""Nodes that are lost and recover, on a whole API server, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

import pytest

from pilotage.meta.conditions import find_status_condition
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars import times
from pilotage.testing.environment import Environment
from pilotage.types.coordination.v1 import Lease, LeaseSpec
from pilotage.types.core.v1 import Container, Node, NodeCondition, NodeStatus, Pod, PodSpec
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, events_of, pass_time

CONTROLLERS = ("node-lifecycle-controller", "kubelet")


@pytest.fixture
async def workloads(pilotage_env: Environment) -> AsyncIterator[Workloads]:
    async with Workloads(pilotage_env.cluster, WorkloadOptions(nodes=2, controllers=CONTROLLERS)) as workloads:
        yield workloads


async def ready_of(env: Environment, name: str) -> tuple[str, str | None, str | None]:
    """Status, reason and message of the condition Ready."""
    node = await env.client.get(Node, name)
    found = find_status_condition(node.status.conditions, "Ready") if node.status is not None else None
    return (found.status, found.reason, found.message) if found is not None else ("", "", "")


async def taints_of(env: Environment, name: str) -> list[tuple[str, str]]:
    node = await env.client.get(Node, name)
    return [(one.key.removeprefix("node.kubernetes.io/"), one.effect) for one in node.spec.taints] if node.spec else []


READY = ("True", "KubeletReady", "kubelet is posting ready status")
UNKNOWN = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
BOTH = [("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]


async def lost_since(env: Environment, name: str, begun: datetime) -> float:
    """How many seconds after a time a node became unreachable."""
    node = await env.client.get(Node, name)
    assert node.status is not None
    found = find_status_condition(node.status.conditions, "Ready")
    assert found is not None
    assert found.last_transition_time is not None
    return (found.last_transition_time - begun).total_seconds()


async def test_a_node_is_registered_and_has_no_taints(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.eventually(lambda: taints_of(env, "node-1"), equals=[])
    text = "Node node-1 event: Registered Node node-1 in Controller"
    wanted = [("Normal", "RegisteredNode", text, "node-controller")]
    await env.eventually(lambda: events_of(env, "Node", "node-1"), equals=wanted)


async def test_a_simulated_node_stays_ready_without_writes(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.eventually(lambda: taints_of(env, "node-1"), equals=[])
    before = (await env.client.get(Node, "node-1")).metadata.resource_version
    await pass_time(env, 3600)
    assert (await env.client.get(Node, "node-1")).metadata.resource_version == before


async def test_a_lost_node_is_unreachable_after_50_seconds(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.eventually(lambda: taints_of(env, "node-1"), equals=[])
    pod = await env.client.create(
        Pod(
            metadata=ObjectMeta(name="web", namespace=NAMESPACE),
            spec=PodSpec(containers=[Container(name="main", image="nginx")], node_name="node-1"),
        )
    )
    await env.eventually(lambda: is_ready(env, "web"), is_=True)
    begun = env.clock()
    workloads.lose_node("node-1")
    await pass_time(env, 45)
    assert await ready_of(env, "node-1") == READY
    await env.eventually(lambda: ready_of(env, "node-1"), equals=UNKNOWN)
    assert 49 <= await lost_since(env, "node-1", begun) <= 51
    await env.eventually(lambda: taints_of(env, "node-1"), equals=BOTH)
    await env.eventually(lambda: is_ready(env, "web"), is_=False)
    not_ready = ("Normal", "NodeNotReady", "Node node-1 status is now: NodeNotReady", "node-controller")
    await env.eventually(lambda: events_of(env, "Node", "node-1"), satisfies=lambda found: not_ready in found)
    told = ("Warning", "NodeNotReady", "Node is not ready", "node-controller")
    await env.eventually(lambda: events_of(env, "Pod", pod.metadata.name), satisfies=lambda found: told in found)
    workloads.recover_node("node-1")
    await env.eventually(lambda: ready_of(env, "node-1"), equals=READY)
    await env.eventually(lambda: taints_of(env, "node-1"), equals=[])


async def is_ready(env: Environment, name: str) -> bool:
    pod = await env.client.get(Pod, name, namespace=NAMESPACE)
    found = find_status_condition(pod.status.conditions, "Ready") if pod.status is not None else None
    return found is not None and found.status == "True"


async def test_no_pod_is_evicted_where_all_nodes_are_lost(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.eventually(lambda: taints_of(env, "node-2"), equals=[])
    workloads.lose_node("node-1")
    await env.eventually(lambda: taints_of(env, "node-1"), equals=BOTH, timeout=120)
    workloads.lose_node("node-2")
    only = [("unreachable", "NoSchedule")]
    await env.eventually(lambda: taints_of(env, "node-2"), equals=only, timeout=120)
    await env.eventually(lambda: taints_of(env, "node-1"), equals=only)
    workloads.recover_node("node-2")
    await env.eventually(lambda: taints_of(env, "node-1"), equals=BOTH)
    await env.eventually(lambda: taints_of(env, "node-2"), equals=[])


async def test_a_node_that_is_cordoned_is_tainted(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.eventually(lambda: taints_of(env, "node-1"), equals=[])
    await env.client.patch(Node, {"spec": {"unschedulable": True}}, name="node-1")
    await env.eventually(lambda: taints_of(env, "node-1"), equals=[("unschedulable", "NoSchedule")])
    await workloads.uncordon_node("node-1")
    await env.eventually(lambda: taints_of(env, "node-1"), equals=[])


async def test_a_node_that_is_not_simulated_lives_by_its_lease(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    ready = NodeCondition(type="Ready", status="True", last_heartbeat_time=env.clock())
    await env.client.create(Node(metadata=ObjectMeta(name="real"), status=NodeStatus(conditions=[ready])))
    spec = LeaseSpec(holder_identity="real", lease_duration_seconds=40, renew_time=times.MicroTime.of(env.clock()))
    await env.client.create(Lease(metadata=ObjectMeta(name="real", namespace="kube-node-lease"), spec=spec))
    for _ in range(6):
        await pass_time(env, 20)
        patch = {"spec": {"renewTime": env.clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
        await env.client.patch(Lease, patch, name="real", namespace="kube-node-lease")
        assert (await ready_of(env, "real"))[0] == "True"
    begun = env.clock()
    await env.eventually(lambda: ready_of(env, "real"), equals=UNKNOWN, timeout=120)
    assert 49 <= await lost_since(env, "real", begun) <= 51


async def test_a_node_that_never_reports_is_unreachable_after_a_minute(
    pilotage_env: Environment, workloads: Workloads
) -> None:
    env = pilotage_env
    await env.client.create(Node(metadata=ObjectMeta(name="silent")))
    begun = env.clock()
    never = ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.")
    await env.eventually(lambda: ready_of(env, "silent"), equals=never, timeout=120)
    assert 58 <= await lost_since(env, "silent", begun) <= 61


async def test_a_node_that_is_deleted_is_forgotten(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.client.create(Node(metadata=ObjectMeta(name="gone")))
    await env.eventually(lambda: events_of(env, "Node", "gone"), satisfies=bool)
    await env.client.delete(Node, "gone")
    removed = ("Normal", "RemovingNode", "Node gone event: Removing Node gone from Controller", "node-controller")
    await env.eventually(lambda: events_of(env, "Node", "gone"), satisfies=lambda found: removed in found)


async def test_nodes_that_are_lost_together_are_tainted_one_after_the_other(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with Workloads(env.cluster, WorkloadOptions(nodes=4, controllers=CONTROLLERS)) as workloads:
        for name in ("node-1", "node-2", "node-3", "node-4"):
            await env.eventually(lambda name=name: taints_of(env, name), equals=[])  # type: ignore[misc]  # mypy infers no type of a lambda's default
        workloads.lose_node("node-1")
        workloads.lose_node("node-2")

        async def tainted() -> list[int]:
            return sorted([len(await taints_of(env, name)) for name in ("node-1", "node-2")])

        await env.eventually(tainted, equals=[1, 2], timeout=120)
        await pass_time(env, 8)
        assert await tainted() == [1, 2]
        await env.eventually(tainted, equals=[2, 2])
