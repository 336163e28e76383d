"""CronJobs on an API server, with the Job controller; the kubelet is played by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from pilotage.errors import NotFound
from pilotage.meta.models import ObjectMeta
from pilotage.testing.environment import Environment
from pilotage.types.batch.v1 import CronJob, CronJobSpec, CronJobStatus, Job, JobSpec, JobTemplateSpec
from pilotage.types.core.v1 import Container, Pod, PodSpec, PodTemplateSpec
from pilotage.workloads import WorkloadOptions, Workloads
from tests.workloads.kit import events_of

BATCH = WorkloadOptions(controllers=("job-controller", "cronjob-controller"))
HOUR = 3600


def cron_job(policy: str = "Allow") -> CronJob:
    containers = [Container(name="main", image="busybox")]
    job = JobSpec(template=PodTemplateSpec(spec=PodSpec(restart_policy="Never", containers=containers)))
    spec = CronJobSpec(schedule="0 * * * *", concurrency_policy=policy, job_template=JobTemplateSpec(spec=job))
    return CronJob(metadata=ObjectMeta(name="hourly", namespace="default"), spec=spec)


@asynccontextmanager
async def kubelet(env: Environment) -> AsyncIterator[None]:
    """Each Pod succeeds as soon as it exists."""

    async def run() -> None:
        async with env.client.watch(Pod, namespace="default") as events:
            async for event in events:
                if event.type == "ADDED":
                    with suppress(NotFound):
                        name = event.object.metadata.name
                        await env.client.patch_status(
                            Pod, {"status": {"phase": "Succeeded"}}, name=name, namespace="default"
                        )

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run())
        yield
        task.cancel()


async def status(env: Environment) -> CronJobStatus:
    found = await env.client.get(CronJob, "hourly", namespace="default")
    assert found.status is not None
    return found.status


async def jobs(env: Environment) -> list[Job]:
    return sorted(await env.client.list(Job, namespace="default"), key=lambda job: job.metadata.name)


async def test_a_job_runs_each_hour_and_three_are_kept(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with Workloads(env.cluster, BATCH), kubelet(env):
        start = env.clock().replace(microsecond=0)
        await env.client.create(cron_job())
        await asyncio.sleep(5 * HOUR + 60)
        kept = await jobs(env)
        found = await status(env)
        left = await env.client.list(Pod, namespace="default")
    times = [start + timedelta(hours=hour) for hour in (3, 4, 5)]
    assert [job.metadata.name for job in kept] == [f"hourly-{int(time.timestamp()) // 60}" for time in times]
    stamps = [job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] for job in kept]
    assert stamps == [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in times]
    assert len(left) == 3
    assert (found.active, found.last_schedule_time) == ([], times[-1])
    assert found.last_successful_time is not None
    assert found.last_successful_time >= times[-1]
    last = kept[-1].metadata.name
    events = await events_of(env, "CronJob", "hourly")
    assert ("Normal", "SuccessfulCreate", f"Created job {last}", "cronjob-controller") in events
    assert (
        "Normal",
        "SawCompletedJob",
        f"Saw completed job: {last}, condition: Complete",
        "cronjob-controller",
    ) in events
    assert any(reason == "SuccessfulDelete" for _, reason, _, _ in events)


async def test_a_job_that_still_runs_forbids_the_next(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with Workloads(env.cluster, BATCH):
        await env.client.create(cron_job("Forbid"))
        await asyncio.sleep(2 * HOUR + 60)
        (job,) = await jobs(env)
        found = await status(env)
        assert [reference.name for reference in found.active] == [job.metadata.name]
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        assert ("Normal", "JobAlreadyActive", message, "cronjob-controller") in await events_of(
            env, "CronJob", "hourly"
        )


async def test_a_job_that_still_runs_is_replaced(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with Workloads(env.cluster, BATCH):
        await env.client.create(cron_job("Replace"))
        await asyncio.sleep(HOUR + 60)
        (first,) = await jobs(env)
        await asyncio.sleep(HOUR)
        (second,) = await jobs(env)
        found = await status(env)
    assert first.metadata.name != second.metadata.name
    assert [reference.uid for reference in found.active] == [second.metadata.uid]


async def test_a_suspended_cron_job_starts_nothing(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with Workloads(env.cluster, BATCH):
        given = cron_job()
        given.spec.suspend = True
        await env.client.create(given)
        await asyncio.sleep(HOUR + 60)
        assert not await jobs(env)
        await env.client.patch(CronJob, {"spec": {"suspend": False}}, name="hourly", namespace="default")
        await asyncio.sleep(5)
        assert len(await jobs(env)) == 1  # the time that was missed
