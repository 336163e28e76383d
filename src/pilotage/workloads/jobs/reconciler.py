"""Reconciles Jobs: reads a Job and its Pods, and applies the decisions of the other modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from pilotage.client.patch import Patch, raw_patch
from pilotage.cluster.events import EventRecorder
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.controller.workloads.jobs import is_job_finished
from pilotage.errors import ApiError, NotFound
from pilotage.meta.selectors.selectors import Selector
from pilotage.rest import PatchType
from pilotage.types.batch.v1 import Job, JobCondition
from pilotage.types.core.v1 import Pod
from pilotage.workloads.context import Context
from pilotage.workloads.jobs import counting, finishing, plans
from pilotage.workloads.jobs.backoff import Backoff
from pilotage.workloads.jobs.conditions import COMPLETE
from pilotage.workloads.jobs.modes import is_managed_elsewhere, is_suspended, status_of, uncounted_of
from pilotage.workloads.jobs.observation import Observation, observe
from pilotage.workloads.jobs.pods import JobPod, needs_full
from pilotage.workloads.jobs.sync import Sync
from pilotage.workloads.jobs.templates import pod_of
from pilotage.workloads.pods.claims import claim, pod_candidate
from pilotage.workloads.pods.control import PodControl, slow_start
from pilotage.workloads.pods.view import JOB_TRACKING_FINALIZER, PodView

NAME = "job-controller"
BATCH = timedelta(seconds=1)
"""How long events of Pods wait, so that a Job is reconciled once for many of them."""
_RELEASE = {"metadata": {"$deleteFromPrimitiveList/finalizers": [JOB_TRACKING_FINALIZER]}}
RELEASE: Patch = raw_patch(PatchType.STRATEGIC, _RELEASE)
"""Removes the finalizer of a Pod."""


class JobReconciler:
    """Creates the Pods of Jobs, counts those that have ended, and ends the Jobs."""

    def __init__(self, context: Context, recorder: EventRecorder) -> None:
        self._context = context
        self._client = context.client
        self._recorder = recorder
        self._control = PodControl(context.client, recorder)
        self._backoffs: dict[Request, Backoff] = {}

    async def reconcile(self, request: Request) -> Result:
        self._context.progress.set((request.namespace, request.name), None, "Job")
        job = await self._client.find(Job, request.name, namespace=request.namespace)
        if job is None or is_job_finished(job):
            self._backoffs.pop(request, None)
            return Result()
        if is_managed_elsewhere(job):
            return Result()
        now = self._context.clock()
        status = status_of(job)
        if status.start_time is None and not is_suspended(job):
            status.start_time = now.replace(microsecond=0)
        uncounted_of(job)  # the field is there from the first write on
        seen = observe(job, await self._pods_of(job), self._backoffs.get(request, Backoff()), now)
        sync = Sync(seen)
        errors = await self._manage(sync)
        for type_, reason, message in sync.notes:
            self._recorder.event(job, type_, reason, message)
        sync.waits += [left] if (left := finishing.until_deadline(job, now)) is not None and not sync.finish else []
        await self._track(request, sync, changed=sync.note_counts())
        if errors:
            raise errors[0]
        return Result(requeue_after=max(min(sync.waits), timedelta(microseconds=1))) if sync.waits else Result()

    async def _pods_of(self, job: Job) -> list[JobPod]:
        await self._context.pods.current()
        pods = self._context.pods
        candidates = [*pods.controlled_by(job.metadata.uid), *pods.orphans(job.metadata.namespace)]
        selector = Selector.from_label_selector(job.spec.selector or {})
        claimed = await claim(
            self._client, job, selector, candidates, pod_candidate, finalizers=(JOB_TRACKING_FINALIZER,)
        )
        await pods.current()
        found = [pods.get(*pod.key) or pod for pod in claimed]  # those that were adopted have changed
        has_failures = any(needs_full(pod, job) for pod in found)
        return [await self._job_pod(pod, job, has_failures=has_failures) for pod in found]

    async def _job_pod(self, pod: PodView, job: Job, *, has_failures: bool) -> JobPod:
        # The times of successes matter only beside those of failures.
        if needs_full(pod, job) or (has_failures and pod.is_finished):
            return JobPod(pod, await self._client.find(Pod, pod.name, namespace=pod.namespace))
        return JobPod(pod)

    async def _manage(self, sync: Sync) -> list[ApiError]:
        """Create and delete Pods, and set the conditions that follow."""
        seen = sync.seen
        if (finish := finishing.finish_of(seen)) is not None:
            errors = await self._delete(sync, seen.active, release=False)
            sync.end(finish, deleted_all=not errors)
            return errors
        errors = []
        is_managed = seen.job.metadata.deletion_timestamp is None
        if is_managed:
            plan = plans.next_pods(seen)
            errors = await self._delete(sync, plan.delete, release=True)
            errors += await self._create(sync, plan.create)
            if plan.wait is not None:
                sync.waits.append(max(plan.wait, BATCH))
        sync.conclude(is_managed=is_managed)
        return errors

    async def _delete(self, sync: Sync, pods: Sequence[JobPod], *, release: bool) -> list[ApiError]:
        errors = []
        for pod in pods:
            try:
                if not release or await self._release(pod):
                    await self._control.delete(pod.view, sync.seen.job)
            except ApiError as error:
                errors.append(error)
            else:
                sync.note_deleted(pod)
        return errors

    async def _create(self, sync: Sync, indexes: Sequence[int]) -> list[ApiError]:
        job, left = sync.seen.job, iter(indexes)
        try:
            await slow_start(len(indexes), lambda: self._create_next(sync, job, left))
        except ApiError as error:
            return [error]
        return []

    async def _create_next(self, sync: Sync, job: Job, indexes: Iterator[int]) -> None:
        index = next(indexes)
        await self._control.create(pod_of(job, index, sync.seen.awaiting.get(index)), job)
        sync.active += 1

    async def _track(self, request: Request, sync: Sync, *, changed: bool) -> None:
        """Count the Pods that have ended, and end the Job. `changed`: whether the status must be written."""
        seen, job = sync.seen, sync.seen.job
        counted = counting.count_ended(seen, sync.finish)
        changed = counting.note_interim(status_of(job), sync.finish) or changed or counted.has_changed
        final = sync.final_condition()
        if changed:
            await self._client.update_status(job)
            self._backoffs[request] = seen.backoff
        kept, failure = await self._release_all(seen, counted.release)
        changed = counting.count_released(job, kept)
        if failure is not None:
            if changed:
                await self._client.update_status(job)
            raise failure
        if counted.is_limited:
            sync.waits.append(BATCH)
        ended = final is not None and not counted.is_limited and counting.finish_job(job, final, sync.terminating)
        if changed or ended:
            await self._client.update_status(job)
        if ended and final is not None:
            self._backoffs.pop(request, None)
            self._record_end(job, final)

    async def _release_all(self, seen: Observation, pods: Sequence[JobPod]) -> tuple[set[str], ApiError | None]:
        """Remove finalizers; the uids of the Pods that have one still, and the first error."""
        kept, failure = {pod.uid for pod in seen.pods if pod.has_finalizer}, None
        for pod in pods:
            try:
                await self._release(pod)
            except ApiError as error:
                failure = failure or error
            else:
                kept.discard(pod.uid)
        return kept, failure

    async def _release(self, pod: JobPod) -> bool:
        """Remove the finalizer of a Pod; whether the Pod exists."""
        if not pod.has_finalizer:
            return True
        try:
            await self._client.patch(Pod, RELEASE, name=pod.view.name, namespace=pod.view.namespace)
        except NotFound:
            return False
        return True

    def _record_end(self, job: Job, final: JobCondition) -> None:
        if final.type != COMPLETE:
            self._recorder.event(job, "Warning", final.reason or "", final.message or "")
            return
        completions = job.spec.completions
        if completions is not None and (status_of(job).succeeded or 0) > completions:
            message = "Too many succeeded pods running after completion count reached"
            self._recorder.event(job, "Warning", "TooManySucceededPods", message)
        self._recorder.event(job, "Normal", "Completed", "Job completed")
