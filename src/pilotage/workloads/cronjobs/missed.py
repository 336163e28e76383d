"""Which time of its schedule a CronJob has not run for yet, and when the next one is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from pilotage.kubernetes.batch.schedules import Schedule
from pilotage.types.batch.v1 import CronJob
from pilotage.workloads.cronjobs.timing import next_time
from pilotage.workloads.durations import span

MANY = 100
"""With more missed times than this, an Event says so."""
_MARGIN = timedelta(milliseconds=100)
"""How much later than the time of a schedule a CronJob is reconciled, so that clocks may differ a little."""
_SECOND = timedelta(seconds=1)


class Missed(NamedTuple):
    """The times of a schedule between the last run, or the creation, and now."""

    earliest: datetime
    """From when on they are counted."""
    recent: datetime | None
    """The last one."""
    amount: Literal["none", "few", "many"]


def missed_times(cron_job: CronJob, now: datetime, schedule: Schedule, *, within_deadline: bool = True) -> Missed:
    """The times that were missed; those before `startingDeadlineSeconds` do not count `within_deadline`.

    Raises ValueError for a schedule with no times, such as the 31st of February.
    """
    earliest = _earliest(cron_job, now, within_deadline=within_deadline)
    first = next_time(schedule, earliest)
    if first is not None and now < first:
        return Missed(earliest, None, "none")
    second = next_time(schedule, first) if first is not None else None
    if first is None or second is None:
        raise ValueError("time difference between two schedules is less than 1 second")
    if now < second:
        return Missed(earliest, first, "none")
    between = (second - first) // _SECOND
    number = (now - first) // _SECOND // between + 1
    # From two intervals before the last one on, because the intervals of a schedule may differ.
    found, recent = next_time(schedule, first + timedelta(seconds=(number - 2) * between)), None
    while found is not None and found <= now:
        found, recent = next_time(schedule, found), found
    return Missed(earliest, recent, "many" if number > MANY else "few")


def _earliest(cron_job: CronJob, now: datetime, *, within_deadline: bool) -> datetime:
    created = cron_job.metadata.creation_timestamp
    last = cron_job.status.last_schedule_time if cron_job.status is not None else None
    earliest = last or created or now
    deadline = cron_job.spec.starting_deadline_seconds
    if within_deadline and deadline is not None:
        return max(earliest, now - span(deadline))
    return earliest


def until_next(cron_job: CronJob, now: datetime, schedule: Schedule) -> timedelta:
    """How long until the CronJob is reconciled again for its schedule."""
    try:
        missed = missed_times(cron_job, now, schedule, within_deadline=False)
    except ValueError:
        start = now
    else:
        start = missed.recent or (missed.earliest if missed.amount == "none" else now)
    found = next_time(schedule, start)
    return found + _MARGIN - now if found is not None else timedelta()
