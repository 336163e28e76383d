"""The CronJob controller: creates a Job at each time of a schedule, and deletes old Jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from pilotage.cluster.cachedclient import CachedClient
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.predicates import generation_changed
from pilotage.controller.request import Enqueue, Request
from pilotage.controller.result import Result
from pilotage.errors import AlreadyExists, ApiError
from pilotage.meta.owners import is_controlled_by
from pilotage.types.batch.v1 import CronJob, Job
from pilotage.workloads.context import Context
from pilotage.workloads.cronjobs import decisions
from pilotage.workloads.cronjobs.decisions import Note
from pilotage.workloads.cronjobs.jobs import ControlledJobs
from pilotage.workloads.jobs.view import JobView
from pilotage.workloads.refusals import is_namespace_terminating

NAME = "cronjob-controller"


def setup(context: Context) -> None:
    """Add the controller to the manager."""
    client = context.client
    assert isinstance(client, CachedClient)  # that of a manager
    jobs = ControlledJobs(client)
    reconciler = CronJobReconciler(context, jobs)
    builder = ControllerBuilder(context.manager).named(NAME).watches(Job, jobs.requests)
    # Its own writes of the status need no reconcile.
    builder.watches(CronJob, reconciler.requests, predicates=[generation_changed])
    builder.complete(reconciler.reconcile)


class CronJobReconciler:
    """Applies what `decisions` has decided."""

    def __init__(self, context: Context, jobs: ControlledJobs) -> None:
        self._context = context
        self._client = context.client
        self._jobs = jobs
        self._recorder = context.recorder(NAME)

    def requests(self, event: Event[CronJob]) -> Requests:
        """A CronJob is reconciled at once, but with a changed schedule at its next time."""
        request = Request(event.name, event.namespace)
        old, new = event.old, event.object
        if event.type != "update" or old is None or _timing(old) == _timing(new):
            return (request,)
        after = decisions.until_changed_schedule(new, self._context.clock())
        if after is None:
            message = f"unparseable schedule for cronjob: {new.spec.schedule}"
            self._recorder.event(new, "Warning", "UnParseableCronJobSchedule", message)
            return ()
        return (Enqueue(request, after=max(after, timedelta())),)

    async def reconcile(self, request: Request) -> Result:
        cron_job = await self._client.find(CronJob, request.name, namespace=request.namespace)
        if cron_job is None:
            return Result()
        jobs = await self._jobs.of(request.namespace, request.name)
        changed = False
        for job in decisions.expired_jobs(cron_job, jobs):
            changed = await self._delete(cron_job, job.name, job.uid) or changed
        try:
            again, synced = await self.sync(cron_job, jobs)
            changed = changed or synced
        finally:
            if changed:
                await self._client.update_status(cron_job)
        return Result(requeue_after=max(again, timedelta(microseconds=1))) if again is not None else Result()

    async def sync(self, cron_job: CronJob, jobs: Sequence[JobView]) -> tuple[timedelta | None, bool]:
        """Note the Jobs that have ended, and start one if it is time. Returns when to reconcile again, and whether the
        status has changed."""
        changed, notes = decisions.note_jobs(cron_job, jobs)
        self._record(cron_job, notes)
        changed = await self._forget_missing(cron_job, {job.uid for job in jobs}) or changed
        again, started = await self._start(cron_job)
        return again, changed or started

    async def _forget_missing(self, cron_job: CronJob, known: set[str]) -> bool:
        """Remove the Jobs that do not exist any more from the active ones."""
        changed = False
        for reference in list(decisions.status_of(cron_job).active):
            if reference.uid in known:
                continue
            name, namespace = reference.name or "", reference.namespace or ""
            if await self._client.api_reader.find(Job, name, namespace=namespace) is None:
                self._recorder.event(cron_job, "Normal", "MissingJob", f"Active job went missing: {name}")
                decisions.remove_active(cron_job, reference.uid or "")
                changed = True
        return changed

    async def _start(self, cron_job: CronJob) -> tuple[timedelta | None, bool]:
        """Start a Job if it is time; when to reconcile again, and whether the status has changed."""
        if cron_job.metadata.deletion_timestamp is not None:
            return None, False
        decision = decisions.decide(cron_job, self._context.clock())
        self._record(cron_job, decision.notes)
        if decision.start is None:
            return decision.again, False
        if cron_job.spec.concurrency_policy == "Replace":
            await self._delete_active(cron_job)
        job = await self._create(cron_job, decisions.job_for(cron_job, decision.start))
        if job is None:
            return None, False
        status = decisions.status_of(cron_job)
        status.active = [*status.active, decisions.reference_to(job)]
        status.last_schedule_time = decision.start
        return decisions.until_changed_schedule(cron_job, self._context.clock()), True

    async def _create(self, cron_job: CronJob, job: Job) -> Job | None:
        """Create a Job; None if another one has its name, or it is active already."""
        name, namespace = job.metadata.name, job.metadata.namespace
        try:
            made = await self._client.create(job)
        except AlreadyExists:
            found = await self._client.api_reader.get(Job, name, namespace=namespace)
            active = decisions.status_of(cron_job).active
            known = any(one.uid == found.metadata.uid for one in active)
            return found if is_controlled_by(found, cron_job) and not known else None
        except ApiError as error:
            if not is_namespace_terminating(error):
                message = f"Error creating job: {error.status.message}"
                self._recorder.event(cron_job, "Warning", "FailedCreate", message)
            raise
        self._recorder.event(cron_job, "Normal", "SuccessfulCreate", f"Created job {name}")
        return made

    async def _delete_active(self, cron_job: CronJob) -> None:
        for reference in list(decisions.status_of(cron_job).active):
            name, namespace = reference.name or "", reference.namespace or ""
            try:
                job = await self._client.api_reader.get(Job, name, namespace=namespace)
            except ApiError as error:
                self._recorder.event(cron_job, "Warning", "FailedGet", f"Get job: {error.status.message}")
                raise
            if not await self._delete(cron_job, name, job.metadata.uid):
                raise RuntimeError(f"could not replace job {namespace}/{name}")

    async def _delete(self, cron_job: CronJob, name: str, uid: str) -> bool:
        namespace = cron_job.metadata.namespace
        try:
            await self._client.delete(Job, name, namespace=namespace, propagation_policy="Background")
        except ApiError as error:
            self._recorder.event(cron_job, "Warning", "FailedDelete", f"Deleted job: {error.status.message}")
            return False
        decisions.remove_active(cron_job, uid)
        self._recorder.event(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {name}")
        return True

    def _record(self, cron_job: CronJob, notes: list[Note] | tuple[Note, ...]) -> None:
        for note in notes:
            self._recorder.event(cron_job, note.type, note.reason, note.message)


def _timing(cron_job: CronJob) -> tuple[str, str | None]:
    return cron_job.spec.schedule, cron_job.spec.time_zone
