"""CronJobs in two versions: v1 has the schedule as text and is stored, v2 has it as a structure."""

from typing import Annotated, Any, Literal

import pilotage as pt
from pilotage.types.batch.v1 import JobTemplateSpec
from pilotage.types.core.v1 import ObjectReference

GROUP = "batch.tutorial.pilotage.dev"


class CommonSpec(pt.Model):
    """What the versions have in common."""

    job_template: JobTemplateSpec
    starting_deadline_seconds: Annotated[int, pt.Minimum(0)] | None = None
    """A run that is later than this is skipped."""
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] | None = None
    """Whether a Job may start while an earlier one runs."""
    suspend: bool | None = None
    successful_jobs_history_limit: Annotated[int, pt.Minimum(0)] | None = None
    failed_jobs_history_limit: Annotated[int, pt.Minimum(0)] | None = None


def common(spec: CommonSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in CommonSpec.__struct_fields__}


class CronJobSpec(CommonSpec):
    schedule: Annotated[str, pt.MinLength(1)]
    """A cron expression: minute, hour, day of month, month, day of week."""


class CronJobStatus(pt.Model):
    active: list[ObjectReference] = []
    last_schedule_time: pt.Time | None = None


@pt.resource(group=GROUP, version="v1", status=True, columns=[pt.Column("Schedule", ".spec.schedule")])
class CronJob(pt.Resource):
    """The hub: the other version converts to and from this one."""

    spec: CronJobSpec
    status: CronJobStatus | None = None


class CronSchedule(pt.Model):
    minute: str = "*"
    hour: str = "*"
    day_of_month: str = "*"
    month: str = "*"
    day_of_week: str = "*"


class CronJobSpecV2(CommonSpec):
    schedule: CronSchedule


@pt.resource(group=GROUP, version="v2", kind="CronJob", status=True, storage=False)
class CronJobV2(pt.Resource):
    spec: CronJobSpecV2
    status: CronJobStatus | None = None

    def convert_to(self) -> CronJob:
        parts = self.spec.schedule
        text = f"{parts.minute} {parts.hour} {parts.day_of_month} {parts.month} {parts.day_of_week}"
        spec = CronJobSpec(schedule=text, **common(self.spec))
        return CronJob(metadata=self.metadata, spec=spec, status=self.status)

    @classmethod
    def convert_from(cls, job: CronJob) -> "CronJobV2":
        minute, hour, day_of_month, month, day_of_week = job.spec.schedule.split()
        parts = CronSchedule(minute=minute, hour=hour, day_of_month=day_of_month, month=month, day_of_week=day_of_week)
        return cls(metadata=job.metadata, spec=CronJobSpecV2(schedule=parts, **common(job.spec)), status=job.status)
