"""Creates, updates and deletes the Pods of a StatefulSet and their claims, with the Events of Kubernetes."""

from __future__ import annotations

from typing import Literal

from pilotage.client.client import Client
from pilotage.cluster.events import EventRecorder
from pilotage.errors import AlreadyExists, ApiError, PilotageError
from pilotage.types.apps.v1 import StatefulSet
from pilotage.types.core.v1 import PersistentVolumeClaim, Pod, PodTemplateSpec
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.refusals import is_gone, message_of
from pilotage.workloads.statefulsets.identity import (
    claim_names,
    claims_of,
    identity_matches,
    new_pod,
    ordinal_of,
    ordinals_of,
    pod_name,
    storage_matches,
    update_identity,
    update_storage,
)
from pilotage.workloads.statefulsets.retention import (
    has_unexpected_controller,
    is_up_to_date,
    owners_of,
    updated_references,
)

_Verb = Literal["Create", "Update", "Delete"]


class ClaimsNotReady(PilotageError):
    """Claims of a Pod cannot be created, or are being deleted: try again later."""


class StatefulPodControl:
    """Writes the Pods of StatefulSets and their claims."""

    def __init__(self, client: Client, recorder: EventRecorder) -> None:
        self._client = client
        self._recorder = recorder

    async def create(self, owner: StatefulSet, template: PodTemplateSpec, revision: str, ordinal: int) -> None:
        """Create the Pod with an ordinal, and before it the claims that it does not have."""
        name, uid = pod_name(owner, ordinal), ""
        error: PilotageError | None = None
        try:
            await self._create_claims(owner, ordinal)
        except PilotageError as refused:
            self._record(owner, "Create", name, refused)
            raise
        try:
            uid = (await self._client.create(new_pod(owner, template, revision, ordinal))).metadata.uid
        except AlreadyExists:
            raise
        except ApiError as refused:
            error = refused
        await self._own_claims(owner, name, uid)
        self._record(owner, "Create", name, error)
        if error is not None:
            raise error

    async def update(self, owner: StatefulSet, pod: PodView) -> None:
        """Give a Pod its identity, its volumes and its claims with their owners."""
        found = await self._client.find(Pod, pod.name, namespace=pod.namespace)
        if found is None:
            return
        try:
            is_changed = await self._conform(owner, found)
        except PilotageError as error:
            self._record(owner, "Update", pod.name, error)
            raise
        if not is_changed:
            return
        try:
            await self._client.update(found)
        except ApiError as error:
            self._record(owner, "Update", found.metadata.name, error)
            raise
        self._record(owner, "Update", found.metadata.name)

    async def delete(self, owner: StatefulSet, pod: PodView) -> None:
        """Delete a Pod; one that does not exist any more counts as deleted."""
        try:
            await self._client.delete(Pod, pod.name, namespace=pod.namespace, uid=pod.uid)
        except ApiError as error:
            if not is_gone(error):
                self._record(owner, "Delete", pod.name, error)
                raise
        self._record(owner, "Delete", pod.name)

    async def make_claims(self, owner: StatefulSet, pod: PodView) -> None:
        """Create the claims that a Pod does not have, with their owners."""
        await self._create_claims(owner, ordinal_of(pod.name))
        await self._own_claims(owner, pod.name, pod.uid)

    async def own_claims(self, owner: StatefulSet, pod: PodView) -> None:
        """Change the owners of the claims of a Pod to those of the retention policy."""
        for claim in await self._claims(owner, ordinal_of(pod.name)):
            await self._own(owner, pod.name, pod.uid, claim)

    async def _conform(self, owner: StatefulSet, pod: Pod) -> bool:
        """Change a Pod in memory, and its claims on the server; whether the Pod is to be written."""
        meta, is_changed = pod.metadata, False
        if not identity_matches(owner, meta.namespace, meta.name, meta.labels):
            update_identity(owner, pod)
            is_changed = True
        if not storage_matches(owner, pod):
            update_storage(owner, pod)
            await self._create_claims(owner, ordinal_of(meta.name))
            is_changed = True
        for claim in await self._claims(owner, ordinal_of(meta.name)):
            is_changed |= await self._own(owner, meta.name, meta.uid, claim)
        return is_changed

    async def _create_claims(self, owner: StatefulSet, ordinal: int) -> None:
        problems: list[str] = []
        for claim in claims_of(owner, ordinal).values():
            name = claim.metadata.name
            found = await self._client.find(PersistentVolumeClaim, name, namespace=owner.metadata.namespace)
            if found is not None:
                if found.metadata.deletion_timestamp is not None:
                    problems.append(f"pvc {name} is being deleted")
                continue
            try:
                await self._client.create(claim)
            except ApiError as error:
                problems.append(f"failed to create PVC {name}: {error.status.message}")
                if not isinstance(error, AlreadyExists):
                    self._record_claim(owner, ordinal, name, error)
            else:
                self._record_claim(owner, ordinal, name)
        if problems:
            raise ClaimsNotReady(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    async def _own_claims(self, owner: StatefulSet, pod: str, uid: str) -> None:
        try:
            for claim in await self._claims(owner, ordinal_of(pod)):
                await self._own(owner, pod, uid, claim)
        except PilotageError as error:
            self._record(owner, "Update", pod, error)
            raise

    async def _claims(self, owner: StatefulSet, ordinal: int) -> list[PersistentVolumeClaim]:
        """The claims of a Pod that exist."""
        namespace = owner.metadata.namespace
        names = claim_names(owner, ordinal)
        found = [await self._client.find(PersistentVolumeClaim, name, namespace=namespace) for name in names]
        return [claim for claim in found if claim is not None]

    async def _own(self, owner: StatefulSet, pod: str, uid: str, claim: PersistentVolumeClaim) -> bool:
        """Change the owners of a claim where they are not those of the policy; whether they were changed."""
        owners = owners_of(owner, pod, uid, is_scaled_down=ordinal_of(pod) not in ordinals_of(owner))
        meta = claim.metadata
        if has_unexpected_controller(meta.owner_references, owners):
            message = (
                f"PersistentVolumeClaim {meta.name} has a conflicting OwnerReference that acts as a manging "
                "controller, the retention policy is ignored for this claim"
            )
            self._recorder.event(owner, "Warning", "ConflictingController", message)
        if is_up_to_date(meta.owner_references, owners):
            return False
        meta.owner_references = updated_references(meta.owner_references, owners)
        try:
            await self._client.update(claim)
        except ApiError as error:
            message = f"could not update claim {meta.name} for delete policy ownerRefs: {error.status.message}"
            raise ClaimsNotReady(message) from error
        return True

    def _record(self, owner: StatefulSet, verb: _Verb, pod: str, error: PilotageError | None = None) -> None:
        subject = f"{verb} Pod {pod} in StatefulSet {owner.metadata.name}"
        if error is None:
            self._recorder.event(owner, "Normal", f"Successful{verb}", f"{subject} successful")
        else:
            self._recorder.event(owner, "Warning", f"Failed{verb}", f"{subject} failed error: {message_of(error)}")

    def _record_claim(self, owner: StatefulSet, ordinal: int, claim: str, error: ApiError | None = None) -> None:
        pod, name = pod_name(owner, ordinal), owner.metadata.name
        if error is None:
            message = f"Create Claim {claim} Pod {pod} in StatefulSet {name} success"
            self._recorder.event(owner, "Normal", "SuccessfulCreate", message)
        else:
            message = f"Create Claim {claim} for Pod {pod} in StatefulSet {name} failed error: {message_of(error)}"
            self._recorder.event(owner, "Warning", "FailedCreate", message)
