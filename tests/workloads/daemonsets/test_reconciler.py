"""DaemonSets on a whole API server, in virtual time; the scheduler and the kubelet are played by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.quantity import Quantity
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import (
    ControllerRevision,
    DaemonSet,
    DaemonSetSpec,
    DaemonSetStatus,
    DaemonSetUpdateStrategy,
    RollingUpdateDaemonSet,
)
from pilotage.types.core.v1 import (
    Binding,
    Node,
    NodeSpec,
    ObjectReference,
    Pod,
    ResourceQuota,
    ResourceQuotaSpec,
    Taint,
)
from pilotage.workloads.daemonsets.placement import target_node
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.revisions.data import template_document
from pilotage.workloads.templates.hashes import template_hash
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, events_of, pass_time, selecting, set_running, template

LABELS = {"app": "agent"}
COMPONENT = "daemonset-controller"


@pytest.fixture
async def env(pilotage_env: Environment) -> AsyncIterator[Environment]:
    async with Workloads(pilotage_env.cluster, WorkloadOptions(controllers=("daemonset-controller",))):
        yield pilotage_env


def daemon_set(**spec: Any) -> DaemonSet:
    return DaemonSet(
        metadata=ObjectMeta(name="agent", namespace=NAMESPACE),
        spec=DaemonSetSpec(selector=selecting(LABELS), template=template(LABELS), **spec),
    )


def strategy(**rolling: int) -> DaemonSetUpdateStrategy:
    return DaemonSetUpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdateDaemonSet(**rolling))


async def nodes(env: Environment, count: int) -> None:
    """Nodes that are ready: the taint that the server gives to new ones is removed."""
    for number in range(1, count + 1):
        await env.client.create(Node(metadata=ObjectMeta(name=f"node-{number}", labels={"disk": "ssd"})))
        await env.client.patch(Node, {"spec": {"taints": None}}, name=f"node-{number}")


async def touch(env: Environment) -> None:
    """Change the DaemonSet in a way that only causes a reconcile."""
    patch = {"metadata": {"annotations": {"touched": "yes"}}}
    await env.client.patch(DaemonSet, patch, name="agent", namespace=NAMESPACE)


def is_ready(pod: Pod) -> bool:
    return pod.status is not None and any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)


async def pods_of(env: Environment) -> list[Pod]:
    return list(await env.client.list(Pod, namespace=NAMESPACE))


async def status_of(env: Environment) -> DaemonSetStatus | None:
    return (await env.client.get(DaemonSet, "agent", namespace=NAMESPACE)).status


async def run(env: Environment) -> None:
    """Schedule Pods to their nodes and make them ready, and remove those that are being deleted."""
    for pod in await pods_of(env):
        if pod.metadata.deletion_timestamp is not None:
            await env.client.delete(pod, grace_period_seconds=0)
            continue
        if pod.spec is not None and not pod.spec.node_name:
            binding = Binding(
                metadata=ObjectMeta(name=pod.metadata.name, namespace=NAMESPACE),
                target=ObjectReference(kind="Node", name=target_node(pod)),
            )
            await env.client.subresource("binding", Binding).create(pod, binding)
            pod = await env.client.get(Pod, pod.metadata.name, namespace=NAMESPACE)
        if not is_ready(pod):
            await set_running(env.client, pod, now=env.clock())


async def until(env: Environment, **counts: int | None) -> DaemonSetStatus:
    """Run Pods until the status has these counts."""

    async def status() -> DaemonSetStatus | None:
        await run(env)
        return await status_of(env)

    found = await env.eventually(
        status,
        satisfies=lambda found: (
            found is not None and all((getattr(found, name) or 0) == count for name, count in counts.items())
        ),
    )
    assert found is not None
    return found


async def wait_for_pods(env: Environment, count: int) -> list[Pod]:
    return await env.eventually(lambda: pods_of(env), satisfies=lambda found: len(found) == count)


async def test_each_node_gets_a_pod_that_is_bound_to_it(env: Environment) -> None:
    await nodes(env, 2)
    await env.client.create(daemon_set())
    pods = await wait_for_pods(env, 2)
    assert {target_node(pod) for pod in pods} == {"node-1", "node-2"}
    owner = await env.client.get(DaemonSet, "agent", namespace=NAMESPACE)
    hashed = template_hash(template_document(owner))
    for pod in pods:
        assert pod.spec is not None
        assert pod.spec.node_name is None
        assert pod.metadata.generate_name == "agent-"
        assert pod.metadata.labels == LABELS | {
            "controller-revision-hash": hashed,
            "pod-template-generation": "1",
        }
        assert [(one.key, one.effect, one.operator) for one in pod.spec.tolerations] == [
            ("node.kubernetes.io/not-ready", "NoExecute", "Exists"),
            ("node.kubernetes.io/unreachable", "NoExecute", "Exists"),
            ("node.kubernetes.io/disk-pressure", "NoSchedule", "Exists"),
            ("node.kubernetes.io/memory-pressure", "NoSchedule", "Exists"),
            ("node.kubernetes.io/pid-pressure", "NoSchedule", "Exists"),
            ("node.kubernetes.io/unschedulable", "NoSchedule", "Exists"),
        ]
    (revision,) = await env.client.list(ControllerRevision, namespace=NAMESPACE)
    assert (revision.metadata.name, revision.revision) == (f"agent-{hashed}", 1)
    assert revision.metadata.labels == LABELS | {"controller-revision-hash": hashed}
    status = await until(env, number_available=2)
    assert status == DaemonSetStatus(
        observed_generation=1,
        desired_number_scheduled=2,
        current_number_scheduled=2,
        number_misscheduled=0,
        number_ready=2,
        updated_number_scheduled=2,
        number_available=2,
    )
    found = await events_of(env, "DaemonSet", "agent")
    assert sorted(found) == sorted(
        ("Normal", "SuccessfulCreate", f"Created pod: {pod.metadata.name}", COMPONENT) for pod in pods
    )


async def test_a_new_node_gets_a_pod(env: Environment) -> None:
    await env.client.create(daemon_set())
    await until(env, observed_generation=1, desired_number_scheduled=0)
    await nodes(env, 1)
    await wait_for_pods(env, 1)


async def test_a_taint_that_is_not_tolerated_keeps_pods_away_or_removes_them(env: Environment) -> None:
    await nodes(env, 1)
    await env.client.create(daemon_set())
    await until(env, number_ready=1)
    node = await env.client.get(Node, "node-1")
    node.spec = NodeSpec(taints=[Taint(key="a", effect="NoSchedule")])
    await env.client.update(node)
    await touch(env)
    await until(env, number_misscheduled=1, desired_number_scheduled=0)
    assert len(await pods_of(env)) == 1
    node.spec.taints = [Taint(key="a", effect="NoExecute")]
    await env.client.update(node)

    async def left() -> list[Pod]:
        await run(env)
        return await pods_of(env)

    await env.eventually(left, satisfies=lambda found: not found)


async def test_only_selected_nodes_get_a_pod(env: Environment) -> None:
    await nodes(env, 2)
    await env.client.patch(Node, {"metadata": {"labels": {"disk": "hdd"}}}, name="node-2")
    owner = daemon_set()
    assert owner.spec.template.spec is not None
    owner.spec.template.spec.node_selector = {"disk": "ssd"}
    await env.client.create(owner)
    (pod,) = await wait_for_pods(env, 1)
    assert target_node(pod) == "node-1"


async def change_image(env: Environment, image: str) -> None:
    owner = await env.client.get(DaemonSet, "agent", namespace=NAMESPACE)
    assert owner.spec.template.spec is not None
    owner.spec.template.spec.containers[0].image = image
    await env.client.update(owner)


async def active(env: Environment) -> list[str]:
    """The images of the Pods that are not being deleted."""
    return sorted(
        pod.spec.containers[0].image or ""
        for pod in await pods_of(env)
        if pod.spec is not None and pod.metadata.deletion_timestamp is None
    )


async def test_a_rolling_update_replaces_one_pod_after_the_other(env: Environment) -> None:
    await nodes(env, 2)
    await env.client.create(daemon_set())
    await until(env, number_available=2)
    await change_image(env, "nginx:2")
    await env.eventually(lambda: active(env), equals=["nginx"])
    await run(env)
    await env.eventually(lambda: active(env), equals=["nginx", "nginx:2"])
    await env.consistently(lambda: active(env), equals=["nginx", "nginx:2"], seconds=5)
    await until(env, updated_number_scheduled=2, number_available=2)
    assert await active(env) == ["nginx:2", "nginx:2"]
    found = await env.client.list(ControllerRevision, namespace=NAMESPACE)
    assert sorted(revision.revision for revision in found) == [1, 2]


async def test_with_a_surge_the_new_pod_is_available_before_the_old_one_is_deleted(env: Environment) -> None:
    await nodes(env, 2)
    await env.client.create(daemon_set(update_strategy=strategy(max_surge=1, max_unavailable=0)))
    await until(env, number_available=2)
    await change_image(env, "nginx:2")
    await env.eventually(lambda: active(env), equals=["nginx", "nginx", "nginx:2"])
    await run(env)
    await env.eventually(lambda: active(env), satisfies=lambda found: found.count("nginx") == 1)
    await until(env, updated_number_scheduled=2, number_available=2)


async def test_with_on_delete_pods_are_replaced_when_they_are_deleted(env: Environment) -> None:
    await nodes(env, 1)
    await env.client.create(daemon_set(update_strategy=DaemonSetUpdateStrategy(type="OnDelete")))
    await until(env, number_available=1)
    await change_image(env, "nginx:2")
    await until(env, updated_number_scheduled=0)
    (pod,) = await pods_of(env)
    await env.client.delete(pod, grace_period_seconds=0)
    await env.eventually(lambda: active(env), equals=["nginx:2"])


async def test_a_rollback_gives_the_old_revision_a_new_number(env: Environment) -> None:
    await env.client.create(daemon_set())
    await until(env, observed_generation=1)
    for generation, image in enumerate(("nginx:2", "nginx"), 2):
        await change_image(env, image)
        await until(env, observed_generation=generation)
    found = await env.client.list(ControllerRevision, namespace=NAMESPACE)
    assert sorted(revision.revision for revision in found) == [2, 3]


async def test_old_revisions_are_deleted_down_to_the_limit(env: Environment) -> None:
    await env.client.create(daemon_set(revision_history_limit=1))
    await until(env, observed_generation=1)
    for generation in range(2, 6):
        await change_image(env, f"nginx:{generation}")
        await until(env, observed_generation=generation)
    found = await env.client.list(ControllerRevision, namespace=NAMESPACE)
    assert sorted(revision.revision for revision in found) == [4, 5]


async def wait_until_gone(env: Environment, uid: str) -> None:
    def is_gone(found: list[Pod]) -> bool:
        return bool(found) and all(pod.metadata.uid != uid for pod in found)

    await env.eventually(lambda: pods_of(env), satisfies=is_gone)


async def test_failed_pods_are_deleted_after_a_delay_that_doubles(env: Environment) -> None:
    await nodes(env, 1)
    await env.client.create(daemon_set())
    times = []
    for _ in range(4):
        (pod,) = await wait_for_pods(env, 1)
        await env.client.patch_status(pod, {"status": {"phase": "Failed"}})
        begun = env.clock()
        await wait_until_gone(env, pod.metadata.uid)
        times.append((env.clock() - begun).total_seconds())
    assert times == pytest.approx([0, 1, 2, 4], abs=0.5)
    found = await env.eventually(
        lambda: events_of(env, "DaemonSet", "agent"),
        satisfies=lambda found: any(reason == "FailedDaemonPod" for _, reason, _, _ in found),
    )
    (message, kind) = next((message, kind) for kind, reason, message, _ in found if reason == "FailedDaemonPod")
    assert kind == "Warning"
    assert message.startswith("Found failed daemon pod default/agent-")
    assert message.endswith(" on node node-1, will try to kill it")


async def test_a_pod_is_available_after_its_least_ready_seconds(env: Environment) -> None:
    await nodes(env, 1)
    await env.client.create(daemon_set(min_ready_seconds=30))
    status = await until(env, number_ready=1)
    assert (status.number_available, status.number_unavailable) == (None, 1)
    await pass_time(env, 31)
    status = await until(env, number_available=1)
    assert status.number_unavailable is None


async def test_an_unscheduled_pod_for_a_node_that_is_gone_is_deleted(env: Environment) -> None:
    await nodes(env, 1)
    await env.client.create(daemon_set())
    await wait_for_pods(env, 1)
    await env.client.delete(Node, "node-1")
    await touch(env)
    await wait_for_pods(env, 0)


async def test_two_revisions_of_one_template_become_one(env: Environment) -> None:
    await nodes(env, 1)
    await env.client.create(daemon_set())
    await until(env, number_available=1)
    (revision,) = await env.client.list(ControllerRevision, namespace=NAMESPACE)
    twin = ControllerRevision(
        metadata=ObjectMeta(
            name="agent-twin",
            namespace=NAMESPACE,
            labels=LABELS | {"controller-revision-hash": "twin"},
            owner_references=revision.metadata.owner_references,
        ),
        revision=7,
        data=revision.data,
    )
    await env.client.create(twin)
    await touch(env)

    async def names() -> list[str]:
        return (await env.client.list(ControllerRevision, namespace=NAMESPACE)).names

    await env.eventually(names, equals=["agent-twin"])
    (pod,) = await pods_of(env)
    assert pod.metadata.labels["controller-revision-hash"] == "twin"


async def test_a_name_that_is_taken_raises_the_collision_count(env: Environment) -> None:
    made = daemon_set()
    dry = await env.client.dry_run().create(daemon_set())
    name = f"agent-{template_hash(template_document(dry))}"
    await env.client.create(
        ControllerRevision(metadata=ObjectMeta(name=name, namespace=NAMESPACE), revision=1, data={})
    )
    await env.client.create(made)
    status = await until(env, observed_generation=1)
    assert status.collision_count == 1
    found = await env.client.list(ControllerRevision, namespace=NAMESPACE)
    assert sorted(found.names) == sorted([name, f"agent-{template_hash(template_document(dry), 1)}"])


async def test_a_node_that_gets_a_label_gets_a_pod_and_loses_it_with_the_label(env: Environment) -> None:
    await nodes(env, 1)
    owner = daemon_set()
    assert owner.spec.template.spec is not None
    owner.spec.template.spec.node_selector = {"gpu": "yes"}
    await env.client.create(owner)
    await until(env, observed_generation=1, desired_number_scheduled=0)
    await env.client.patch(Node, {"metadata": {"labels": {"gpu": "yes"}}}, name="node-1")
    await until(env, number_ready=1)
    await env.client.patch(Node, {"metadata": {"labels": {"gpu": None}}}, name="node-1")

    async def left() -> list[Pod]:
        await run(env)
        return await pods_of(env)

    await env.eventually(left, satisfies=lambda found: not found)


async def test_a_pod_without_a_controller_is_adopted_and_one_that_is_not_selected_is_released(env: Environment) -> None:
    await nodes(env, 1)
    spec = template(LABELS).spec
    assert spec is not None
    spec.node_name = "node-1"
    orphan = Pod(metadata=ObjectMeta(name="orphan", namespace=NAMESPACE, labels=LABELS), spec=spec)
    await env.client.create(orphan)
    owner = await env.client.create(daemon_set(update_strategy=DaemonSetUpdateStrategy(type="OnDelete")))

    async def owners() -> list[str]:
        found = await env.client.get(Pod, "orphan", namespace=NAMESPACE)
        return [one.uid for one in found.metadata.owner_references]

    await env.eventually(owners, equals=[owner.metadata.uid])
    assert len(await pods_of(env)) == 1
    await env.client.patch(orphan, {"metadata": {"labels": {"app": "other"}}})
    await env.eventually(owners, equals=[])
    await wait_for_pods(env, 2)


async def test_a_daemon_set_that_is_being_deleted_does_nothing(env: Environment) -> None:
    owner = daemon_set()
    owner.metadata.finalizers = ["example.com/held"]
    await env.client.create(owner)
    await until(env, observed_generation=1)
    await env.client.delete(owner)
    await nodes(env, 1)
    await env.consistently(lambda: pods_of(env), satisfies=lambda found: not found, seconds=5)


async def test_a_failure_to_create_has_an_event_and_is_tried_again(env: Environment) -> None:
    await nodes(env, 3)
    quota = ResourceQuota(metadata=ObjectMeta(name="q", namespace=NAMESPACE))
    quota.spec = ResourceQuotaSpec(hard={"pods": Quantity("1")})
    quota = await env.client.create(quota)
    await env.client.patch_status(quota, {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}})
    await env.client.create(daemon_set())
    found = await env.eventually(lambda: events_of(env, "DaemonSet", "agent"), satisfies=lambda found: len(found) >= 2)
    kind, reason, message, component = next(one for one in found if one[1] != "SuccessfulCreate")
    assert (kind, reason, component) == ("Warning", "FailedCreate", COMPONENT)
    assert message.startswith('Error creating: pods "agent-')
    status = await until(env, observed_generation=1)
    assert (status.desired_number_scheduled, status.current_number_scheduled) == (3, 1)
    await env.client.delete(quota)
    await until(env, number_ready=3)
