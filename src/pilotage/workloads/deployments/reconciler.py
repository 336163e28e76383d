"""Reads a Deployment and its ReplicaSets, and does the next step of its rollout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import AlreadyExists, ApiError, NotFound
from pilotage.meta.objects import document_of, origin_of, read
from pilotage.meta.owners import is_controlled_by
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.apps.v1 import Deployment, DeploymentStatus, ReplicaSet
from pilotage.workloads.context import Context
from pilotage.workloads.deployments import status as statuses
from pilotage.workloads.deployments.replicasets import (
    active,
    actual,
    by_revision,
    find_new,
    new_replica_set,
    size,
    without,
)
from pilotage.workloads.deployments.revisions import REVISION, max_revision, next_annotations, replicas_annotations
from pilotage.workloads.deployments.sizes import (
    Scaling,
    is_rolling,
    is_scaled,
    max_surge,
    next_new_size,
    next_old_sizes,
    next_sizes,
    replicas_of,
)
from pilotage.workloads.pods.claims import candidate, claim
from pilotage.workloads.pods.control import is_namespace_terminating
from pilotage.workloads.statuses import status_changes
from pilotage.workloads.templates.hashes import template_hash

COMPONENT = "deployment-controller"
_NO_HISTORY_LIMIT = 2**31 - 1


class Rollout(NamedTuple):
    """The ReplicaSets of a Deployment."""

    new: ReplicaSet | None
    old: list[ReplicaSet]

    @property
    def all(self) -> list[ReplicaSet]:
        return [*self.old, *([self.new] if self.new is not None else [])]


class DeploymentReconciler:
    """Reconciles Deployments."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._recorder = context.recorder(COMPONENT)

    async def reconcile(self, request: Request[Deployment]) -> Result:
        """Do the next step of a Deployment."""
        deployment = await self._client.find(Deployment, request)
        if deployment is None:
            return Result()
        if deployment.spec.selector == type(deployment.spec.selector)():
            return await self._refuse(deployment)
        try:
            return await self._sync(deployment)
        except ApiError as error:
            if is_namespace_terminating(error):  # nothing can be created any more
                return Result()
            raise

    async def _refuse(self, deployment: Deployment) -> Result:
        message = "This deployment is selecting all pods. A non-empty selector is required."
        self._recorder.event(deployment, "Warning", "SelectingAll", message)
        status, generation = statuses.status_of(deployment), deployment.metadata.generation
        if (status.observed_generation or 0) < generation:
            await self._write(deployment, replace(status, observed_generation=generation))
        return Result()

    async def _sync(self, deployment: Deployment) -> Result:
        found = await self._replica_sets(deployment)
        if deployment.metadata.deletion_timestamp is not None:
            rollout = await self._current(deployment, found)
            return await self._sync_status(deployment, rollout)
        paused = statuses.next_paused_condition(deployment, self._context.clock())
        if paused is not None:
            status = statuses.status_of(deployment)
            conditions = statuses.with_condition(list(status.conditions), paused)
            await self._write(deployment, replace(status, conditions=conditions))
        rollout = await self._current(deployment, found)
        if deployment.spec.paused or is_scaled(deployment, rollout.all):
            return await self._scale_all(deployment, rollout)
        if is_rolling(deployment):
            return await self._roll(deployment, rollout)
        return await self._recreate(deployment, rollout)

    async def _replica_sets(self, deployment: Deployment) -> list[ReplicaSet]:
        """The ReplicaSets that it controls and selects, with those that it adopts."""
        namespace, uid = deployment.metadata.namespace, deployment.metadata.uid
        listed = await self._client.list(ReplicaSet, namespace=namespace)
        owners = [
            next((one.uid for one in header.owner_references if one.controller), uid) for header in listed.headers
        ]
        found = [listed[index] for index, owner in enumerate(owners) if owner == uid]
        selector = Selector.from_label_selector(deployment.spec.selector)
        return await claim(self._client, deployment, selector, found, candidate)

    async def _scale_all(self, deployment: Deployment, rollout: Rollout) -> Result:
        """What happens to a Deployment that is paused, or whose size was changed."""
        for step in next_sizes(deployment, rollout.new, rollout.old):
            await self._scale(deployment, step)
        if deployment.spec.paused:
            await self._clean_up(deployment, rollout.old)
        return await self._sync_status(deployment, rollout)

    async def _roll(self, deployment: Deployment, rollout: Rollout) -> Result:
        """The next step of a rolling update: Pods of the new ReplicaSet are added, or those of old ones removed."""
        new = rollout.new
        if new is None:
            new = await self._create(deployment, rollout.old)
            rollout = rollout._replace(new=new)
        step = Scaling(new, size(new), next_new_size(deployment, rollout.all, size(new)))
        if step.before == step.after:
            if not await self._scale_down(deployment, active(rollout.old), new) and self._is_complete(deployment):
                await self._clean_up(deployment, rollout.old)
        else:
            await self._scale(deployment, step)
        return await self._sync_rollout(deployment, rollout)

    async def _scale_down(self, deployment: Deployment, old: list[ReplicaSet], new: ReplicaSet) -> bool:
        """Whether old ReplicaSets were scaled down. The next reconcile repeats what could not be written."""
        steps = next_old_sizes(deployment, old, new)
        try:
            for step in steps:
                await self._scale(deployment, step)
        except ApiError:
            return False
        return bool(steps)

    async def _recreate(self, deployment: Deployment, rollout: Rollout) -> Result:
        """The next step where all old Pods must have ended before the first new one is created."""
        steps = [Scaling(each, size(each), 0) for each in active(rollout.old)]
        for step in steps:
            await self._scale(deployment, step)
        if steps or await self._runs_old_pods(rollout.old):
            return await self._sync_rollout(deployment, rollout)
        new = rollout.new
        if new is None:
            new = await self._create(deployment, rollout.old)
            rollout = rollout._replace(new=new)
        if size(new) != replicas_of(deployment):
            await self._scale(deployment, Scaling(new, size(new), replicas_of(deployment)))
        if self._is_complete(deployment):
            await self._clean_up(deployment, rollout.old)
        return await self._sync_rollout(deployment, rollout)

    async def _runs_old_pods(self, old: Sequence[ReplicaSet]) -> bool:
        if sum(map(actual, old)) > 0:
            return True
        pods = self._context.pods
        await pods.current()
        return any(not pod.is_finished for each in old for pod in pods.controlled_by(each.metadata.uid))

    async def _current(self, deployment: Deployment, found: Iterable[ReplicaSet]) -> Rollout:
        """The new and the old ReplicaSets. The new one gets its revision, and the Deployment gets the same."""
        given = list(found)
        new = find_new(deployment, given)
        old = without(given, new)
        if new is None:
            return Rollout(None, old)
        changes = self._changes_of_new(deployment, new, max_revision(old) + 1)
        if changes:
            await self._client.patch(new, changes)
        status = statuses.status_of(deployment)
        progress = statuses.find(status.conditions, statuses.PROGRESSING)
        if statuses.progress_deadline(deployment) is not None and progress is None:
            message = f'Found new replica set "{new.metadata.name}"'
            status = self._with_progress(status, "True", statuses.FOUND, message)
        await self._write(deployment, status, new.metadata.annotations.get(REVISION, ""))
        return Rollout(new, old)

    def _changes_of_new(self, deployment: Deployment, new: ReplicaSet, revision: int) -> dict[str, Any]:
        """A patch of the new ReplicaSet for what the Deployment has given it since."""
        annotations = next_annotations(new.metadata.annotations, deployment.metadata.annotations, revision)
        seconds = deployment.spec.min_ready_seconds or 0
        if annotations is None and (new.spec.min_ready_seconds or 0) == seconds:
            return {}
        changes: dict[str, Any] = {"metadata": {"annotations": annotations}} if annotations is not None else {}
        return {**changes, "spec": {"minReadySeconds": seconds or None}}

    async def _create(self, deployment: Deployment, old: list[ReplicaSet]) -> ReplicaSet:
        """Create the ReplicaSet for the template of the Deployment."""
        collisions = statuses.status_of(deployment).collision_count
        made = new_replica_set(deployment, template_hash(_template_of(deployment), collisions))
        made.spec.replicas = count = next_new_size(deployment, old, 0)
        revision, desired = max_revision(old) + 1, replicas_of(deployment)
        made.metadata.annotations = {
            **(next_annotations({}, deployment.metadata.annotations, revision) or {}),
            **replicas_annotations(desired, desired + max_surge(deployment)),
        }
        try:
            await self._client.create(made)
        except AlreadyExists:
            made = await self._existing(deployment, made)
            await self._write(deployment, statuses.status_of(deployment), str(revision))
            return made
        except ApiError as error:
            await self._report_failure(deployment, made, error)
            raise
        name = made.metadata.name
        if count:
            message = f"Scaled up replica set {name} from 0 to {count}"
            self._recorder.event(deployment, "Normal", "ScalingReplicaSet", message)
        status = statuses.status_of(deployment)
        if statuses.progress_deadline(deployment) is not None:
            status = self._with_progress(status, "True", statuses.CREATED, f'Created new replica set "{name}"')
        await self._write(deployment, status, str(revision))
        return made

    async def _existing(self, deployment: Deployment, made: ReplicaSet) -> ReplicaSet:
        """The ReplicaSet with the name of the one to create: its own, or else the next hash is tried."""
        name, namespace = made.metadata.name, made.metadata.namespace
        found = await self._client.api_reader.get(ReplicaSet, name, namespace=namespace)
        if is_controlled_by(found, deployment) and find_new(deployment, [found]) is not None:
            return found
        status = statuses.status_of(deployment)
        await self._write(deployment, replace(status, collision_count=(status.collision_count or 0) + 1))
        raise AlreadyExists(f'replicasets.apps "{name}" already exists')

    async def _report_failure(self, deployment: Deployment, made: ReplicaSet, error: ApiError) -> None:
        if is_namespace_terminating(error):
            return
        message = f'Failed to create new replica set "{made.metadata.name}": {error.status.message}'
        if statuses.progress_deadline(deployment) is not None:
            status = self._with_progress(statuses.status_of(deployment), "False", statuses.CREATE_ERROR, message)
            await self._write(deployment, status)
        self._recorder.event(deployment, "Warning", statuses.CREATE_ERROR, message)

    def _with_progress(self, status: DeploymentStatus, value: str, reason: str, message: str) -> DeploymentStatus:
        found = statuses.condition(statuses.PROGRESSING, value, reason, message, self._context.clock())
        return replace(status, conditions=statuses.with_condition(list(status.conditions), found))

    async def _scale(self, deployment: Deployment, step: Scaling) -> None:
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
            message = f"Scaled {direction} replica set {meta.name} from {step.before} to {step.after}"
            self._recorder.event(deployment, "Normal", "ScalingReplicaSet", message)

    async def _clean_up(self, deployment: Deployment, old: Sequence[ReplicaSet]) -> None:
        """Delete old ReplicaSets without Pods, the oldest revisions first, but for as many as the history keeps."""
        limit = deployment.spec.revision_history_limit
        if limit is None or limit == _NO_HISTORY_LIMIT:
            return
        alive = [each for each in old if each.metadata.deletion_timestamp is None]
        for each in by_revision(alive)[: max(len(alive) - limit, 0)]:
            observed = (each.status.observed_generation or 0) if each.status is not None else 0
            if actual(each) or size(each) or each.metadata.generation > observed:
                continue
            try:
                await self._client.delete(each)
            except NotFound:
                continue

    def _is_complete(self, deployment: Deployment) -> bool:
        return statuses.is_complete(deployment, statuses.status_of(deployment))

    async def _sync_status(self, deployment: Deployment, rollout: Rollout) -> Result:
        now = self._context.clock()
        await self._write(deployment, statuses.next_status(deployment, rollout.all, rollout.new, now))
        return Result()

    async def _sync_rollout(self, deployment: Deployment, rollout: Rollout) -> Result:
        now = self._context.clock()
        status = statuses.next_rollout_status(deployment, rollout.all, rollout.new, now)
        if await self._write(deployment, status):
            return Result()
        wait = statuses.next_progress_check(deployment, status, now)
        return Result(requeue_after=wait) if wait is not None else Result()

    async def _write(self, deployment: Deployment, status: DeploymentStatus, revision: str = "") -> bool:
        """Write a status and the revision, where they have changed, in one request, as Kubernetes does."""
        patch: dict[str, Any] = {}
        if changes := status_changes(deployment.status, status):
            patch["status"] = changes
        if revision and deployment.metadata.annotations.get(REVISION) != revision:
            patch["metadata"] = {"annotations": {REVISION: revision}}
        if not patch:
            return False
        meta = deployment.metadata
        stored = await self._client.patch_status(Deployment, patch, name=meta.name, namespace=meta.namespace)
        # Not its spec, which may have been changed since it was read.
        deployment.status, meta.annotations = stored.status, stored.metadata.annotations
        return True


def _template_of(deployment: Deployment) -> dict[str, Any]:
    """The template as it is stored."""
    data = origin_of(deployment)
    document = read(data) if data is not None else document_of(deployment)
    template: dict[str, Any] = document["spec"]["template"]
    return template
