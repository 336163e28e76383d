"""ReplicaSets on a whole API server, in virtual time; the kubelet is played by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pilotage.meta.models import ObjectMeta, OwnerReference
from pilotage.meta.owners import set_controller_reference
from pilotage.meta.scalars.quantity import Quantity
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import ReplicaSet, ReplicaSetSpec, ReplicaSetStatus
from pilotage.types.core.v1 import (
    Binding,
    ConfigMap,
    ObjectReference,
    Pod,
    ReplicationController,
    ReplicationControllerSpec,
    ResourceQuota,
    ResourceQuotaSpec,
)
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, events_of, make_all_ready, pass_time, selecting, set_running, template

LABELS = {"app": "web"}
CONTROLLERS = ("replicaset-controller", "replicationcontroller-controller")


@pytest.fixture
async def env(pilotage_env: Environment) -> AsyncIterator[Environment]:
    async with Workloads(pilotage_env.cluster, WorkloadOptions(controllers=CONTROLLERS)):
        yield pilotage_env


def replica_set(name: str = "web", replicas: int = 2, **spec: int) -> ReplicaSet:
    return ReplicaSet(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE),
        spec=ReplicaSetSpec(replicas=replicas, selector=selecting(LABELS), template=template(LABELS), **spec),
    )


async def pods_of(env: Environment) -> list[Pod]:
    return list(await env.client.list(Pod, namespace=NAMESPACE))


async def status_of(env: Environment, name: str = "web") -> ReplicaSetStatus:
    found = await env.client.get(ReplicaSet, name, namespace=NAMESPACE)
    return found.status or ReplicaSetStatus(replicas=0)


async def wait_for_pods(env: Environment, count: int) -> list[Pod]:
    return await env.eventually(lambda: pods_of(env), satisfies=lambda pods: len(pods) == count)


async def wait_for_replicas(env: Environment, count: int) -> ReplicaSetStatus:
    return await env.eventually(lambda: status_of(env), satisfies=lambda status: status.replicas == count)


async def test_a_replica_set_gets_its_pods_and_counts_them(env: Environment) -> None:
    owner = await env.client.create(replica_set(replicas=3))
    pods = await wait_for_pods(env, 3)
    for pod in pods:
        assert pod.metadata.generate_name == "web-"
        assert pod.metadata.name.startswith("web-")
        assert pod.metadata.labels == LABELS
        reference = OwnerReference(
            api_version="apps/v1",
            kind="ReplicaSet",
            name="web",
            uid=owner.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )
        assert pod.metadata.owner_references == [reference]
    status = await wait_for_replicas(env, 3)
    assert (status.fully_labeled_replicas, status.ready_replicas, status.available_replicas) == (3, None, None)
    assert (status.terminating_replicas, status.observed_generation, status.conditions) == (0, 1, [])
    await make_all_ready(env, LABELS)
    await env.eventually(lambda: status_of(env), satisfies=lambda status: status.available_replicas == 3)


async def test_events_name_the_pods_that_are_created_and_deleted(env: Environment) -> None:
    owner = await env.client.create(replica_set(replicas=1))
    [pod] = await wait_for_pods(env, 1)
    await env.client.patch(owner, {"spec": {"replicas": 0}})
    await wait_for_pods(env, 0)
    expected = [
        ("Normal", "SuccessfulCreate", f"Created pod: {pod.metadata.name}", "replicaset-controller"),
        ("Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}", "replicaset-controller"),
    ]
    await env.eventually(lambda: events_of(env, "ReplicaSet", "web"), equals=expected)


async def test_a_pod_that_another_program_deletes_is_replaced(env: Environment) -> None:
    await env.client.create(replica_set(replicas=2))
    first, _ = await wait_for_pods(env, 2)
    await env.client.delete(first)
    names = await env.eventually(
        lambda: pods_of(env),
        satisfies=lambda pods: len(pods) == 2 and first.metadata.uid not in [pod.metadata.uid for pod in pods],
    )
    assert names


async def test_pods_that_have_ended_are_replaced_and_stay(env: Environment) -> None:
    await env.client.create(replica_set(replicas=1))
    [pod] = await wait_for_pods(env, 1)
    await env.client.patch_status(pod, {"status": {"phase": "Failed"}})
    await wait_for_pods(env, 2)
    assert (await wait_for_replicas(env, 1)).fully_labeled_replicas == 1


async def test_a_pod_without_a_controller_is_adopted_and_counts(env: Environment) -> None:
    orphan = Pod(metadata=ObjectMeta(name="orphan", namespace=NAMESPACE, labels=LABELS), spec=template(LABELS).spec)
    await env.client.create(orphan)
    await env.client.create(replica_set(replicas=1))
    adopted = await env.eventually(
        lambda: env.client.get(Pod, "orphan", namespace=NAMESPACE), satisfies=lambda pod: pod.metadata.owner_references
    )
    assert adopted.metadata.owner_references[0].name == "web"
    await wait_for_replicas(env, 1)
    assert [pod.metadata.name for pod in await pods_of(env)] == ["orphan"]


async def test_a_pod_that_appears_later_is_adopted_and_one_too_many_is_deleted(env: Environment) -> None:
    await env.client.create(replica_set(replicas=1))
    [pod] = await wait_for_pods(env, 1)
    await make_all_ready(env, LABELS)
    orphan = Pod(metadata=ObjectMeta(name="orphan", namespace=NAMESPACE, labels=LABELS), spec=template(LABELS).spec)
    await env.client.create(orphan)
    await wait_for_pods(env, 1)
    assert [each.metadata.name for each in await pods_of(env)] == [pod.metadata.name]  # pending Pods are deleted first


async def test_a_pod_whose_labels_change_is_released_and_replaced(env: Environment) -> None:
    await env.client.create(replica_set(replicas=1))
    [pod] = await wait_for_pods(env, 1)
    await env.client.patch(pod, {"metadata": {"labels": {"app": "debug"}}})
    await wait_for_pods(env, 2)
    released = await env.client.get(Pod, pod.metadata.name, namespace=NAMESPACE)
    assert released.metadata.owner_references == []


async def test_a_failure_to_create_is_a_condition_and_ends_with_the_cause(env: Environment) -> None:
    one: dict[str, Quantity] = {"pods": Quantity("1")}
    quota = ResourceQuota(metadata=ObjectMeta(name="q", namespace=NAMESPACE), spec=ResourceQuotaSpec(hard=one))
    quota = await env.client.create(quota)
    await env.client.patch_status(quota, {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}})
    await env.client.create(replica_set(replicas=2))
    status = await env.eventually(lambda: status_of(env), satisfies=lambda status: bool(status.conditions))
    [condition] = status.conditions
    assert (condition.type, condition.status, condition.reason) == ("ReplicaFailure", "True", "FailedCreate")
    assert "exceeded quota" in (condition.message or "")
    assert len(await pods_of(env)) == 1
    await env.client.delete(quota)
    await wait_for_pods(env, 2)
    await env.eventually(lambda: status_of(env), satisfies=lambda status: not status.conditions)


async def test_a_pod_is_available_when_it_has_been_ready_for_min_ready_seconds(env: Environment) -> None:
    await env.client.create(replica_set(replicas=1, min_ready_seconds=30))
    await wait_for_pods(env, 1)
    start = env.clock()
    await make_all_ready(env, LABELS)
    await env.eventually(lambda: status_of(env), satisfies=lambda status: status.ready_replicas == 1)
    assert (await status_of(env)).available_replicas is None
    await env.eventually(lambda: status_of(env), satisfies=lambda status: status.available_replicas == 1)
    assert 29 <= (env.clock() - start).total_seconds() <= 32


async def test_a_replica_set_with_its_pods_writes_nothing(env: Environment) -> None:
    await env.client.create(replica_set(replicas=2))
    await wait_for_pods(env, 2)
    await make_all_ready(env, LABELS)
    await env.eventually(lambda: status_of(env), satisfies=lambda status: status.available_replicas == 2)

    async def versions() -> set[str]:
        objects = [*await pods_of(env), await env.client.get(ReplicaSet, "web", namespace=NAMESPACE)]
        return {each.metadata.resource_version for each in objects}

    before = await versions()
    await pass_time(env, 60)
    assert await versions() == before


async def test_a_pod_that_is_being_deleted_is_replaced_and_counted_as_terminating(env: Environment) -> None:
    await env.client.create(replica_set(replicas=1))
    [pod] = await wait_for_pods(env, 1)
    await env.client.patch(pod, {"metadata": {"finalizers": ["test/hold"]}})
    await env.client.delete(pod)
    await wait_for_pods(env, 2)
    await env.eventually(
        lambda: status_of(env), satisfies=lambda status: (status.terminating_replicas, status.replicas) == (1, 1)
    )
    await env.client.patch(Pod, {"metadata": {"finalizers": None}}, name=pod.metadata.name, namespace=NAMESPACE)
    await env.eventually(lambda: status_of(env), satisfies=lambda status: status.terminating_replicas == 0)


async def test_overlapping_replica_sets_leave_each_other_their_pods(env: Environment) -> None:
    for name in ("one", "two"):
        await env.client.create(replica_set(name, replicas=2))
    pods = await wait_for_pods(env, 4)
    await pass_time(env, 10)
    owners = sorted(pod.metadata.owner_references[0].name for pod in await pods_of(env))
    assert owners == ["one", "one", "two", "two"]
    assert {pod.metadata.uid for pod in pods} == {pod.metadata.uid for pod in await pods_of(env)}


async def test_a_replica_set_that_is_being_deleted_neither_adopts_nor_creates(env: Environment) -> None:
    held = replica_set(replicas=1)
    held.metadata.finalizers = ["test/hold"]
    await env.client.create(held)
    await wait_for_pods(env, 1)
    await env.client.delete(ReplicaSet, "web", namespace=NAMESPACE, propagation_policy="Orphan")
    for pod in await pods_of(env):
        await env.client.delete(pod)
    orphan = Pod(metadata=ObjectMeta(name="orphan", namespace=NAMESPACE, labels=LABELS), spec=template(LABELS).spec)
    await env.client.create(orphan)
    await pass_time(env, 10)
    [found] = await pods_of(env)
    assert (found.metadata.name, found.metadata.owner_references) == ("orphan", [])


async def test_related_pods_of_another_replica_set_of_the_owner_decide_which_pod_is_deleted(env: Environment) -> None:
    owner = await env.client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace=NAMESPACE)))
    for name in ("one", "two"):
        made = replica_set(name, replicas=2 if name == "one" else 1)
        made.spec.selector.match_labels = {"set": name}
        made.spec.template = template({"set": name})
        set_controller_reference(owner, made)
        await env.client.create(made)
    pods = sorted(await wait_for_pods(env, 3), key=lambda pod: pod.metadata.generate_name)
    for pod, node in zip(pods, ("a", "b", "b"), strict=True):
        target = Binding(metadata=ObjectMeta(name=pod.metadata.name), target=ObjectReference(kind="Node", name=node))
        await env.client.subresource("binding", Binding).create(pod, target)
        bound = await env.client.get(Pod, pod.metadata.name, namespace=NAMESPACE)
        await set_running(env.client, bound, now=env.clock())
    await env.client.patch(ReplicaSet, {"spec": {"replicas": 1}}, name="one", namespace=NAMESPACE)
    left = await wait_for_pods(env, 2)
    assert sorted(pod.spec.node_name or "" for pod in left if pod.spec is not None) == ["a", "b"]


async def test_a_large_replica_set_is_created_in_parts(env: Environment) -> None:
    await env.client.create(replica_set(replicas=1100))
    seen: set[int] = set()

    async def replicas() -> int:
        seen.add((await status_of(env)).replicas)
        return len(await pods_of(env))

    await env.eventually(replicas, equals=1100)
    status = await wait_for_replicas(env, 1100)
    assert {0, 500, 1000} <= seen | {status.replicas}


async def test_a_replication_controller_gets_its_pods(env: Environment) -> None:
    made = ReplicationController(
        metadata=ObjectMeta(name="old", namespace=NAMESPACE),
        spec=ReplicationControllerSpec(replicas=2, selector=LABELS, template=template(LABELS)),
    )
    await env.client.create(made)
    await wait_for_pods(env, 2)
    await make_all_ready(env, LABELS)

    async def status() -> dict[str, object]:
        found = await env.client.get(ReplicationController, "old", namespace=NAMESPACE)
        return {} if found.status is None else {"ready": found.status.ready_replicas, "all": found.status.replicas}

    await env.eventually(status, equals={"ready": 2, "all": 2})
    events = await events_of(env, "ReplicationController", "old")
    assert {(reason, source) for _, reason, _, source in events} == {("SuccessfulCreate", "replication-controller")}
