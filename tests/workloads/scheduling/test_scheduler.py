"""The scheduler on a whole API server, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pilotage.meta.conditions import find_status_condition
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars.quantity import Quantity
from pilotage.testing.environment import Environment
from pilotage.types.core.v1 import (
    Affinity,
    Container,
    HostPathVolumeSource,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource,
    PersistentVolumeSpec,
    Pod,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSchedulingGate,
    PodSpec,
    ResourceRequirements,
    Taint,
    Volume,
    VolumeResourceRequirements,
)
from pilotage.types.core.v1 import Event as CoreEvent
from pilotage.types.scheduling.v1 import PriorityClass
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, selecting

HELPLESS = "no new claims to deallocate, preemption: 0/{0} nodes are available: {1}."
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


@pytest.fixture
async def env(pilotage_env: Environment) -> AsyncIterator[Environment]:
    async with Workloads(pilotage_env.cluster, WorkloadOptions(nodes=0, controllers=("scheduler",))):
        yield pilotage_env


async def add_node(env: Environment, name: str, cpu: str = "4", taints: tuple[Taint, ...] = ()) -> None:
    """A node that is ready: without the taint that the server gives to new ones."""
    sizes = {"cpu": Quantity(cpu), "memory": Quantity("8Gi"), "pods": Quantity("10")}
    labels = {"kubernetes.io/hostname": name}
    status = NodeStatus(capacity=sizes, allocatable=sizes)
    node = await env.client.create(Node(metadata=ObjectMeta(name=name, labels=labels), spec=NodeSpec(), status=status))
    assert node.spec is not None
    node.spec.taints = list(taints)
    await env.client.update(node)


async def add_pod(
    env: Environment, name: str, cpu: str = "1", labels: dict[str, str] | None = None, **spec: object
) -> Pod:
    main = Container(name="main", image="nginx", resources=ResourceRequirements(requests={"cpu": Quantity(cpu)}))
    metadata = ObjectMeta(name=name, namespace=NAMESPACE, labels=labels or {})
    return await env.client.create(Pod(metadata=metadata, spec=PodSpec(containers=[main], **spec)))  # type: ignore[arg-type]  # fields of any type


async def node_of(env: Environment, name: str) -> str:
    pod = await env.client.get(Pod, name, namespace=NAMESPACE)
    return (pod.spec.node_name if pod.spec is not None else None) or ""


async def message_of(env: Environment, name: str) -> str:
    """The message of the condition PodScheduled, where it is False."""
    pod = await env.client.get(Pod, name, namespace=NAMESPACE)
    found = find_status_condition(pod.status.conditions, "PodScheduled") if pod.status is not None else None
    return (found.message or "") if found is not None and found.status == "False" else ""


async def events_about(env: Environment, name: str) -> list[tuple[str | None, ...]]:
    found = [one for one in await env.client.list(CoreEvent, namespace=NAMESPACE) if one.involved_object.name == name]
    found.sort(key=lambda one: int(one.metadata.resource_version))
    return [(one.type, one.reason, one.message, one.action, one.reporting_component) for one in found]


async def test_a_pod_is_bound_to_a_node_on_which_it_fits(env: Environment) -> None:
    await add_node(env, "small", cpu="1")
    await add_node(env, "large", cpu="8")
    await add_pod(env, "web", cpu="2")
    await env.eventually(lambda: node_of(env, "web"), equals="large")
    pod = await env.client.get(Pod, "web", namespace=NAMESPACE)
    assert pod.status is not None
    scheduled = find_status_condition(pod.status.conditions, "PodScheduled")
    assert scheduled is not None
    assert scheduled.status == "True"
    await env.eventually(
        lambda: events_about(env, "web"),
        equals=[("Normal", "Scheduled", "Successfully assigned default/web to large", "Binding", "default-scheduler")],
    )


async def test_a_pod_without_a_node_says_so(env: Environment) -> None:
    await add_pod(env, "web")
    await env.eventually(lambda: message_of(env, "web"), equals="no nodes available to schedule pods")


async def test_a_pod_that_fits_nowhere_has_the_message_of_the_scheduler(env: Environment) -> None:
    await add_node(env, "a", taints=(Taint(key="dedicated", effect="NoSchedule"),))
    await add_node(env, "b", taints=(Taint(key="dedicated", effect="NoExecute"),))
    await add_node(env, "c", cpu="1")
    await add_pod(env, "web", cpu="2")
    text = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). "
    text += HELPLESS.format(3, f"3 {NOT_HELPFUL}")
    await env.eventually(lambda: message_of(env, "web"), equals=text)
    pod = await env.client.get(Pod, "web", namespace=NAMESPACE)
    assert pod.status is not None
    condition = find_status_condition(pod.status.conditions, "PodScheduled")
    assert condition is not None
    assert (condition.reason, condition.observed_generation) == ("Unschedulable", 1)
    await env.eventually(
        lambda: events_about(env, "web"),
        equals=[("Warning", "FailedScheduling", text, "Scheduling", "default-scheduler")],
    )


async def test_a_node_that_is_full_has_no_pods_of_lower_priority_to_preempt(env: Environment) -> None:
    await add_node(env, "a", cpu="2")
    await add_pod(env, "first", cpu="2")
    await env.eventually(lambda: node_of(env, "first"), equals="a")
    await add_pod(env, "second", cpu="1")
    text = "0/1 nodes are available: 1 Insufficient cpu. " + HELPLESS.format(1, f"1 {NO_VICTIMS}")
    await env.eventually(lambda: message_of(env, "second"), equals=text)


async def test_a_pod_that_waits_is_tried_again_when_a_node_appears(env: Environment) -> None:
    await add_node(env, "a", cpu="1")
    await add_pod(env, "web", cpu="2")
    await env.eventually(lambda: message_of(env, "web"), satisfies=bool)
    await add_node(env, "b", cpu="4")
    await env.eventually(lambda: node_of(env, "web"), equals="b")


async def test_a_pod_that_waits_is_tried_again_when_a_pod_ends(env: Environment) -> None:
    await add_node(env, "a", cpu="2")
    await add_pod(env, "first", cpu="2")
    await env.eventually(lambda: node_of(env, "first"), equals="a")
    for name in ("second", "third"):
        await add_pod(env, name, cpu="1")
        await env.eventually(lambda name=name: message_of(env, name), satisfies=bool)  # type: ignore[misc]  # mypy infers no type of a lambda's default
    await env.client.patch_status(Pod, {"status": {"phase": "Succeeded"}}, name="first", namespace=NAMESPACE)
    await env.eventually(lambda: node_of(env, "second"), equals="a")
    await env.eventually(lambda: node_of(env, "third"), equals="a")


async def test_a_gated_pod_waits_until_its_gates_are_removed(env: Environment) -> None:
    await add_node(env, "a")
    await add_pod(env, "web", scheduling_gates=[PodSchedulingGate(name="example.com/wait")])
    await add_pod(env, "other")
    await env.eventually(lambda: node_of(env, "other"), equals="a")
    assert await node_of(env, "web") == ""
    assert await message_of(env, "web") == "Scheduling is blocked due to non-empty scheduling gates"
    await env.client.patch(Pod, {"spec": {"schedulingGates": None}}, name="web", namespace=NAMESPACE)
    await env.eventually(lambda: node_of(env, "web"), equals="a")


async def test_a_pod_of_another_scheduler_is_left_alone(env: Environment) -> None:
    await add_node(env, "a")
    await add_pod(env, "theirs", scheduler_name="another")
    await add_pod(env, "ours")
    await env.eventually(lambda: node_of(env, "ours"), equals="a")
    assert await node_of(env, "theirs") == ""


async def test_pods_without_a_controller_are_spread_by_free_resources(env: Environment) -> None:
    for name in ("a", "b", "c"):
        await add_node(env, name)
    for number in range(6):
        await add_pod(env, f"web-{number}", cpu="100m")

    async def nodes() -> list[str]:
        return sorted([await node_of(env, f"web-{number}") for number in range(6)])

    await env.eventually(nodes, equals=["a", "a", "b", "b", "c", "c"])


def only_on(*names: str) -> Affinity:
    """The affinity of a Pod that names its nodes, as the Pods of DaemonSets do."""
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=list(names))
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[field])])
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))


async def test_a_pod_that_names_its_node_runs_there_or_nowhere(env: Environment) -> None:
    await add_node(env, "a", cpu="1")
    await add_node(env, "b", cpu="8")
    await add_pod(env, "small", affinity=only_on("a"))
    await env.eventually(lambda: node_of(env, "small"), equals="a")
    await add_pod(env, "large", cpu="4", affinity=only_on("a"))
    text = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
    await env.eventually(lambda: message_of(env, "large"), equals=text + HELPLESS.format(2, f"2 {NOT_HELPFUL}"))


async def test_a_pod_whose_affinity_contradicts_itself_says_so(env: Environment) -> None:
    await add_node(env, "a")
    fields = [NodeSelectorRequirement(key="metadata.name", operator="In", values=[name]) for name in ("a", "b")]
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=fields)])
    affinity = Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))
    await add_pod(env, "web", affinity=affinity)
    text = "0/1 nodes are available: pod affinity terms conflict. "
    await env.eventually(lambda: message_of(env, "web"), equals=text + HELPLESS.format(1, f"1 {NOT_HELPFUL}"))


async def test_pods_that_repel_each_other_run_on_different_nodes(env: Environment) -> None:
    await add_node(env, "a")
    await add_node(env, "b")
    labels = {"app": "db"}
    term = PodAffinityTerm(label_selector=selecting(labels), topology_key="kubernetes.io/hostname")
    apart = Affinity(pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=[term]))
    for number in range(3):
        await add_pod(env, f"db-{number}", labels=labels, affinity=apart)
    await env.eventually(lambda: message_of(env, "db-2"), satisfies=bool)
    assert {await node_of(env, "db-0"), await node_of(env, "db-1")} == {"a", "b"}
    text = "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
    assert await message_of(env, "db-2") == text + HELPLESS.format(2, f"2 {NO_VICTIMS}")


async def test_a_pod_of_high_priority_preempts_one_of_low_priority(env: Environment) -> None:
    await env.client.create(PriorityClass(metadata=ObjectMeta(name="high"), value=1000))
    await add_node(env, "a", cpu="2")
    await add_pod(env, "low", cpu="2", termination_grace_period_seconds=30)
    await env.eventually(lambda: node_of(env, "low"), equals="a")
    high = await add_pod(env, "high", cpu="1", priority_class_name="high")

    async def is_deleted() -> bool:
        pod = await env.client.get(Pod, "low", namespace=NAMESPACE)
        return pod.metadata.deletion_timestamp is not None

    await env.eventually(is_deleted, is_=True)
    low = await env.client.get(Pod, "low", namespace=NAMESPACE)
    assert low.status is not None
    target = find_status_condition(low.status.conditions, "DisruptionTarget")
    assert target is not None
    assert (target.reason, target.message) == (
        "PreemptionByScheduler",
        "default-scheduler: preempting to accommodate a higher priority pod",
    )
    waiting = await env.client.get(Pod, "high", namespace=NAMESPACE)
    assert waiting.status is not None
    assert waiting.status.nominated_node_name == "a"
    assert await message_of(env, "high") == "0/1 nodes are available: 1 Insufficient cpu."
    preempted = (
        "Normal",
        "Preempted",
        f"Preempted by pod {high.metadata.uid} on node a",
        "Preempting",
        "default-scheduler",
    )
    await env.eventually(lambda: events_about(env, "low"), satisfies=lambda found: preempted in found)
    await add_pod(env, "rival", cpu="1")
    await env.client.delete(Pod, "low", namespace=NAMESPACE, grace_period_seconds=0)
    await env.eventually(lambda: node_of(env, "high"), equals="a")
    await env.eventually(lambda: node_of(env, "rival"), equals="a")


async def test_a_pod_that_may_not_preempt_says_so(env: Environment) -> None:
    await env.client.create(PriorityClass(metadata=ObjectMeta(name="polite"), value=1000, preemption_policy="Never"))
    await add_node(env, "a", cpu="2")
    await add_pod(env, "low", cpu="2")
    await env.eventually(lambda: node_of(env, "low"), equals="a")
    await add_pod(env, "high", cpu="1", priority_class_name="polite")
    text = "0/1 nodes are available: 1 Insufficient cpu. "
    text += "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."
    await env.eventually(lambda: message_of(env, "high"), equals=text)


def mounting(claim: str) -> list[Volume]:
    return [Volume(name="data", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim))]


async def add_claim(env: Environment, name: str, storage: str) -> None:
    resources = VolumeResourceRequirements(requests={"storage": Quantity("1Gi")})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=resources, storage_class_name=storage)
    await env.client.create(PersistentVolumeClaim(metadata=ObjectMeta(name=name, namespace=NAMESPACE), spec=spec))


async def test_a_pod_waits_for_its_claim(env: Environment) -> None:
    await add_node(env, "a")
    await add_pod(env, "web", volumes=mounting("data"))
    text = '0/1 nodes are available: persistentvolumeclaim "data" not found. ' + HELPLESS.format(1, f"1 {NOT_HELPFUL}")
    await env.eventually(lambda: message_of(env, "web"), equals=text)
    await env.client.create(StorageClass(metadata=ObjectMeta(name="now"), provisioner="example.com/disk"))
    await add_claim(env, "data", "now")
    unbound = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. "
    await env.eventually(lambda: message_of(env, "web"), equals=unbound + HELPLESS.format(1, f"1 {NOT_HELPFUL}"))
    await bind_claim(env, "data")
    await env.eventually(lambda: node_of(env, "web"), equals="a")


async def bind_claim(env: Environment, name: str) -> None:
    """What the controller of volumes and a provisioner write."""
    volume = PersistentVolume(
        metadata=ObjectMeta(name=f"pv-{name}"),
        spec=PersistentVolumeSpec(
            host_path=HostPathVolumeSource(path="/data"),
            capacity={"storage": Quantity("1Gi")},
            access_modes=["ReadWriteOnce"],
        ),
    )
    await env.client.create(volume)
    patch = {
        "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": f"pv-{name}"},
    }
    await env.client.patch(PersistentVolumeClaim, patch, name=name, namespace=NAMESPACE)


async def test_a_claim_that_waits_for_its_first_pod_gets_the_node_of_the_pod(env: Environment) -> None:
    storage = StorageClass(
        metadata=ObjectMeta(name="later"), provisioner="example.com/disk", volume_binding_mode="WaitForFirstConsumer"
    )
    await env.client.create(storage)
    await add_node(env, "a")
    await add_claim(env, "data", "later")
    await add_pod(env, "web", volumes=mounting("data"))

    async def selected() -> str:
        claim = await env.client.get(PersistentVolumeClaim, "data", namespace=NAMESPACE)
        return claim.metadata.annotations.get("volume.kubernetes.io/selected-node", "")

    await env.eventually(selected, equals="a")
    assert await node_of(env, "web") == ""
    await bind_claim(env, "data")
    await env.eventually(lambda: node_of(env, "web"), equals="a")
