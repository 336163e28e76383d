"""What tests of workloads share: the scheduler and the kubelet, played by hand."""

from __future__ import annotations

from datetime import datetime, timedelta

from pilotage.client.client import Client
from pilotage.meta.models import ObjectMeta
from pilotage.meta.selectors.selectors import Selector
from pilotage.testing.environment import Environment
from pilotage.types.core.v1 import Container, Event, Pod, PodCondition, PodSpec, PodStatus, PodTemplateSpec
from pilotage.types.meta.v1 import LabelSelector
from pilotage.workloads.pods.view import PodView

NAMESPACE = "default"


def template(labels: dict[str, str], image: str = "nginx") -> PodTemplateSpec:
    """A template with one container."""
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="main", image=image)])
    )


def selecting(labels: dict[str, str]) -> LabelSelector:
    return LabelSelector(match_labels=labels)


async def set_running(client: Client, pod: Pod, *, ready: bool = True, node: str = "", now: datetime) -> Pod:
    """What a kubelet writes when the containers of a Pod have started."""
    if node and pod.spec is not None:
        pod.spec.node_name = node
    condition = PodCondition(type="Ready", status="True" if ready else "False", last_transition_time=now)
    pod.status = PodStatus(phase="Running", conditions=[condition])
    return await client.update_status(pod)


async def make_all_ready(env: Environment, labels: dict[str, str]) -> list[Pod]:
    """Make all Pods with these labels Running and Ready that are not."""
    selector = Selector.from_labels(labels)
    changed = []
    for pod in await env.client.list(Pod, namespace=NAMESPACE):
        ready = pod.status is not None and any(each.status == "True" for each in pod.status.conditions)
        if selector.matches(pod.metadata.labels) and not ready and pod.metadata.deletion_timestamp is None:
            changed.append(await set_running(env.client, pod, now=env.clock()))
    return changed


async def events_of(env: Environment, kind: str, name: str) -> list[tuple[str, str, str, str | None]]:
    """Type, reason, message and source of the Events about an object, the oldest first."""
    found = [each for each in await env.client.list(Event, namespace=NAMESPACE) if each.involved_object.kind == kind]
    mine = [each for each in found if each.involved_object.name == name]
    mine.sort(key=lambda each: int(each.metadata.resource_version))
    return [
        (each.type or "", each.reason or "", each.message or "", each.source.component if each.source else None)
        for each in mine
    ]


def view(
    name: str = "pod",
    *,
    labels: dict[str, str] | None = None,
    phase: str = "Running",
    ready_since: datetime | None = None,
    ready: bool | None = None,
    node: str = "",
    created: datetime | None = None,
    deleted: datetime | None = None,
    controller_uid: str = "",
) -> PodView:
    """A Pod as controllers see it."""
    return PodView(
        namespace=NAMESPACE,
        name=name,
        uid=name,
        resource_version="1",
        labels=labels or {},
        annotations={},
        controller_uid=controller_uid,
        controller_kind="ReplicaSet" if controller_uid else "",
        created=created,
        deleted=deleted,
        finalizers=(),
        node=node,
        phase=phase,
        is_ready=ready_since is not None if ready is None else ready,
        ready_since=ready_since,
        restarts=0,
        most_restarts=(0, 0),
        generation=1,
    )


async def pass_time(env: Environment, seconds: float) -> None:
    """Let virtual time pass."""
    until = env.clock() + timedelta(seconds=seconds)
    await env.eventually(lambda: env.clock() >= until, timeout=seconds + 60)
