"""What a Deployment's controller writes: ReplicaSets, their sizes, the status of the Deployment, and Events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from pilotage.errors import AlreadyExists, ApiError, NotFound
from pilotage.meta.objects import document_of, origin_of, read
from pilotage.meta.owners import is_controlled_by
from pilotage.types.apps.v1 import Deployment, DeploymentStatus, ReplicaSet
from pilotage.workloads.context import Context
from pilotage.workloads.deployments import status as statuses
from pilotage.workloads.deployments.replicasets import find_new, new_replica_set
from pilotage.workloads.deployments.revisions import REVISION, max_revision, next_annotations, replicas_annotations
from pilotage.workloads.deployments.sizes import Scaling, max_surge, next_new_size, replicas_of
from pilotage.workloads.refusals import is_namespace_terminating
from pilotage.workloads.statuses import status_changes
from pilotage.workloads.templates.hashes import template_hash

COMPONENT = "deployment-controller"


class DeploymentWriter:
    """Writes for one Deployment after the other; `deployment` becomes what is stored, but for its spec."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._recorder = context.recorder(COMPONENT)

    async def write(self, deployment: Deployment, status: DeploymentStatus, revision: str = "") -> bool:
        """Write a status and the revision, where they have changed, in one request, as Kubernetes does."""
        meta = deployment.metadata
        patch: dict[str, Any] = {}
        if changes := status_changes(deployment.status, status):
            patch["status"] = changes
        if revision and deployment.metadata.annotations.get(REVISION) != revision:
            patch["metadata"] = {"annotations": {REVISION: revision}}
        if not patch:
            return False
        patch["metadata"] = {"uid": meta.uid, **patch.get("metadata", {})}
        stored = await self._client.patch_status(Deployment, patch, name=meta.name, namespace=meta.namespace)
        deployment.status, meta.annotations = stored.status, stored.metadata.annotations
        return True

    def with_progress(self, status: DeploymentStatus, value: str, reason: str, message: str) -> DeploymentStatus:
        """The status with the condition Progressing."""
        found = statuses.condition(statuses.PROGRESSING, value, reason, message, self._context.clock())
        return replace(status, conditions=statuses.with_condition(list(status.conditions), found))

    async def refuse(self, deployment: Deployment) -> None:
        """Report a Deployment that selects all Pods, which is not reconciled."""
        message = "This deployment is selecting all pods. A non-empty selector is required."
        self._recorder.event(deployment, "Warning", "SelectingAll", message)
        status, generation = statuses.status_of(deployment), deployment.metadata.generation
        if (status.observed_generation or 0) < generation:
            await self.write(deployment, replace(status, observed_generation=generation))

    async def scale(self, deployment: Deployment, step: Scaling) -> None:
        """Write the size of a ReplicaSet, and the annotations with the size of the Deployment. The object in `step`
        stays: the status of this reconcile is that of the sizes before."""
        meta, desired = step.replica_set.metadata, replicas_of(deployment)
        annotations = replicas_annotations(desired, desired + max_surge(deployment))
        if step.before == step.after and annotations.items() <= meta.annotations.items():
            return
        patch = {"metadata": {"annotations": annotations}, "spec": {"replicas": step.after}}
        await self._client.patch(ReplicaSet, patch, name=meta.name, namespace=meta.namespace)
        if step.before != step.after:
            direction = "up" if step.after > step.before else "down"
            self._scaled(deployment, f"Scaled {direction} replica set {meta.name} from {step.before} to {step.after}")

    async def delete(self, replica_sets: Iterable[ReplicaSet]) -> None:
        """Delete ReplicaSets, those that exist."""
        for each in replica_sets:
            try:
                await self._client.delete(each)
            except NotFound:
                continue

    async def create(self, deployment: Deployment, old: list[ReplicaSet]) -> ReplicaSet:
        """Create the ReplicaSet for the template of the Deployment, and report it in the status."""
        revision = max_revision(old) + 1
        made = self._made(deployment, old, revision)
        try:
            await self._client.create(made)
        except AlreadyExists:
            made = await self._existing(deployment, made)
            await self.write(deployment, statuses.status_of(deployment), str(revision))
            return made
        except ApiError as error:
            await self._report_failure(deployment, made, error)
            raise
        name, status = made.metadata.name, statuses.status_of(deployment)
        if made.spec.replicas:
            self._scaled(deployment, f"Scaled up replica set {name} from 0 to {made.spec.replicas}")
        if statuses.progress_deadline(deployment) is not None:
            status = self.with_progress(status, "True", statuses.CREATED, f'Created new replica set "{name}"')
        await self.write(deployment, status, str(revision))
        return made

    def _made(self, deployment: Deployment, old: list[ReplicaSet], revision: int) -> ReplicaSet:
        collisions = statuses.status_of(deployment).collision_count
        made = new_replica_set(deployment, template_hash(_template_of(deployment), collisions))
        made.spec.replicas = next_new_size(deployment, old, 0)
        desired = replicas_of(deployment)
        made.metadata.annotations = {
            **(next_annotations({}, deployment.metadata.annotations, revision) or {}),
            **replicas_annotations(desired, desired + max_surge(deployment)),
        }
        return made

    async def _existing(self, deployment: Deployment, made: ReplicaSet) -> ReplicaSet:
        """The ReplicaSet with the name of the one to create, if it is that one. Else the hashes of two templates are
        equal: the next reconcile tries another hash."""
        name, namespace = made.metadata.name, made.metadata.namespace
        found = await self._client.api_reader.get(ReplicaSet, name, namespace=namespace)
        if is_controlled_by(found, deployment) and find_new(deployment, [found]) is not None:
            return found
        status = statuses.status_of(deployment)
        await self.write(deployment, replace(status, collision_count=(status.collision_count or 0) + 1))
        raise AlreadyExists(f'replicasets.apps "{name}" already exists')

    async def _report_failure(self, deployment: Deployment, made: ReplicaSet, error: ApiError) -> None:
        if is_namespace_terminating(error):
            return
        message = f'Failed to create new replica set "{made.metadata.name}": {error.status.message}'
        if statuses.progress_deadline(deployment) is not None:
            status = statuses.status_of(deployment)
            await self.write(deployment, self.with_progress(status, "False", statuses.CREATE_ERROR, message))
        self._recorder.event(deployment, "Warning", statuses.CREATE_ERROR, message)

    def _scaled(self, deployment: Deployment, message: str) -> None:
        self._recorder.event(deployment, "Normal", "ScalingReplicaSet", message)


def _template_of(deployment: Deployment) -> dict[str, Any]:
    """The template as it is stored."""
    data = origin_of(deployment)
    document = read(data) if data is not None else document_of(deployment)
    template: dict[str, Any] = document["spec"]["template"]
    return template
