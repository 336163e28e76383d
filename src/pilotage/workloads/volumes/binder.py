"""Binds claims to volumes, and releases volumes whose claim was deleted."""

from __future__ import annotations

from pilotage.client.client import Client
from pilotage.cluster.events import EventRecorder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.errors import Conflict, NotFound, PilotageError
from pilotage.types.core.v1 import PersistentVolume, PersistentVolumeClaim
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.volumes import decisions
from pilotage.workloads.volumes.decisions import Do, Fate, Note, Step, Storage
from pilotage.workloads.volumes.matching import (
    BIND_COMPLETED,
    asked_of,
    claim_key,
    class_of,
    default_class,
    is_bound_to,
    lacks_class,
    phase_of,
    spec_of,
)
from pilotage.workloads.volumes.users import Users

CLAIM_INDEX = "claim"
"""The index of volumes by `claim_key`."""
PROVISIONER = ("volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner")


class InvalidBinding(PilotageError):
    """A claim was bound to a volume of another claim."""


class Binder:
    """Reconciles claims, by namespace and name, and volumes, by name alone, one after the other."""

    def __init__(self, client: Client, recorder: EventRecorder, users: Users) -> None:
        self._client = client
        self._recorder = recorder
        self._users = users
        self._unbound: dict[Request, None] = {}

    def on_claim(self, event: Event[PersistentVolumeClaim]) -> Requests:
        """The requests for an event of a claim."""
        request = Request(event.name, event.namespace)
        if event.type == "delete" or BIND_COMPLETED in event.object.metadata.annotations:
            self._unbound.pop(request, None)
        else:
            self._unbound[request] = None
        return (request,)

    def on_volume(self, event: Event[PersistentVolume]) -> Requests:
        """The requests for an event of a volume: its claim as well, or all that a free volume may be bound to."""
        volume, request = event.object, Request(event.name)
        if reference := spec_of(volume).claim_ref:
            return request, Request(reference.name or "", reference.namespace or "")
        is_free = event.type != "delete" and phase_of(volume) == "Available"
        return (request, *self._unbound) if is_free else (request,)

    def on_class(self, event: Event[StorageClass]) -> Requests:
        return tuple(self._unbound)

    async def reconcile(self, request: Request) -> None:
        """Take the next steps of a claim, or of a volume."""
        try:
            if not request.namespace:
                volume = await self._client.find(PersistentVolume, request.name)
                if volume is not None:
                    await self.sync_volume(volume)
                return
            claim = await self._client.find(PersistentVolumeClaim, request.name, namespace=request.namespace)
            if claim is not None:
                await self.sync_claim(claim)
            for volume in await self._volumes(f"{request.namespace}/{request.name}"):
                if claim is None or asked_of(claim).volume_name not in (None, "", volume.metadata.name):
                    await self.sync_volume(volume)
        except (Conflict, NotFound):
            return  # the event of the other writer leads to another attempt

    # Claims

    async def sync_claim(self, claim: PersistentVolumeClaim) -> None:
        """Take the next step of a claim."""
        storage = await self._storage(claim)
        step = decisions.next_step(claim, storage)
        match step.do:
            case Do.BIND:
                assert step.volume is not None  # of a binding
                await self._bind(claim, step.volume)
            case Do.LOST:
                await self._lose(claim, step)
            case Do.SET_CLASS:
                assert storage.default is not None  # it is why
                asked_of(claim).storage_class_name = storage.default.metadata.name
                await self._client.update(claim)
            case Do.PROVISION:
                assert storage.storage_class is not None  # it is why
                await self._ask_for_volume(claim, storage.storage_class.provisioner)
                self._record(claim, step.note)
            case Do.WAIT:
                self._record(claim, await self._waiting(claim))
                await self._set_status(claim, "Pending", None)
            case _:
                self._record(claim, step.note)
                if step.do is Do.PENDING:
                    await self._set_status(claim, "Pending", None)
                if step.do is Do.FAIL:
                    raise InvalidBinding(f"claim {claim.metadata.namespace}/{claim.metadata.name}: {step.note}")

    async def _storage(self, claim: PersistentVolumeClaim) -> Storage:
        client, name = self._client, asked_of(claim).volume_name
        if name:
            return Storage(await client.find(PersistentVolume, name))
        if BIND_COMPLETED in claim.metadata.annotations:
            return Storage()
        mine = await self._volumes(f"{claim.metadata.namespace}/{claim.metadata.name}")
        volumes = [*mine, *await self._volumes("")]
        wanted = class_of(claim)
        return Storage(
            volumes=sorted(volumes, key=lambda volume: volume.metadata.name),
            storage_class=await client.find(StorageClass, wanted) if wanted else None,
            default=default_class(await client.list(StorageClass)) if lacks_class(claim) else None,
        )

    async def _volumes(self, key: str) -> list[PersistentVolume]:
        """The volumes of a claim; those of none by the empty key."""
        return list(await self._client.list(PersistentVolume, fields={CLAIM_INDEX: key}))

    async def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        """The volume first, so that no two claims have it."""
        if decisions.bind_volume(volume, claim):
            await self._client.update(volume)
        await self._set_phase(volume, "Bound")
        if decisions.bind_claim(claim, volume):
            await self._client.update(claim)
        await self._set_status(claim, "Bound", volume)

    async def _lose(self, claim: PersistentVolumeClaim, step: Step) -> None:
        if phase_of(claim) != "Lost":
            await self._set_status(claim, "Lost", None)
            self._record(claim, step.note)

    async def _ask_for_volume(self, claim: PersistentVolumeClaim, provisioner: str) -> None:
        """Tell an external provisioner that it is its turn."""
        annotations = claim.metadata.annotations
        if any(annotations.get(key) != provisioner for key in PROVISIONER):
            annotations.update(dict.fromkeys(PROVISIONER, provisioner))
            await self._client.update(claim)

    async def _waiting(self, claim: PersistentVolumeClaim) -> Note:
        names = [pod.metadata.name for pod in await self._users.unscheduled(claim)]
        if not names:
            text = "waiting for first consumer to be created before binding"
            return Note("Normal", "WaitForFirstConsumer", text)
        pods = f"pods {','.join(names)}" if len(names) > 1 else f"pod {names[0]}"
        return Note("Normal", "WaitForPodScheduled", f"waiting for {pods} to be scheduled")

    # Volumes

    async def sync_volume(self, volume: PersistentVolume) -> None:
        """Take the next step of a volume."""
        claim = await self._claim(volume)
        match decisions.fate_of(volume, claim):
            case Fate.AVAILABLE:
                await self._set_phase(volume, "Available")
            case Fate.BOUND:
                await self._set_phase(volume, "Bound")
            case Fate.UNBIND:
                decisions.unbind_volume(volume)
                await self._client.update(volume)
                await self._set_phase(volume, "Available")
            case Fate.RELEASE:
                await self._release(volume)
            case Fate.MISMATCH:
                assert claim is not None  # it is why
                self._record_mismatch(volume, claim)
            case Fate.NOTHING:
                return

    async def _claim(self, volume: PersistentVolume) -> PersistentVolumeClaim | None:
        """The claim that a volume refers to. One that the cache does not have may have been created just now."""
        reference = spec_of(volume).claim_ref
        if reference is None or not reference.uid:
            return None
        name, namespace = reference.name or "", reference.namespace or ""
        found = await self._client.find(PersistentVolumeClaim, name, namespace=namespace)
        if found is None or not is_bound_to(volume, found):
            found = await self._client.api_reader.find(PersistentVolumeClaim, name, namespace=namespace)
        return found

    async def _release(self, volume: PersistentVolume) -> None:
        """Release a volume, and reclaim it by its policy. What was provisioned is deleted by its provisioner."""
        if phase_of(volume) not in ("Released", "Failed"):
            await self._set_phase(volume, "Released")
        problem = decisions.reclaim_problem(volume)
        if problem is not None and await self._set_phase(volume, "Failed", problem.message):
            self._record(volume, problem)
        if decisions.deletes_here(volume) and volume.metadata.deletion_timestamp is None:
            await self._client.delete(volume, uid=volume.metadata.uid)

    def _record_mismatch(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        why, own, its = "due to incompatible volumeMode.", volume.metadata.name, claim.metadata.name
        text = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{its}" {why}'
        self._record(volume, Note("Warning", "VolumeMismatch", text))
        text = f'Cannot bind PersistentVolume "{own}" to requested PersistentVolumeClaim {why}'
        self._record(claim, Note("Warning", "VolumeMismatch", text))

    # Writes

    async def _set_phase(self, volume: PersistentVolume, phase: str, message: str = "") -> bool:
        if not decisions.set_phase(volume, phase, message):
            return False
        await self._client.update_status(volume)
        return True

    async def _set_status(self, claim: PersistentVolumeClaim, phase: str, volume: PersistentVolume | None) -> None:
        if decisions.set_status(claim, phase, volume):
            await self._client.update_status(claim)

    def _record(self, obj: PersistentVolume | PersistentVolumeClaim, note: Note | None) -> None:
        if note is not None:
            self._recorder.event(obj, *note)


def index_of(volume: PersistentVolume) -> list[str]:
    """The value of `CLAIM_INDEX`."""
    return [claim_key(volume)]
