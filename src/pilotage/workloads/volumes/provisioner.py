"""The provisioner: makes the volumes of all StorageClasses, and deletes what was released."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import AlreadyExists, Conflict, NotFound
from pilotage.meta.models import ObjectMeta
from pilotage.meta.validation.names import dns_1123_subdomain
from pilotage.types.core.v1 import (
    CSIPersistentVolumeSource,
    HostPathVolumeSource,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    Pod,
    VolumeNodeAffinity,
)
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.context import Context
from pilotage.workloads.faults.fault import Fault
from pilotage.workloads.volumes.binder import PROVISIONER
from pilotage.workloads.volumes.matching import (
    PROVISIONED_BY,
    SELECTED_NODE,
    asked_of,
    class_of,
    is_delayed,
    phase_of,
    size_asked,
    spec_of,
)
from pilotage.workloads.volumes.users import Users

NAME = "storage-provisioner"
LOCAL_PATH = "rancher.io/local-path"
"""The provisioner of kind: its volumes are directories of a node."""
_SLOW = 120.0
_LONGEST_DRIVER = 63


async def prepare(context: Context) -> None:
    """Create the default StorageClass `standard`, as kind has it, on an API server that has no StorageClass."""
    client = context.client.api_reader
    if await client.list(StorageClass, limit=1):
        return
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    standard = StorageClass(
        metadata=ObjectMeta(name="standard", annotations=annotations),
        provisioner=LOCAL_PATH,
        reclaim_policy="Delete",
        volume_binding_mode="WaitForFirstConsumer",
    )
    try:
        await client.create(standard)
    except AlreadyExists:
        return


def setup(context: Context) -> None:
    """Add the provisioner to the manager."""
    provisioner = Provisioner(context)
    builder = ControllerBuilder(context.manager).named(NAME).watches(PersistentVolumeClaim, on_claim)
    builder.watches(PersistentVolume, on_volume).complete(provisioner.reconcile)


def on_claim(event: Event[PersistentVolumeClaim]) -> Requests:
    """Claims that wait for a provisioner, and deleted ones."""
    is_asked = event.type == "delete" or PROVISIONER[1] in event.object.metadata.annotations
    return (Request(event.name, event.namespace),) if is_asked else ()


def on_volume(event: Event[PersistentVolume]) -> Requests:
    return (Request(event.name),) if event.type != "delete" and is_garbage(event.object) else ()


def is_garbage(volume: PersistentVolume) -> bool:
    """Whether the provisioner of a volume deletes it."""
    is_released = phase_of(volume) == "Released" and volume.metadata.deletion_timestamp is None
    policy = spec_of(volume).persistent_volume_reclaim_policy
    return is_released and policy == "Delete" and bool(volume.metadata.annotations.get(PROVISIONED_BY))


def provisioned(claim: PersistentVolumeClaim, storage: StorageClass) -> PersistentVolume:
    """The volume that a provisioner makes for a claim."""
    meta, spec, provisioner = claim.metadata, asked_of(claim), storage.provisioner
    name, node = f"pvc-{meta.uid}", claim.metadata.annotations.get(SELECTED_NODE)
    made = PersistentVolumeSpec(
        access_modes=list(spec.access_modes),
        capacity={"storage": size_asked(claim)},
        claim_ref=ObjectReference(
            kind="PersistentVolumeClaim",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            api_version="v1",
            resource_version=meta.resource_version,
        ),
        mount_options=list(storage.mount_options),
        persistent_volume_reclaim_policy=storage.reclaim_policy or "Delete",
        storage_class_name=storage.metadata.name,
        volume_attributes_class_name=spec.volume_attributes_class_name,
        volume_mode=spec.volume_mode,
    )
    if len(provisioner) <= _LONGEST_DRIVER and not dns_1123_subdomain(provisioner):
        made.csi = CSIPersistentVolumeSource(driver=provisioner, volume_handle=name)
    else:
        path = f"/var/local-path-provisioner/{name}_{meta.namespace}_{meta.name}"
        made.host_path = HostPathVolumeSource(path=path, type="DirectoryOrCreate")
    if provisioner == LOCAL_PATH and node:
        made.node_affinity = _only_on(node)
    return PersistentVolume(metadata=ObjectMeta(name=name, annotations={PROVISIONED_BY: provisioner}), spec=made)


def _only_on(node: str) -> VolumeNodeAffinity:
    hostname = NodeSelectorRequirement(key="kubernetes.io/hostname", operator="In", values=[node])
    return VolumeNodeAffinity(
        required=NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[hostname])])
    )


def delay(claim: PersistentVolumeClaim, pods: Iterable[Pod], faults: Iterable[Fault]) -> timedelta:
    """How long the faults `slow-volume` delay the volume of a claim, which these Pods use."""
    found = [0.0]
    containers = [(pod, one) for pod in pods if pod.spec is not None for one in pod.spec.containers]
    for fault in faults:
        selects_pods = fault.image or fault.container or fault.pod or fault.labels
        is_here = not selects_pods and fault.namespace in ("", claim.metadata.namespace)
        if is_here or any(fault.affects(pod, container) for pod, container in containers):
            found.append(fault.delay(_SLOW))
    return timedelta(seconds=max(found))


class Provisioner:
    """Reconciles claims, by namespace and name, and volumes, by name alone."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._users = Users(context)
        self._began: dict[str, datetime] = {}
        """When the volume of a claim was begun, by its uid."""

    async def reconcile(self, request: Request) -> Result:
        """Make the volume of a claim, or delete a volume."""
        client = self._context.client
        if not request.namespace:
            volume = await client.find(PersistentVolume, request.name)
            if volume is not None and is_garbage(volume):
                await self._delete(volume)
            return Result()
        claim = await client.find(PersistentVolumeClaim, request.name, namespace=request.namespace)
        storage = await self._asked_class(claim) if claim is not None else None
        if claim is None or storage is None:
            self._context.progress.set((request.namespace, request.name), None, "PersistentVolumeClaim")
            return Result()
        return await self._provision(claim, storage)

    async def _asked_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        """The class by which a claim gets a volume now."""
        name = class_of(claim)
        if asked_of(claim).volume_name or claim.metadata.deletion_timestamp is not None or not name:
            return None
        storage = await self._context.client.find(StorageClass, name)
        if storage is None or claim.metadata.annotations.get(PROVISIONER[1]) != storage.provisioner:
            return None
        return storage if not is_delayed(storage) or claim.metadata.annotations.get(SELECTED_NODE) else None

    async def _provision(self, claim: PersistentVolumeClaim, storage: StorageClass) -> Result:
        context, meta = self._context, claim.metadata
        recorder, now = context.recorder(storage.provisioner), context.clock()
        if meta.uid not in self._began:
            text = f'External provisioner is provisioning volume for claim "{meta.namespace}/{meta.name}"'
            recorder.event(claim, "Normal", "Provisioning", text)
            self._began[meta.uid] = now
        slow = context.faults.named("slow-volume")
        pods = await self._users.all(claim) if slow else []
        due = self._began[meta.uid] + delay(claim, pods, slow)
        context.progress.set((meta.namespace, meta.name), due if due > now else None, "PersistentVolumeClaim")
        if due > now:
            return Result(requeue_after=due - now)
        volume = provisioned(claim, storage)
        try:
            await context.client.create(volume)
        except AlreadyExists:
            return Result()
        del self._began[meta.uid]
        text = f"Successfully provisioned volume {volume.metadata.name}"
        recorder.event(claim, "Normal", "ProvisioningSucceeded", text)
        return Result()

    async def _delete(self, volume: PersistentVolume) -> None:
        try:
            await self._context.client.delete(volume, uid=volume.metadata.uid)
        except (NotFound, Conflict):
            return
