"""The CronJob tutorial: schedules, conversion, webhooks, and the Jobs in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import pilotage as pt
from examples.cronjob.__main__ import job_template, setup_with_manager
from examples.cronjob.kinds import CronJob, CronJobSpec, CronJobSpecV2, CronJobV2, CronSchedule
from examples.cronjob.reconciler import SCHEDULED_AT, CronJobReconciler, due
from examples.cronjob.schedule import Schedule
from pilotage.testing import Environment as PilotageEnvironment
from pilotage.testing.conversion import check_round_trips
from pilotage.types.batch.v1 import Job, JobCondition, JobStatus
from pilotage.workloads import Fault

from ..environments import WITHIN, Environment, embedded, over_there

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)  # a Thursday


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", "2026-01-01 12:01"),
        ("*/5 * * * *", "2026-01-01 12:05"),
        ("0 0-9/3 * * *", "2026-01-02 00:00"),
        ("30 8,18 * * *", "2026-01-01 18:30"),
        ("0 12 * * *", "2026-01-02 12:00"),
        ("0 0 * * 0", "2026-01-04 00:00"),
        ("0 0 15 * 0", "2026-01-04 00:00"),  # both are restricted: the day of the month or the day of the week
        ("0 0 29 2 *", "2028-02-29 00:00"),
    ],
)
def test_the_next_time_of_a_schedule(schedule: str, expected: str) -> None:
    found = Schedule.parse(schedule).next(NOON)
    assert found is not None
    assert f"{found:%Y-%m-%d %H:%M}" == expected


def test_a_schedule_without_a_time_ends() -> None:
    assert Schedule.parse("0 0 31 2 *").next(NOON) is None


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("* * * *", "must have five fields"),
        ("60 * * * *", "minute: '60' is not within 0 and 59"),
        ("* * * * mon", "day of week: 'mon' is not a number, range or step"),
        ("*/0 * * * *", "minute: '\\*/0' is not within"),
        ("5-1 * * * *", "minute: '5-1' is not within"),
    ],
)
def test_a_wrong_schedule_names_its_field(schedule: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Schedule.parse(schedule)


def test_conversions_lose_nothing() -> None:
    def part(random: Any) -> str:
        return str(random.choice(["*", "*/5", "1-4", "7"]))

    parts = ("minute", "hour", "dayOfMonth", "month", "dayOfWeek")
    template = {"template": {"spec": {"containers": [{"name": "hello", "image": "busybox"}]}}}
    check_round_trips(
        CronJob,
        CronJobV2,
        values={
            "v1:spec.schedule": lambda random: " ".join(part(random) for _ in parts),
            "v2:spec.schedule": lambda random: {name: part(random) for name in parts},
            "spec.jobTemplate": lambda random: {"spec": template},
        },
        examples=20,
    )


def cron_job(**spec: Any) -> CronJob:
    settings: dict[str, Any] = {"schedule": "* * * * *", "job_template": job_template(), **spec}
    return CronJob(metadata=pt.ObjectMeta(name="hello", namespace="default"), spec=CronJobSpec(**settings))


def created(found: CronJob) -> CronJob:
    found.metadata.creation_timestamp = NOON
    return found


def test_only_the_last_missed_run_is_due() -> None:
    now = NOON + timedelta(minutes=3, seconds=30)
    assert due(created(cron_job()), now) == (NOON + timedelta(minutes=3), NOON + timedelta(minutes=4))


def test_too_many_missed_runs_are_an_error_unless_a_deadline_limits_them() -> None:
    now = NOON + timedelta(days=1)
    with pytest.raises(pt.TerminalError, match="startingDeadlineSeconds"):
        due(created(cron_job()), now)
    assert due(created(cron_job(starting_deadline_seconds=90)), now)[0] == now


@asynccontextmanager
async def started() -> AsyncIterator[tuple[pt.Manager, pt.Client]]:
    """The reconciler alone, without webhooks."""
    cluster = pt.Cluster.embedded("memory:")
    async with pt.Manager(cluster) as manager:
        await cluster.install(CronJob)
        CronJobReconciler(manager).setup_with_manager(manager)
        await manager.run_until_idle(timeout=60)
        yield manager, cluster.client.with_namespace("default")


async def minutes(manager: pt.Manager, number: int) -> None:
    await asyncio.sleep(60 * number)
    await manager.run_until_idle(timeout=10)


async def finish(client: pt.Client, job: Job, outcome: str = "Complete") -> None:
    now = job.metadata.creation_timestamp
    criteria = "SuccessCriteriaMet" if outcome == "Complete" else "FailureTarget"
    job.status = JobStatus(
        start_time=now,
        completion_time=now if outcome == "Complete" else None,
        conditions=[JobCondition(type=one, status="True") for one in (criteria, outcome)],
    )
    await client.update_status(job)


async def names(client: pt.Client) -> list[str]:
    return sorted(job.metadata.name for job in await client.list(Job))


@pytest.mark.virtual_time
async def test_a_job_starts_each_minute_and_the_status_lists_it() -> None:
    async with started() as (manager, client):
        await client.create(cron_job())
        await minutes(manager, 2)
        jobs = await client.list(Job)
        assert len(jobs) == 2
        found = await client.get(CronJob, "hello")
        assert found.status is not None
        assert [one.name for one in found.status.active] == await names(client)
        assert found.status.last_schedule_time is not None
        assert all(pt.is_controlled_by(job, found) for job in jobs)


@pytest.mark.virtual_time
async def test_a_job_without_its_annotation_does_not_stop_the_schedule() -> None:
    async with started() as (manager, client):
        await client.create(cron_job())
        await minutes(manager, 1)
        (job,) = await client.list(Job)
        await client.patch(job, {"metadata": {"annotations": {SCHEDULED_AT: None}}})
        await minutes(manager, 1)
        assert len(await names(client)) == 2


@pytest.mark.virtual_time
async def test_finished_jobs_are_kept_up_to_the_limits() -> None:
    async with started() as (manager, client):
        await client.create(cron_job(successful_jobs_history_limit=2, failed_jobs_history_limit=0))
        seen = []
        for _ in range(4):
            await minutes(manager, 1)
            (active,) = [job for job in await client.list(Job) if job.status is None or not job.status.conditions]
            seen.append(active.metadata.name)
            await finish(client, active)
        await manager.run_until_idle(timeout=10)
        assert await names(client) == seen[2:]
        await minutes(manager, 1)
        (active,) = [job for job in await client.list(Job) if job.status is None or not job.status.conditions]
        await finish(client, active, "Failed")
        await manager.run_until_idle(timeout=10)
        assert await names(client) == seen[2:]


@pytest.mark.virtual_time
@pytest.mark.parametrize(("policy", "count"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
async def test_the_concurrency_policy_decides_about_runs_at_once(policy: str, count: int) -> None:
    async with started() as (manager, client):
        await client.create(cron_job(concurrency_policy=policy))
        await minutes(manager, 1)
        first = await names(client)
        await minutes(manager, 2)
        assert len(await names(client)) == count
        assert (first[0] in await names(client)) == (policy != "Replace")


@pytest.mark.virtual_time
async def test_a_suspended_cron_job_starts_its_last_missed_run_when_it_goes_on() -> None:
    async with started() as (manager, client):
        suspended = await client.create(cron_job(suspend=True))
        await minutes(manager, 2)
        assert await names(client) == []
        await client.patch(suspended, {"spec": {"suspend": False}})
        await manager.run_until_idle(timeout=10)
        assert len(await names(client)) == 1


@pytest.mark.virtual_time
async def test_a_run_after_its_deadline_is_skipped() -> None:
    async with started() as (manager, client):
        suspended = await client.create(cron_job(suspend=True, starting_deadline_seconds=30))
        await asyncio.sleep(60 + 60 - manager.clock().second + 45)  # the last run was due 45 seconds ago
        await client.patch(suspended, {"spec": {"suspend": False}})
        await manager.run_until_idle(timeout=10)
        assert await names(client) == []


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.cluster)])
async def test_webhooks_and_conversion_hold_for_both_versions(real: bool, request: pytest.FixtureRequest) -> None:
    where = over_there(request.getfixturevalue("real_control_plane")) if real else embedded("memory", "memory:")
    server = pt.webhook.WebhookServer(pt.webhook.WebhookServerOptions(host="127.0.0.1", port=0))
    async with (
        where as environment,
        pt.Manager(environment.cluster(), pt.ManagerOptions(webhook_server=server)) as manager,
    ):
        await manager.cluster.install(CronJob, CronJobV2)
        setup_with_manager(manager)
        await manager.run_until_idle(timeout=60)
        client = environment.client.with_namespace(environment.namespace)
        wrong = CronJobSpecV2(schedule=CronSchedule(hour="25"), job_template=job_template())
        with pytest.raises(pt.Invalid, match=r"spec\.schedule.*hour"):
            await client.create(CronJobV2(metadata=pt.ObjectMeta(name="wrong"), spec=wrong))
        long = CronJob(metadata=pt.ObjectMeta(name="a" * 53), spec=cron_job().spec)
        with pytest.raises(pt.Invalid, match="at most 52"):
            await client.create(long)
        right = CronJobSpecV2(schedule=CronSchedule(hour="3"), job_template=job_template())
        found = await client.create(CronJobV2(metadata=pt.ObjectMeta(name="right"), spec=right))
        assert (found.spec.concurrency_policy, found.spec.failed_jobs_history_limit) == ("Allow", 1)
        assert (await client.get(CronJob, "right")).spec.schedule == "* 3 * * *"
        await client.delete(found)


async def test_a_missed_run_starts_on_every_api_server(environment: Environment) -> None:
    """The clock of the reconciler is a minute ahead, so that nothing has to be waited for, and stands still: in a
    minute there is one run."""
    async with pt.Manager(cluster := environment.cluster()) as manager:
        await cluster.install(CronJob)
        wanted = cron_job()
        wanted.metadata.namespace = environment.namespace
        created = (await environment.client.create(wanted)).metadata.creation_timestamp
        assert created is not None
        CronJobReconciler(manager, lambda: created + timedelta(minutes=1)).setup_with_manager(manager)
        await manager.run_until_idle(timeout=WITHIN)
        (job,) = await environment.client.list(Job, namespace=environment.namespace)
        found = await environment.client.get(CronJob, "hello", namespace=environment.namespace)
        assert found.status is not None
        assert [one.name for one in found.status.active] == [job.metadata.name]
        await environment.client.delete(found)


@pytest.fixture
async def env(pilotage_env: PilotageEnvironment) -> PilotageEnvironment:
    await pilotage_env.cluster.install(CronJob)
    CronJobReconciler(pilotage_env.manager).setup_with_manager(pilotage_env.manager)
    return pilotage_env


async def outcomes(env: PilotageEnvironment) -> list[str]:
    """How each Job has ended, the oldest first."""
    jobs = sorted(await env.client.list(Job, namespace="default"), key=lambda job: job.metadata.name)
    conditions = (job.status.conditions if job.status is not None else [] for job in jobs)
    return [next((one.type for one in each if one.type in ("Complete", "Failed")), "") for each in conditions]


async def test_with_workloads_each_run_completes_and_the_last_three_are_kept(env: PilotageEnvironment) -> None:
    async with env.workloads():
        await env.given(cron_job(successful_jobs_history_limit=3))
        await env.run_until_idle()
        await asyncio.sleep(3600)  # an hour of runs
        await env.run_until_idle()
        assert await outcomes(env) == ["Complete"] * 3
        found = await env.client.get(CronJob, "hello", namespace="default")
        assert found.status is not None
        assert found.status.active == []


async def test_with_workloads_a_run_that_fails_is_tried_again_until_its_limit(env: PilotageEnvironment) -> None:
    template = job_template()
    assert template.spec is not None
    template.spec.backoff_limit = 1
    async with env.workloads() as workloads, env.running():
        fault = workloads.inject(Fault("crash-loop", container="hello"))
        await env.given(cron_job(job_template=template, failed_jobs_history_limit=1))
        await env.eventually(lambda: outcomes(env), satisfies=lambda found: "Failed" in found, timeout=600)
        workloads.remove(fault)
        await env.eventually(lambda: outcomes(env), satisfies=lambda found: found[-1] == "Complete", timeout=600)


async def test_with_workloads_a_long_run_is_replaced_by_the_next(env: PilotageEnvironment) -> None:
    template = job_template()
    assert template.spec is not None
    annotations = {"workloads.pilotage.dev/run-seconds": "90"}
    template.spec.template.metadata = pt.ObjectMeta(annotations=annotations)
    async with env.workloads() as workloads, env.running():
        await env.given(cron_job(job_template=template, concurrency_policy="Replace"))
        await asyncio.sleep(330)
        assert await outcomes(env) == [""]
        assert len([pod for pod in workloads.pods("default") if pod.deleted is None]) == 1
