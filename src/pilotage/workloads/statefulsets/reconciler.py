"""Reads a StatefulSet with its Pods, claims and revisions, does the next steps, and writes the status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import PilotageError
from pilotage.meta.bounds.recent import Recent
from pilotage.meta.models import OwnerReference
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.apps.v1 import ControllerRevision, StatefulSet, StatefulSetStatus
from pilotage.types.core.v1 import PersistentVolumeClaim, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.pods.availability import next_check
from pilotage.workloads.pods.claims import Candidate, claim, pod_candidate
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.revisions.data import data_of, template_of
from pilotage.workloads.revisions.history import excess, new_revision, next_number, stored_as
from pilotage.workloads.revisions.store import claimed_revisions, create_revision, renumber
from pilotage.workloads.statefulsets.control import StatefulPodControl
from pilotage.workloads.statefulsets.identity import REVISION_LABEL, is_member, storage_matches
from pilotage.workloads.statefulsets.plan import Observed, Plan, Step, counted_pods, is_parallel, next_plan
from pilotage.workloads.statefulsets.status import (
    complete_rolling_update,
    is_inconsistent,
    next_status,
    without_one_current,
)
from pilotage.workloads.statuses import write_status

COMPONENT = "statefulset-controller"
_MOST_PODS = 100_000
_LARGEST_BATCH = 500


class _Revisions(NamedTuple):
    """The two revisions of a StatefulSet that count."""

    current: ControllerRevision
    update: ControllerRevision
    collision_count: int


class StatefulSetReconciler:
    """Reconciles StatefulSets."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._control = StatefulPodControl(context.client, context.recorder(COMPONENT))
        self._stored: Recent[tuple[str, tuple[str, ...]], bool] = Recent(_MOST_PODS)
        """Whether the volumes of a Pod, which never change, are its claims: by its uid and the names of templates."""

    async def reconcile(self, request: Request) -> Result:
        """Do the next steps of a StatefulSet."""
        owner = await self._client.find(StatefulSet, request)
        if owner is None:
            return Result()
        selector = Selector.from_label_selector(owner.spec.selector)
        history = await claimed_revisions(self._client, owner, selector, release=False)
        pods = await self._pods(owner, selector)
        live = {pod.labels.get(REVISION_LABEL, "") for pod in pods}
        try:
            revisions = await self._revisions(owner, history)
            live |= {revisions.current.metadata.name, revisions.update.metadata.name}
            status = await self._sync(owner, revisions, pods)
        finally:
            await self._truncate(owner, history, live)
        seconds = owner.spec.min_ready_seconds
        if not seconds or (status.ready_replicas or 0) == (status.available_replicas or 0):
            return Result()
        return Result(requeue_after=next_check(pods, seconds, self._context.clock()))

    async def _pods(self, owner: StatefulSet, selector: Selector) -> list[PodView]:
        """The Pods that it controls, that it selects and whose names are its own; others are released or adopted."""
        pods = self._context.pods
        await pods.current()
        found = [*pods.controlled_by(owner.metadata.uid), *pods.orphans(owner.metadata.namespace)]

        def describe(pod: PodView) -> Candidate:
            given = pod_candidate(pod)
            return given if is_member(owner, pod.name) else given._replace(is_member=False)

        return await claim(self._client, owner, selector, found, describe)

    async def _revisions(self, owner: StatefulSet, history: Sequence[ControllerRevision]) -> _Revisions:
        """The current revision, and the one that the template of the set has, which is created where there is none."""
        count = (owner.status.collision_count or 0) if owner.status is not None else 0
        data, number = data_of(owner), next_number(history)
        found = stored_as(history, data)
        if found is not None and found.is_newest:
            update = found.revision
        elif found is not None:
            update = await renumber(self._client, found.revision, number)
        else:
            made = new_revision(owner, data, number, count)
            update, count = await create_revision(self._client, owner, made, count)
        name = owner.status.current_revision if owner.status is not None else None
        current = next((revision for revision in history if revision.metadata.name == name), update)
        return _Revisions(current, update, count)

    async def _sync(self, owner: StatefulSet, revisions: _Revisions, pods: Sequence[PodView]) -> StatefulSetStatus:
        """Do the next steps, and write the status even if one of them fails."""
        seen = await self._observed(owner, revisions, pods)
        counted = pods if owner.metadata.deletion_timestamp is not None else counted_pods(pods)
        status = next_status(owner, seen.current, seen.update, revisions.collision_count, counted, seen.now)
        plan, error = next_plan(seen), None
        try:
            await self._do(owner, revisions, plan)
        except PilotageError as refused:
            error = refused
        else:
            if plan.deletes_for_update:
                without_one_current(status)
        complete_rolling_update(owner, status)
        if is_inconsistent(owner, status):
            await write_status(self._client, owner, status)
        if error is not None:
            raise error
        return status

    async def _observed(self, owner: StatefulSet, revisions: _Revisions, pods: Sequence[PodView]) -> Observed:
        claims: Mapping[str, Sequence[OwnerReference]] = {}
        unstored: list[str] = []
        if owner.spec.volume_claim_templates:
            found = await self._client.list(PersistentVolumeClaim, namespace=owner.metadata.namespace)
            claims = {header.name: header.owner_references for header in found.headers}
            unstored = [pod.name for pod in pods if not await self._is_stored(owner, pod)]
        return Observed(
            owner,
            revisions.current.metadata.name,
            revisions.update.metadata.name,
            pods,
            self._context.clock(),
            claims,
            unstored,
        )

    async def _is_stored(self, owner: StatefulSet, pod: PodView) -> bool:
        key = pod.uid, tuple(template.metadata.name for template in owner.spec.volume_claim_templates)
        found = self._stored.get(key)
        if found is None:
            full = await self._client.find(Pod, pod.name, namespace=pod.namespace)
            found = self._stored[key] = full is None or storage_matches(owner, full)
        return found

    async def _do(self, owner: StatefulSet, revisions: _Revisions, plan: Plan) -> None:
        """Do the phases in turn, up to an error. With the policy Parallel, a batch goes on after an error in it."""
        for phase in plan.phases:
            if is_parallel(owner):
                await self._do_in_batches(owner, revisions, phase)
            else:
                for group in phase:
                    await self._do_group(owner, revisions, group)

    async def _do_in_batches(self, owner: StatefulSet, revisions: _Revisions, phase: Sequence[Sequence[Step]]) -> None:
        done, size = 0, 1
        while done < len(phase):
            error: PilotageError | None = None
            for group in phase[done : done + size]:
                try:
                    await self._do_group(owner, revisions, group)
                except PilotageError as refused:
                    error = error or refused
            if error is not None:
                raise error
            done, size = done + size, min(2 * size, _LARGEST_BATCH)

    async def _do_group(self, owner: StatefulSet, revisions: _Revisions, group: Sequence[Step]) -> None:
        for step in group:
            pod = step.pod
            if pod is None:
                revision = revisions.current if step.is_current else revisions.update
                template = template_of(revision)
                await self._control.create(owner, template, revision.metadata.name, step.ordinal)
            elif step.verb == "delete":
                await self._control.delete(owner, pod)
            elif step.verb == "update":
                await self._control.update(owner, pod)
            elif step.verb == "make claims":
                await self._control.make_claims(owner, pod)
            else:
                await self._control.own_claims(owner, pod)

    async def _truncate(self, owner: StatefulSet, history: Sequence[ControllerRevision], live: set[str]) -> None:
        for revision in excess(history, live, owner.spec.revision_history_limit):
            meta = revision.metadata
            await self._client.delete(ControllerRevision, meta.name, namespace=meta.namespace)
