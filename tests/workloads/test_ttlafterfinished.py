"""Jobs are deleted some time after they have ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.meta.models import ObjectMeta
from pilotage.testing.environment import Environment
from pilotage.types.batch.v1 import Job, JobCondition, JobSpec, JobStatus
from pilotage.types.core.v1 import Container, PodSpec, PodTemplateSpec
from pilotage.workloads import WorkloadOptions, Workloads
from pilotage.workloads.ttlafterfinished import NoFinishTime, time_left
from tests.workloads.kit import pass_time

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def job(finished: str = "", ago: int = 0, ttl: int | None = None, *, ended: datetime | None = NOW) -> Job:
    template = PodTemplateSpec(spec=PodSpec(restart_policy="Never", containers=[Container(name="main", image="nginx")]))
    time = ended - timedelta(seconds=ago) if ended is not None else None
    conditions = [JobCondition(type=finished, status="True", last_transition_time=time)] if finished else []
    metadata = ObjectMeta(name="job", namespace="default")
    spec = JobSpec(template=template, ttl_seconds_after_finished=ttl)
    return Job(metadata=metadata, spec=spec, status=JobStatus(conditions=conditions))


@pytest.mark.parametrize(
    ("given", "left"),
    [
        pytest.param(job("", 0, 100), None, id="Job unfinished"),
        pytest.param(job("Complete"), None, id="Job completed now, no TTL"),
        pytest.param(job("Complete", 0, 0), 0, id="Job completed now, 0s TTL"),
        pytest.param(job("Complete", 0, 10), 10, id="Job completed now, 10s TTL"),
        pytest.param(job("Complete", 10, 15), 5, id="Job completed 10s ago, 15s TTL"),
        pytest.param(job("Failed"), None, id="Job failed now, no TTL"),
        pytest.param(job("Failed", 0, 0), 0, id="Job failed now, 0s TTL"),
        pytest.param(job("Failed", 0, 10), 10, id="Job failed now, 10s TTL"),
        pytest.param(job("Failed", 10, 15), 5, id="Job failed 10s ago, 15s TTL"),
    ],
)
def test_time_left(given: Job, left: int | None) -> None:
    """TestTimeLeft."""
    assert time_left(given, NOW) == (timedelta(seconds=left) if left is not None else None)


def test_a_finished_job_without_the_time_of_its_end_is_an_error() -> None:
    with pytest.raises(NoFinishTime, match="unable to find the time when the Job default/job finished"):
        time_left(job("Complete", 0, 10, ended=None), NOW)


async def test_a_finished_job_is_deleted_after_its_ttl(pilotage_env: Environment) -> None:
    env = pilotage_env
    options = WorkloadOptions(controllers=("job-controller", "ttl-after-finished-controller"))
    async with Workloads(env.cluster, options):
        given = job("", 0, 30)
        given.status, given.spec.completions, given.spec.parallelism = None, 0, 0
        await env.client.create(given)
        await pass_time(env, 29)
        assert await env.client.find(Job, "job", namespace="default") is not None
        await pass_time(env, 5)
        assert await env.client.find(Job, "job", namespace="default") is None
