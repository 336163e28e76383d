"""What the bugs of the hall share: their description, the acts of users, and objects that several of them need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Literal

import pilotage as pt
from pilotage.meta.objects import copy_of
from pilotage.testing import Environment, chaos
from pilotage.types.apps.v1 import StatefulSet, StatefulSetSpec
from pilotage.types.core.v1 import (
    Container,
    HostPathVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    Pod,
    PodSpec,
    PodTemplateSpec,
    VolumeResourceRequirements,
)
from pilotage.types.meta.v1 import LabelSelector
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads import WorkloadOptions
from pilotage.workloads.stages.moment import Moment
from pilotage.workloads.stages.native import NativeStage
from pilotage.workloads.stages.stage import Document, Patch, ResourceRef, Step

NAMESPACE = "default"
NAME = "main"
STORAGE = pt.Quantity("10Gi")
REQUEST = pt.Request(NAME, NAMESPACE)

Setup = Callable[[pt.Manager], Awaitable[None]]
Scenario = chaos.Scenario
Act = Callable[[Environment], Awaitable[object]]
"""What a user does, before all is idle again."""


@dataclass(frozen=True)
class Bug:
    """A published bug: the program that has it, the fixed program, and what users do."""

    reference: str
    kind: Literal["crash", "stale", "own write", "unobserved", "loop"]
    broken: Setup
    fixed: Setup
    scenario: Callable[[Setup], Scenario]
    difference: str
    """A part of the difference that a report shows, with the object that is wrong."""
    fault: str = ""
    """The kind of fault that finds it with the defaults of the runtime. Empty: it shows without faults."""
    prevented: bool = False
    """Whether the published form, in one process, does not happen with the defaults of the runtime."""
    slow: bool = False
    """Whether it runs with simulated workloads."""

    def __str__(self) -> str:
        return self.reference.rpartition("/")[2]


def meta(name: str = NAME, **labels: str) -> pt.ObjectMeta:
    return pt.ObjectMeta(name=name, namespace=NAMESPACE, labels=labels)


def acted(setup: Setup, kinds: Sequence[type[pt.Resource]], acts: Sequence[Act], *, nodes: int = 0) -> Scenario:
    """Users act one after the other, and all is idle in between. With simulated workloads if there are `nodes`."""

    async def scenario(env: Environment) -> None:
        await env.cluster.install(*kinds)
        async with AsyncExitStack() as exits:
            if nodes:
                await env.client.create(copy_of(STORAGE_CLASS))
                await env.client.create(copy_of(VOLUME))
                await exits.enter_async_context(env.workloads(workloads(nodes)))
            await exits.enter_async_context(env.running(setup))
            for act in acts:
                await act(env)
                await env.run_until_idle()

    return scenario


def create(obj: Callable[[], pt.Resource]) -> Act:
    return lambda env: env.client.create(obj())


def delete(kind: type[pt.Resource]) -> Act:
    return lambda env: env.client.delete(kind, REQUEST)


def patch(kind: type[pt.Resource], **spec: object) -> Act:
    return lambda env: env.client.patch(kind, {"spec": spec}, name=REQUEST)


# StatefulSets and their claims


def workloads(nodes: int) -> WorkloadOptions:
    """What StatefulSets need, and a provisioner that binds claims and resizes them."""
    running = ("statefulset-controller", "node-lifecycle-controller", "scheduler", "kubelet")
    return WorkloadOptions(nodes=nodes, controllers=running, stages=(PROVISIONED,), events=False)


def _storage(document: Document) -> dict[str, str]:
    return {"storage": document["spec"]["resources"]["requests"]["storage"]}


def _is_pending(document: Document) -> bool:
    status = document.get("status", {})
    return bool(status.get("phase") != "Bound" or status.get("capacity") != _storage(document))


def _provide(document: Document, moment: Moment) -> Step:
    bound = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": VOLUME.metadata.name}}
    status = {"phase": "Bound", "capacity": _storage(document)}
    return Step((Patch("merge", bound), Patch("merge", {"status": status}, "status")))


BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
STORAGE_CLASS = StorageClass(
    metadata=pt.ObjectMeta(name="growing"), provisioner="hall.pilotage.dev", allow_volume_expansion=True
)
VOLUME = PersistentVolume(
    metadata=pt.ObjectMeta(name="disk"),
    spec=PersistentVolumeSpec(
        access_modes=["ReadWriteOnce"],
        capacity={"storage": pt.Quantity("1Ti")},
        host_path=HostPathVolumeSource(path="/disk"),
        storage_class_name=STORAGE_CLASS.metadata.name,
    ),
)
"""All claims are bound to it: which volume it is does not matter here."""
PROVISIONED = NativeStage("provisioned", ResourceRef("v1", "PersistentVolumeClaim"), _provide, selects=_is_pending)


def claim(name: str, storage: pt.Quantity, labels: dict[str, str]) -> PersistentVolumeClaim:
    resources = VolumeResourceRequirements(requests={"storage": storage})
    spec = PersistentVolumeClaimSpec(
        access_modes=["ReadWriteOnce"], resources=resources, storage_class_name=STORAGE_CLASS.metadata.name
    )
    return PersistentVolumeClaim(metadata=pt.ObjectMeta(name=name, labels=labels), spec=spec)


def stateful_set(
    owner: pt.Resource, replicas: int, *, storage: pt.Quantity = STORAGE, labels: Mapping[str, str] | None = None
) -> StatefulSet:
    """A StatefulSet with the name of its owner, whose claims are `data-NAME-0` and so on, with these labels."""
    name = owner.metadata.name
    pod = PodSpec(containers=[Container(name="server", image="example.com/server:1")])
    spec = StatefulSetSpec(
        replicas=replicas,
        selector=LabelSelector(match_labels={"app": name}),
        template=PodTemplateSpec(metadata=pt.ObjectMeta(labels={"app": name}), spec=pod),
        volume_claim_templates=[claim("data", storage, {"app": name, **(labels or {})})],
    )
    made = StatefulSet(metadata=meta(name), spec=spec)
    pt.set_controller_reference(owner, made)
    return made


def storage_of(obj: StatefulSet | PersistentVolumeClaim) -> pt.Quantity:
    """The storage that a claim, or the template of a StatefulSet, requests."""
    found = obj.spec.volume_claim_templates[0].spec if isinstance(obj, StatefulSet) else obj.spec
    assert found is not None
    assert found.resources is not None
    return found.resources.requests["storage"]


@pt.enqueue_requests_from
def owner_of_app(obj: PersistentVolumeClaim | Pod) -> list[pt.Request]:
    """Maps a claim or a Pod to the object that its StatefulSet belongs to, by its label."""
    return [pt.Request(obj.metadata.labels.get("app", ""), NAMESPACE)]
