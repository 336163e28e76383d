"""Pods on tainted nodes, on a whole API server, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pilotage.meta.conditions import find_status_condition
from pilotage.meta.models import ObjectMeta
from pilotage.testing.environment import Environment
from pilotage.types.core.v1 import Container, Node, NodeSpec, Pod, PodSpec, Taint, Toleration
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, events_of, pass_time

COMPONENT = "taint-eviction-controller"
NOT_READY = "node.kubernetes.io/not-ready"


@pytest.fixture
async def env(pilotage_env: Environment) -> AsyncIterator[Environment]:
    async with Workloads(pilotage_env.cluster, WorkloadOptions(nodes=0, controllers=(COMPONENT,))):
        await pilotage_env.client.create(Node(metadata=ObjectMeta(name="node-1"), spec=NodeSpec()))
        yield pilotage_env


def taint(number: int = 1) -> Taint:
    return Taint(key=f"test{number}", effect="NoExecute")


def toleration(number: int = 1, seconds: int | None = None) -> Toleration:
    return Toleration(key=f"test{number}", operator="Exists", effect="NoExecute", toleration_seconds=seconds)


async def set_taints(env: Environment, *taints: Taint) -> None:
    node = await env.client.get(Node, "node-1")
    assert node.spec is not None
    node.spec.taints = list(taints)
    await env.client.update(node)


async def add_pod(env: Environment, name: str, *tolerations: Toleration) -> None:
    main = Container(name="main", image="nginx")
    spec = PodSpec(containers=[main], node_name="node-1", tolerations=list(tolerations))
    await env.client.create(Pod(metadata=ObjectMeta(name=name, namespace=NAMESPACE), spec=spec))


async def is_leaving(env: Environment, name: str) -> bool:
    pod = await env.client.find(Pod, name, namespace=NAMESPACE)
    return pod is None or pod.metadata.deletion_timestamp is not None


async def test_a_pod_leaves_a_node_whose_taint_it_does_not_tolerate(env: Environment) -> None:
    await add_pod(env, "web")
    await set_taints(env, taint())
    await env.eventually(lambda: is_leaving(env, "web"), is_=True)
    pod = await env.client.get(Pod, "web", namespace=NAMESPACE)
    assert pod.status is not None
    condition = find_status_condition(pod.status.conditions, "DisruptionTarget")
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == (
        "True",
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    await env.eventually(
        lambda: events_of(env, "Pod", "web"),
        equals=[("Normal", "TaintManagerEviction", "Marking for deletion Pod default/web", COMPONENT)],
    )


async def test_a_pod_that_is_assigned_to_a_tainted_node_leaves_it(env: Environment) -> None:
    await set_taints(env, taint())
    await add_pod(env, "web")
    await env.eventually(lambda: is_leaving(env, "web"), is_=True)


async def test_a_pod_that_tolerates_a_taint_for_ever_stays(env: Environment) -> None:
    await add_pod(env, "stays", toleration())
    await add_pod(env, "leaves")
    await set_taints(env, taint())
    await env.eventually(lambda: is_leaving(env, "leaves"), is_=True)
    await pass_time(env, 3600)
    assert not await is_leaving(env, "stays")


async def test_a_pod_leaves_when_its_toleration_runs_out(env: Environment) -> None:
    await add_pod(env, "web", toleration(seconds=100))
    await set_taints(env, taint())
    await pass_time(env, 98)
    assert not await is_leaving(env, "web")
    await pass_time(env, 3)
    assert await is_leaving(env, "web")


async def test_the_first_toleration_that_runs_out_decides(env: Environment) -> None:
    await add_pod(env, "web", toleration(1, 10), toleration(2, 100))
    await set_taints(env, taint(1), taint(2))
    await pass_time(env, 12)
    assert await is_leaving(env, "web")


async def test_a_pod_stays_when_the_taint_goes_away(env: Environment) -> None:
    await add_pod(env, "web", toleration(seconds=60))
    await set_taints(env, taint())
    await pass_time(env, 30)
    await set_taints(env)
    await env.eventually(
        lambda: events_of(env, "Pod", "web"),
        equals=[("Normal", "TaintManagerEviction", "Cancelling deletion of Pod default/web", COMPONENT)],
    )
    await pass_time(env, 3600)
    assert not await is_leaving(env, "web")


async def test_another_taint_does_not_prolong_the_time(env: Environment) -> None:
    await add_pod(env, "web", toleration(1, 60), toleration(2, 60))
    await set_taints(env, taint(1))
    await pass_time(env, 30)
    await set_taints(env, taint(1), taint(2))
    await pass_time(env, 32)
    assert await is_leaving(env, "web")


async def test_pods_with_different_tolerations_leave_one_after_the_other(env: Environment) -> None:
    for name, seconds in (("first", 10), ("second", 20), ("third", 30)):
        await add_pod(env, name, toleration(seconds=seconds))
    await set_taints(env, taint())
    gone = []
    for _ in range(3):
        await pass_time(env, 11)
        gone.append([name for name in ("first", "second", "third") if await is_leaving(env, name)])
    assert gone == [["first"], ["first", "second"], ["first", "second", "third"]]


async def test_the_server_gives_pods_a_toleration_of_five_minutes(env: Environment) -> None:
    await add_pod(env, "web")
    await set_taints(env, Taint(key=NOT_READY, effect="NoExecute"))
    await pass_time(env, 298)
    assert not await is_leaving(env, "web")
    await pass_time(env, 3)
    assert await is_leaving(env, "web")


async def test_a_pod_that_cannot_end_is_evicted_once(env: Environment) -> None:
    await add_pod(env, "web")
    await set_taints(env, Taint(key=NOT_READY, effect="NoExecute"))
    await pass_time(env, 1000)
    marked = [one for one in await events_of(env, "Pod", "web") if one[1] == "TaintManagerEviction"]
    assert len(marked) == 1


async def test_a_toleration_that_is_added_keeps_a_pod(env: Environment) -> None:
    await add_pod(env, "web", toleration(seconds=60))
    await set_taints(env, taint())
    await pass_time(env, 30)
    pod = await env.client.get(Pod, "web", namespace=NAMESPACE)
    assert pod.spec is not None
    pod.spec.tolerations.insert(0, Toleration(key="test1", operator="Exists"))
    await env.client.update(pod)
    await pass_time(env, 60)
    assert not await is_leaving(env, "web")
