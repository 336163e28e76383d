"""`pilotage serve --workloads`: Pods start and fail for any client."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pilotage as pt
from pilotage.types.core.v1 import Container, Node, Pod, PodSpec

from .processes import failure, serving


def pod(name: str) -> Pod:
    spec = PodSpec(containers=[Container(name="web", image="shop:1")])
    return Pod(metadata=pt.ObjectMeta(name=name, namespace="default", labels={"app": name}), spec=spec)


async def test_a_pod_starts_and_another_one_fails(tmp_path: Path) -> None:
    flags = ("--workloads", "--nodes", "2", "--fault", "crash-loop labels=app=bad exit-code=3")
    with serving(tmp_path, *flags) as running:
        async with running.cluster() as cluster, asyncio.timeout(60):
            assert [node.metadata.name for node in await cluster.client.list(Node)] == ["node-1", "node-2"]
            for name, expected in (("good", "ready"), ("bad", "ended with 3")):
                async with cluster.client.watch(Pod, namespace="default") as events:
                    await cluster.client.create(pod(name))
                    async for event in events:
                        if event.object.metadata.name == name and state(event.object) == expected:
                            break


def state(pod: Pod) -> str:
    """What has become of the container of a Pod."""
    for one in pod.status.container_statuses if pod.status is not None else []:
        if one.state is not None and one.state.terminated is not None:
            return f"ended with {one.state.terminated.exit_code}"
        if one.ready:
            return "ready"
    return "waiting"


def test_a_fault_that_does_not_exist_is_refused_before_anything_starts(tmp_path: Path) -> None:
    line = failure(tmp_path, "--workloads", "--fault", "crash")
    assert line.startswith("--fault: there is no fault 'crash'; there are: image-pull")


def test_faults_need_workloads(tmp_path: Path) -> None:
    assert failure(tmp_path, "--fault", "crash-loop") == "--fault needs --workloads"
