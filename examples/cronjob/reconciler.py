"""Runs the Jobs of CronJobs: starts those that are due, deletes old ones, and reports the running ones."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pilotage as pt
from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import ObjectReference

from .kinds import CronJob, CronJobStatus
from .schedule import Schedule

SCHEDULED_AT = "batch.tutorial.pilotage.dev/scheduled-at"
OWNER = "controller"
TOO_MANY = 100


@dataclass
class Jobs:
    """The Jobs of a CronJob by their state."""

    active: list[Job] = field(default_factory=list)
    successful: list[Job] = field(default_factory=list)
    failed: list[Job] = field(default_factory=list)

    def schedule_times(self) -> list[datetime]:
        return [scheduled_at(job) for job in (*self.active, *self.successful, *self.failed)]


class CronJobReconciler:
    def __init__(self, manager: pt.Manager, clock: Callable[[], datetime] | None = None) -> None:
        self.client = manager.client
        self.clock = clock or manager.clock

    def setup_with_manager(self, manager: pt.Manager) -> None:
        manager.cache.index_field(Job, OWNER, owner_of)
        pt.ControllerBuilder(manager).for_(CronJob).owns(Job).complete(self)

    async def reconcile(self, request: pt.Request) -> pt.Result:
        cron_job = await self.client.get(CronJob, request)
        owned = await self.client.list(Job, namespace=request.namespace, fields={OWNER: cron_job.metadata.uid or ""})
        jobs = by_state(list(owned))
        await self.report(cron_job, jobs)
        await self.delete_old(jobs.successful, cron_job.spec.successful_jobs_history_limit)
        await self.delete_old(jobs.failed, cron_job.spec.failed_jobs_history_limit)
        if cron_job.spec.suspend:
            return pt.Result()
        now = self.clock()
        missed, following = due(cron_job, now)
        if missed is not None:
            await self.run(cron_job, missed, jobs.active)
        return pt.Result(requeue_after=(following - now).total_seconds()) if following else pt.Result()

    async def report(self, cron_job: CronJob, jobs: Jobs) -> None:
        known = cron_job.status.last_schedule_time if cron_job.status else None
        last = max(jobs.schedule_times() + ([known] if known else []), default=None)  # its Job may be deleted already
        status = CronJobStatus(active=[reference(job) for job in jobs.active], last_schedule_time=last)
        if status != (cron_job.status or CronJobStatus()):
            cron_job.status = status
            await self.client.update_status(cron_job)

    async def delete_old(self, jobs: list[Job], limit: int | None) -> None:
        jobs.sort(key=scheduled_at)
        for job in jobs[: max(len(jobs) - limit, 0)] if limit is not None else []:
            await self.delete(job)

    async def run(self, cron_job: CronJob, time: datetime, active: list[Job]) -> None:
        """Start the Job of a time in the past, unless another one must finish first."""
        if cron_job.spec.concurrency_policy == "Forbid" and active:
            pt.logger().info("concurrency policy blocks concurrent runs", active=len(active))
            return
        if cron_job.spec.concurrency_policy == "Replace":
            for job in active:
                await self.delete(job)
        with suppress(pt.AlreadyExists):  # its name contains the time: this run was started already
            await self.client.create(job_for(cron_job, time))

    async def delete(self, job: Job) -> None:
        with suppress(pt.NotFound):
            await self.client.delete(job, propagation_policy="Background")


def due(cron_job: CronJob, now: datetime) -> tuple[datetime | None, datetime | None]:
    """The last time that was missed and may still start, and the next one. Raises TerminalError after too many."""
    schedule = Schedule.parse(cron_job.spec.schedule)
    earliest = cron_job.status.last_schedule_time if cron_job.status else None
    earliest = earliest or cron_job.metadata.creation_timestamp or now
    deadline = cron_job.spec.starting_deadline_seconds
    if deadline is not None:
        earliest = max(earliest, now - timedelta(seconds=deadline))  # earlier runs are too late
    missed, count = None, 0
    time = schedule.next(earliest)
    while time is not None and time <= now:
        missed, count = time, count + 1
        if count > TOO_MANY:
            raise pt.TerminalError(
                f"more than {TOO_MANY} runs were missed: set spec.startingDeadlineSeconds, or check the clock"
            )
        time = schedule.next(time)
    return missed, time


def job_for(cron_job: CronJob, time: datetime) -> Job:
    """The Job of one run. The same run has the same name, so that it cannot be started twice."""
    template = cron_job.spec.job_template
    meta = template.metadata or pt.ObjectMeta()
    job = Job(
        metadata=pt.ObjectMeta(
            name=f"{cron_job.metadata.name}-{int(time.timestamp())}",
            namespace=cron_job.metadata.namespace,
            labels=dict(meta.labels),
            annotations={**meta.annotations, SCHEDULED_AT: time.isoformat()},
        ),
        spec=template.spec,
    )
    pt.set_controller_reference(cron_job, job)
    return job


def owner_of(job: Job) -> list[str]:
    owner = pt.controller_of(job)
    return [owner.uid] if owner is not None and owner.kind == "CronJob" else []


def by_state(jobs: list[Job]) -> Jobs:
    found = Jobs()
    for job in jobs:
        conditions = job.status.conditions if job.status else []
        ended = next(
            (one.type for one in conditions if one.type in ("Complete", "Failed") and one.status == "True"), ""
        )
        {"Complete": found.successful, "Failed": found.failed}.get(ended, found.active).append(job)
    return found


def scheduled_at(job: Job) -> datetime:
    """When its run was due; if a user has removed the annotation, when the Job was created."""
    text = job.metadata.annotations.get(SCHEDULED_AT)
    return datetime.fromisoformat(text) if text else job.metadata.creation_timestamp or datetime.fromtimestamp(0, UTC)


def reference(job: Job) -> ObjectReference:
    meta = job.metadata
    return ObjectReference(api_version="batch/v1", kind="Job", name=meta.name, namespace=meta.namespace, uid=meta.uid)
