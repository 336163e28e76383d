"""Reads a Deployment and its ReplicaSets, and does the next step of its rollout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import ApiError
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.apps.v1 import Deployment, ReplicaSet
from pilotage.types.meta.v1 import LabelSelector
from pilotage.workloads.context import Context
from pilotage.workloads.deployments import status as statuses
from pilotage.workloads.deployments.replicasets import active, find_new, runs_pods, size, superseded, without
from pilotage.workloads.deployments.revisions import REVISION, max_revision, next_annotations
from pilotage.workloads.deployments.sizes import (
    Scaling,
    is_rolling,
    is_scaled,
    next_new_size,
    next_old_sizes,
    next_sizes,
    replicas_of,
)
from pilotage.workloads.deployments.writer import DeploymentWriter
from pilotage.workloads.pods.claims import candidate, claim, controller_uid
from pilotage.workloads.refusals import is_namespace_terminating


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
        self._writer = DeploymentWriter(context)

    async def reconcile(self, request: Request[Deployment]) -> Result:
        """Do the next step of a Deployment."""
        deployment = await self._client.find(Deployment, request)
        if deployment is None:
            return Result()
        if deployment.spec.selector == LabelSelector():
            await self._writer.refuse(deployment)
            return Result()
        try:
            return await self._sync(deployment)
        except ApiError as error:
            if is_namespace_terminating(error):  # nothing can be created any more
                return Result()
            raise

    async def _sync(self, deployment: Deployment) -> Result:
        found = await self._replica_sets(deployment)
        if deployment.metadata.deletion_timestamp is not None:
            return await self._sync_status(deployment, await self._current(deployment, found))
        paused = statuses.next_paused_condition(deployment, self._context.clock())
        if paused is not None:
            status = statuses.status_of(deployment)
            conditions = statuses.with_condition(list(status.conditions), paused)
            await self._writer.write(deployment, replace(status, conditions=conditions))
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
        found = [listed[at] for at, header in enumerate(listed.headers) if controller_uid(header) in ("", uid)]
        selector = Selector.from_label_selector(deployment.spec.selector)
        return await claim(self._client, deployment, selector, found, candidate)

    async def _current(self, deployment: Deployment, found: Sequence[ReplicaSet]) -> Rollout:
        """The new and the old ReplicaSets. The new one gets its revision, and the Deployment gets the same."""
        new = find_new(deployment, found)
        old = without(found, new)
        if new is None:
            return Rollout(None, old)
        changes = _changes(deployment, new, max_revision(old) + 1)
        if changes:
            await self._client.patch(new, changes)
        status = statuses.status_of(deployment)
        progress = statuses.find(status.conditions, statuses.PROGRESSING)
        if statuses.progress_deadline(deployment) is not None and progress is None:
            message = f'Found new replica set "{new.metadata.name}"'
            status = self._writer.with_progress(status, "True", statuses.FOUND, message)
        await self._writer.write(deployment, status, new.metadata.annotations.get(REVISION, ""))
        return Rollout(new, old)

    async def _scale_all(self, deployment: Deployment, rollout: Rollout) -> Result:
        """What happens to a Deployment that is paused, or whose size was changed."""
        for step in next_sizes(deployment, rollout.new, rollout.old):
            await self._writer.scale(deployment, step)
        if deployment.spec.paused:
            await self._clean_up(deployment, rollout)
        return await self._sync_status(deployment, rollout)

    async def _roll(self, deployment: Deployment, rollout: Rollout) -> Result:
        """The next step of a rolling update: Pods of the new ReplicaSet are added, or those of old ones removed."""
        new = rollout.new
        if new is None:
            new = await self._writer.create(deployment, rollout.old)
            rollout = rollout._replace(new=new)
        step = Scaling(new, size(new), next_new_size(deployment, rollout.all, size(new)))
        if step.before != step.after:
            await self._writer.scale(deployment, step)
        elif not await self._scale_down(deployment, active(rollout.old), new):
            await self._clean_up_complete(deployment, rollout)
        return await self._sync_rollout(deployment, rollout)

    async def _scale_down(self, deployment: Deployment, old: list[ReplicaSet], new: ReplicaSet) -> bool:
        """Whether old ReplicaSets were scaled down."""
        steps = next_old_sizes(deployment, old, new)
        for step in steps:
            await self._writer.scale(deployment, step)
        return bool(steps)

    async def _recreate(self, deployment: Deployment, rollout: Rollout) -> Result:
        """The next step where all old Pods must have ended before the first new one is created."""
        steps = [Scaling(each, size(each), 0) for each in active(rollout.old)]
        for step in steps:
            await self._writer.scale(deployment, step)
        if steps or await self._runs_old_pods(rollout):
            return await self._sync_rollout(deployment, rollout)
        new = rollout.new
        if new is None:
            new = await self._writer.create(deployment, rollout.old)
            rollout = rollout._replace(new=new)
        if size(new) != replicas_of(deployment):
            await self._writer.scale(deployment, Scaling(new, size(new), replicas_of(deployment)))
        await self._clean_up_complete(deployment, rollout)
        return await self._sync_rollout(deployment, rollout)

    async def _runs_old_pods(self, rollout: Rollout) -> bool:
        pods = self._context.pods
        await pods.current()
        return runs_pods(rollout.old, (pod for each in rollout.old for pod in pods.controlled_by(each.metadata.uid)))

    async def _clean_up_complete(self, deployment: Deployment, rollout: Rollout) -> None:
        if statuses.is_complete(deployment, statuses.status_of(deployment)):
            await self._clean_up(deployment, rollout)

    async def _clean_up(self, deployment: Deployment, rollout: Rollout) -> None:
        await self._writer.delete(superseded(rollout.old, deployment.spec.revision_history_limit))

    async def _sync_status(self, deployment: Deployment, rollout: Rollout) -> Result:
        now = self._context.clock()
        await self._writer.write(deployment, statuses.next_status(deployment, rollout.all, rollout.new, now))
        return Result()

    async def _sync_rollout(self, deployment: Deployment, rollout: Rollout) -> Result:
        now = self._context.clock()
        status = statuses.next_rollout_status(deployment, rollout.all, rollout.new, now)
        if await self._writer.write(deployment, status):
            return Result()  # the event of the write reconciles it again
        wait = statuses.next_progress_check(deployment, status, now)
        return Result(requeue_after=wait) if wait is not None else Result()


def _changes(deployment: Deployment, new: ReplicaSet, revision: int) -> dict[str, Any]:
    """A patch of the new ReplicaSet for what the Deployment has given it since."""
    annotations = next_annotations(new.metadata.annotations, deployment.metadata.annotations, revision)
    seconds = deployment.spec.min_ready_seconds or 0
    if annotations is None and (new.spec.min_ready_seconds or 0) == seconds:
        return {}
    changes: dict[str, Any] = {"metadata": {"annotations": annotations}} if annotations is not None else {}
    return {**changes, "spec": {"minReadySeconds": seconds or None}}
