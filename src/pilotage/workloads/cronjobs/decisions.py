"""What a CronJob does now: which Jobs have ended, whether one is started, and which old ones are deleted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import NamedTuple

from pilotage.kubernetes.batch.schedules import parse_schedule, zone_problem
from pilotage.meta.models import ObjectMeta
from pilotage.meta.objects import copy_of
from pilotage.meta.owners import set_controller_reference
from pilotage.meta.scalars import times
from pilotage.types.batch.v1 import CronJob, CronJobStatus, Job
from pilotage.types.core.v1 import ObjectReference
from pilotage.workloads.cronjobs.missed import missed_times, until_next
from pilotage.workloads.cronjobs.timing import zone_named
from pilotage.workloads.durations import span
from pilotage.workloads.jobs.view import JobView

SCHEDULED_TIMESTAMP = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_HELP = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"


class Note(NamedTuple):
    """An Event about the CronJob."""

    type: str
    reason: str
    message: str


class Decision(NamedTuple):
    """Whether a Job is started now, and when the CronJob is reconciled again."""

    start: datetime | None = None
    """The time of the schedule that the Job is for."""
    again: timedelta | None = None
    notes: tuple[Note, ...] = ()


def status_of(cron_job: CronJob) -> CronJobStatus:
    """The status, which is added if there is none."""
    if cron_job.status is None:
        cron_job.status = CronJobStatus()
    return cron_job.status


def note_jobs(cron_job: CronJob, jobs: Sequence[JobView]) -> tuple[bool, list[Note]]:
    """Update the status for the Jobs that have ended; whether it has changed, and the Events."""
    status, notes, changed = status_of(cron_job), [], False
    for job in jobs:
        is_listed = any(one.uid == job.uid for one in status.active)
        if not job.finished:
            if not is_listed:
                message = f"Saw a job that the controller did not create or forgot: {job.name}"
                notes.append(Note("Warning", "UnexpectedJob", message))
            continue
        if is_listed:
            remove_active(cron_job, job.uid)
            message = f"Saw completed job: {job.name}, condition: {job.finished}"
            notes.append(Note("Normal", "SawCompletedJob", message))
            changed = True
        last = status.last_successful_time
        if job.finished == "Complete" and job.completed is not None and (last is None or job.completed > last):
            status.last_successful_time = job.completed
            changed = True
    return changed, notes


def remove_active(cron_job: CronJob, uid: str) -> None:
    """Remove a Job from the active ones."""
    status = status_of(cron_job)
    status.active = [one for one in status.active if one.uid != uid]


def decide(cron_job: CronJob, now: datetime) -> Decision:
    """Whether a Job is started at this time."""
    spec, status = cron_job.spec, status_of(cron_job)
    zone = spec.time_zone
    if zone is not None and (problem := zone_problem(zone)):
        return _stopped("UnknownTimeZone", f"invalid timeZone: {json.dumps(zone)}: {problem}")
    if spec.suspend:
        return Decision()
    notes: list[Note] = []
    if "TZ" in spec.schedule:
        message = f"CRON_TZ or TZ used in schedule {json.dumps(spec.schedule)} is not officially supported, see {_HELP}"
        notes.append(Note("Warning", "UnsupportedSchedule", f"{message} for more details"))
    try:
        schedule = parse_schedule(schedule_text(cron_job))
    except ValueError as error:
        message = f"unparseable schedule: {json.dumps(spec.schedule)} : {error}"
        return _stopped("UnparseableSchedule", message, notes)
    try:
        missed = missed_times(cron_job, now, schedule)
    except ValueError as error:
        return _stopped("InvalidSchedule", f"invalid schedule: {spec.schedule} : {error}", notes)
    again = until_next(cron_job, now, schedule)
    time = missed.recent
    if time is None:
        return Decision(None, again, tuple(notes))
    if missed.amount == "many":
        message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        notes.append(Note("Warning", "TooManyMissedTimes", message))
    if spec.starting_deadline_seconds is not None and time + span(spec.starting_deadline_seconds) < now:
        message = f"Missed scheduled time to start a job: {format_datetime(time)}"
        return Decision(None, again, (*notes, Note("Warning", "MissSchedule", message)))
    name = job_name(cron_job, time)
    if status.last_schedule_time == time or any(one.name == name for one in status.active):
        return Decision(None, again, tuple(notes))
    if spec.concurrency_policy == "Forbid" and status.active:
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        return Decision(None, again, (*notes, Note("Normal", "JobAlreadyActive", message)))
    return Decision(time, again, tuple(notes))


def _stopped(reason: str, message: str, notes: Sequence[Note] = ()) -> Decision:
    """The CronJob is not reconciled again before it is changed."""
    return Decision(None, None, (*notes, Note("Warning", reason, message)))


def schedule_text(cron_job: CronJob) -> str:
    """The schedule with the zone of the spec, unless it has a zone itself."""
    spec = cron_job.spec
    if "TZ" in spec.schedule or spec.time_zone is None or zone_problem(spec.time_zone):
        return spec.schedule
    return f"TZ={spec.time_zone} {spec.schedule}"


def until_changed_schedule(cron_job: CronJob, now: datetime) -> timedelta | None:
    """How long until a CronJob whose schedule was changed is reconciled; None if its schedule cannot be parsed."""
    try:
        return until_next(cron_job, now, parse_schedule(schedule_text(cron_job)))
    except ValueError:
        return None


def job_name(cron_job: CronJob, time: datetime) -> str:
    """The name of the Job for a time: it is the same each time, so a Job cannot be created twice."""
    return f"{cron_job.metadata.name}-{int(time.timestamp()) // 60}"


def job_for(cron_job: CronJob, time: datetime) -> Job:
    """The Job for a time of the schedule."""
    template = cron_job.spec.job_template
    given = template.metadata or ObjectMeta()
    zone = zone_named(cron_job.spec.time_zone or "")
    metadata = ObjectMeta(
        name=job_name(cron_job, time),
        namespace=cron_job.metadata.namespace,
        labels=dict(given.labels),
        annotations={**given.annotations, SCHEDULED_TIMESTAMP: _rfc3339(time.astimezone(zone))},
    )
    job = Job(metadata=metadata, spec=copy_of(template.spec))
    set_controller_reference(cron_job, job)
    return job


def _rfc3339(time: datetime) -> str:
    text = time.isoformat(timespec="seconds")
    return times.format(time) if not time.utcoffset() else text


def reference_to(job: Job) -> ObjectReference:
    """The reference to a Job in the list of active ones."""
    metadata = job.metadata
    return ObjectReference(
        api_version="batch/v1",
        kind="Job",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def expired_jobs(cron_job: CronJob, jobs: Sequence[JobView]) -> list[JobView]:
    """The Jobs that the limits of the history do not keep, the oldest first: successful ones, then failed ones."""
    spec, found = cron_job.spec, []
    limits = (("Complete", spec.successful_jobs_history_limit), ("Failed", spec.failed_jobs_history_limit))
    for finished, limit in limits:
        ended = sorted((job for job in jobs if job.finished == finished), key=_age)
        if limit is not None and len(ended) > limit:
            found += ended[: len(ended) - limit]
    return found


def _age(job: JobView) -> tuple[bool, float, str]:
    """Jobs by their start; those that have not started are the last."""
    return job.started is None, job.started.timestamp() if job.started is not None else 0.0, job.name
