"""Fills in and checks CronJobs. A v2 CronJob is converted to v1 by the API server before this webhook is called."""

import pilotage as pt

from .kinds import CronJob
from .schedule import Schedule

LONGEST_NAME = 52  # the names of its Jobs are 11 characters longer, and have 63 at most


class CronJobWebhook:
    async def default(self, cron_job: CronJob) -> None:
        spec = cron_job.spec
        spec.concurrency_policy = spec.concurrency_policy or "Allow"
        spec.suspend = bool(spec.suspend)
        if spec.successful_jobs_history_limit is None:
            spec.successful_jobs_history_limit = 3
        if spec.failed_jobs_history_limit is None:
            spec.failed_jobs_history_limit = 1

    async def validate_create(self, cron_job: CronJob) -> None:
        causes = []
        if len(cron_job.metadata.name) > LONGEST_NAME:
            causes.append(
                pt.field.invalid(
                    "metadata.name", cron_job.metadata.name, f"must have at most {LONGEST_NAME} characters"
                )
            )
        try:
            Schedule.parse(cron_job.spec.schedule)
        except ValueError as error:
            causes.append(pt.field.invalid("spec.schedule", cron_job.spec.schedule, str(error)))
        if causes:
            raise pt.Invalid.of(cron_job, *causes)

    async def validate_update(self, old: CronJob, cron_job: CronJob) -> None:
        await self.validate_create(cron_job)

    async def validate_delete(self, cron_job: CronJob) -> None:
        pass
