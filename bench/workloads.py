"""`python -m bench.workloads [PODS]`: simulated workloads, in CPU time and memory: the Pods of one Deployment until all
are ready, and a year of a CronJob."""

from __future__ import annotations

import asyncio
import sys
import time

import pilotage as pt
from bench.figures import peak_memory
from pilotage.testing import loop as virtual
from pilotage.testing.environment import loop_clock
from pilotage.types.apps.v1 import Deployment, DeploymentSpec
from pilotage.types.batch.v1 import CronJob, CronJobSpec, JobSpec, JobTemplateSpec
from pilotage.types.core.v1 import Container, PodSpec, PodTemplateSpec
from pilotage.types.meta.v1 import LabelSelector
from pilotage.workloads import WorkloadOptions, Workloads

PODS = 10_000
PODS_OF_NODE = 100
MOST_SECONDS_OF_PODS, MOST_SECONDS_OF_YEAR = 20.0, 10.0
LABELS = {"app": "web"}


def template(restart_policy: str | None = None) -> PodTemplateSpec:
    containers = [Container(name="web", image="example.com/web:1")]
    spec = PodSpec(containers=containers, restart_policy=restart_policy)
    return PodTemplateSpec(metadata=pt.ObjectMeta(labels=LABELS), spec=spec)


async def deployment(pods: int, *, events: bool) -> None:
    """One Deployment, until all of its Pods are ready."""
    options = WorkloadOptions(nodes=max(1, pods // PODS_OF_NODE), events=events)
    async with pt.Cluster.embedded(clock=loop_clock()) as cluster, Workloads(cluster, options) as workloads:
        before = time.process_time()
        spec = DeploymentSpec(replicas=pods, selector=LabelSelector(match_labels=LABELS), template=template())
        await cluster.client.create(Deployment(metadata=pt.ObjectMeta(name="web", namespace="default"), spec=spec))
        await workloads.run_until_idle()
        took = time.process_time() - before
        found = await cluster.client.get(Deployment, "web", namespace="default")
        assert found.status is not None
        assert found.status.ready_replicas == pods
    what = f"{pods:,} Pods of a Deployment, {'with' if events else 'without'} Events"
    most = f"  (at most {MOST_SECONDS_OF_PODS * pods / PODS:g})"
    print(
        f"  {what:<52} {took:>7.1f} s CPU{most}  {took / pods * 1e6:>6.0f} us a Pod  {peak_memory():>6.0f} MiB at most"
    )


async def year() -> None:
    """A daily CronJob for a year."""
    async with pt.Cluster.embedded(clock=loop_clock()) as cluster, Workloads(cluster):
        before = time.process_time()
        jobs = JobTemplateSpec(spec=JobSpec(template=template("Never")))
        spec = CronJobSpec(schedule="0 3 * * *", job_template=jobs)
        await cluster.client.create(CronJob(metadata=pt.ObjectMeta(name="daily", namespace="default"), spec=spec))
        await asyncio.sleep(365 * 86_400)
        took = time.process_time() - before
        found = await cluster.client.get(CronJob, "daily", namespace="default")
        assert found.status is not None
        assert str(found.status.last_successful_time).startswith("2024-12-30 03:00:")
    print(f"  {'a year of a daily CronJob':<52} {took:>7.1f} s CPU  (at most {MOST_SECONDS_OF_YEAR:g})")


def main() -> None:
    pods = int(sys.argv[1]) if len(sys.argv) > 1 else PODS
    print("\nsimulated workloads on the embedded server, memory storage, virtual time")
    virtual.run(year())
    virtual.run(deployment(pods, events=False))
    virtual.run(deployment(pods, events=True))


if __name__ == "__main__":
    main()
