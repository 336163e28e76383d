"""The program: a CronJob is written in one version, read in the other, and its Jobs run.

python -m cronjob memory:       in virtual time: the program ends at once
python -m cronjob cluster       on a real cluster, in real time: about a minute
"""

import asyncio
import sys

import pilotage as pt
from pilotage.testing import loop
from pilotage.types.batch.v1 import Job, JobSpec, JobTemplateSpec
from pilotage.types.core.v1 import Container, PodSpec, PodTemplateSpec

from .kinds import CronJob, CronJobSpec, CronJobSpecV2, CronJobV2, CronSchedule
from .reconciler import CronJobReconciler
from .webhook import CronJobWebhook


def setup_with_manager(manager: pt.Manager) -> None:
    CronJobReconciler(manager).setup_with_manager(manager)
    webhook = CronJobWebhook()
    builder = pt.WebhookBuilder(manager).for_(CronJob).with_conversion(CronJobV2)
    builder.with_defaulter(webhook).with_validator(webhook).complete()


def job_template() -> JobTemplateSpec:
    container = Container(name="hello", image="busybox", args=["/bin/sh", "-c", "date; echo hello"])
    pods = PodTemplateSpec(spec=PodSpec(containers=[container], restart_policy="OnFailure"))
    return JobTemplateSpec(spec=JobSpec(template=pods))


async def main(environment: str) -> None:
    cluster = pt.Cluster.connect() if environment == "cluster" else pt.Cluster.embedded(environment)
    async with pt.Manager(cluster) as manager:
        await cluster.install(CronJob, CronJobV2)
        setup_with_manager(manager)
        await manager.run_until_idle(timeout=60)  # starts everything; the manager runs until the block ends
        client = cluster.client.with_namespace("default")
        written = CronJobSpecV2(schedule=CronSchedule(minute="*/1"), job_template=job_template())
        await client.create(CronJobV2(metadata=pt.ObjectMeta(name="hello"), spec=written))
        cron_job = await client.get(CronJob, "hello")
        print("v1:", cron_job.spec.schedule, cron_job.spec.concurrency_policy)
        try:
            wrong = CronJobSpec(schedule="* 25 * * *", job_template=job_template())
            await client.create(CronJob(metadata=pt.ObjectMeta(name="wrong"), spec=wrong))
        except pt.Invalid as error:
            print("refused:", *(f"{cause.field}: {cause.message}" for cause in error.causes))
        async with client.watch(Job) as events:
            async for event in events:
                owner = pt.controller_of(event.object)
                if event.type == "ADDED" and owner is not None and owner.uid == cron_job.metadata.uid:
                    print("started a Job of", owner.name)
                    break
        await client.delete(cron_job)
        await client.delete(event.object, propagation_policy="Background")


if __name__ == "__main__":
    environment = sys.argv[1] if len(sys.argv) > 1 else "memory:"
    try:
        (loop.run if environment == "memory:" else asyncio.run)(main(environment))
    except pt.PilotageError as error:
        raise SystemExit(f"cronjob: {error}") from None
