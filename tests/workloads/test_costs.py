"""What simulated workloads cost, by counts: figures are those of `make bench-workloads`."""

from __future__ import annotations

import asyncio
from collections import Counter

import pilotage as pt
from pilotage.cluster.writes import PendingWrite
from pilotage.meta.kinds import GroupResource
from pilotage.testing import Environment
from pilotage.testing.loop import VirtualLoop
from pilotage.types.apps.v1 import Deployment, DeploymentSpec
from pilotage.types.batch.v1 import CronJob, CronJobSpec, JobSpec, JobTemplateSpec
from pilotage.types.core.v1 import Container, PodSpec, PodTemplateSpec
from pilotage.types.meta.v1 import LabelSelector

PODS = 200
LABELS = {"app": "web"}


def template(**spec: str) -> PodTemplateSpec:
    pod = PodSpec(containers=[Container(name="web", image="web:1")], **spec)  # type: ignore[arg-type]  # fields of the spec
    return PodTemplateSpec(metadata=pt.ObjectMeta(labels=LABELS), spec=pod)


async def test_a_pod_costs_three_writes_and_many_pods_few_writes_of_their_owners(pilotage_env: Environment) -> None:
    counts: Counter[str] = Counter()

    def note(resource: GroupResource, write: PendingWrite) -> None:
        counts[resource.resource] += 1

    async with pilotage_env.workloads(nodes=2) as workloads:
        stop = pilotage_env.cluster.writes.observe(note)
        spec = DeploymentSpec(replicas=PODS, selector=LabelSelector(match_labels=LABELS), template=template())
        meta = pt.ObjectMeta(name="web", namespace="default")
        await pilotage_env.client.create(Deployment(metadata=meta, spec=spec))
        await workloads.run_until_idle()
        stop()
    assert counts["pods"] == 3 * PODS  # created, starting, running; a binding is not an object
    assert counts["deployments"] + counts["replicasets"] <= 30


async def test_a_week_of_a_cron_job_passes_in_few_steps(pilotage_env: Environment) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    async with pilotage_env.workloads(nodes=1):
        jobs = JobTemplateSpec(spec=JobSpec(template=template(restart_policy="Never")))
        meta = pt.ObjectMeta(name="daily", namespace="default")
        await pilotage_env.client.create(
            CronJob(metadata=meta, spec=CronJobSpec(schedule="0 3 * * *", job_template=jobs))
        )
        before = loop.jumps
        await asyncio.sleep(7 * 86_400)
        found = await pilotage_env.client.get(CronJob, "daily", namespace="default")
        assert found.status is not None
        assert str(found.status.last_successful_time).startswith("2024-01-07 03:00:")
    assert loop.jumps - before <= 7 * 40


async def test_housekeeping_goes_on_where_time_passes(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(nodes=1) as workloads:
        await asyncio.sleep(7200)  # watches have ended several times
        await pilotage_env.client.create(
            Deployment(
                metadata=pt.ObjectMeta(name="web", namespace="default"),
                spec=DeploymentSpec(replicas=1, selector=LabelSelector(match_labels=LABELS), template=template()),
            )
        )
        await workloads.run_until_idle()
        assert [pod.phase for pod in workloads.pods("default")] == ["Running"]
