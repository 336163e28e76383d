"""Replicas in processes of their own that share the work, one of which is killed."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pilotage.cluster import Cluster
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap, Namespace

from . import replicas

LEASE_SECONDS = 4.0


@asynccontextmanager
async def replica(name: str, kubeconfig: str, namespace: str) -> AsyncIterator[Process]:
    arguments = (name, kubeconfig, namespace, str(LEASE_SECONDS))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", replicas.__name__, *arguments, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def sees(process: Process, members: int) -> None:
    """Wait until a replica shares the keys with so many members."""
    assert process.stdout is not None
    while (line := await process.stdout.readline()) != f"members {members} handover_finished True\n".encode():
        assert line, "it has ended"


async def give_work(cluster: Cluster, namespace: str, numbers: range) -> None:
    for number in numbers:
        await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=f"work-{number}", namespace=namespace)))


async def done(cluster: Cluster, namespace: str, count: int) -> dict[str, str]:
    """Wait until so many are done. Returns the replica of each."""
    by: dict[str, str] = {}
    async with cluster.client.watch(ConfigMap, namespace=namespace, labels=replicas.LABEL) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                by[event.object.metadata.name] = event.object.metadata.labels[replicas.LABEL]
                if len(by) == count:
                    break
    return by


@pytest.mark.covers("F8")
async def test_a_replica_that_is_killed_is_taken_over_by_the_other_one(kubeconfig: str) -> None:
    async with Cluster.connect(kubeconfig=kubeconfig) as cluster:
        made = await cluster.client.create(Namespace(metadata=ObjectMeta(generate_name="shards-")))
        namespace = made.metadata.name
        async with replica("a", kubeconfig, namespace) as first, replica("b", kubeconfig, namespace) as second:
            await asyncio.gather(sees(first, 2), sees(second, 2))
            await give_work(cluster, namespace, range(30))
            assert set((await done(cluster, namespace, 30)).values()) == {"a", "b"}
            first.send_signal(signal.SIGKILL)
            await first.communicate()
            await give_work(cluster, namespace, range(30, 60))
            by = await done(cluster, namespace, 60)
            assert {by[f"done-{number}"] for number in range(30, 60)} == {"b"}
