"""What wakes up a test that waits."""

from __future__ import annotations

import asyncio

import pytest

import pilotage as pt
from pilotage.cluster.writes import WriteTracker
from pilotage.testing.changes import Changes, ReadTransport
from pilotage.types.core.v1 import ConfigMap, Secret


@pytest.mark.virtual_time
async def test_a_change_by_another_client_is_noticed_in_a_collection_that_was_read() -> None:
    loop = asyncio.get_running_loop()
    async with pt.Cluster.embedded() as cluster:
        reads = ReadTransport(cluster.registry)  # as of a server that is remote: its writes are not tracked
        client = pt.Client(reads, rest_mapper=cluster.rest_mapper)
        changes = Changes(WriteTracker(), reads)
        async with changes.noticed():
            assert await client.find(ConfigMap, "one", namespace="default") is None
            assert await changes.wait(60)  # the watch is open: look again
            while await changes.wait(0):
                changes.clear()  # the objects that are there
            began = loop.time()
            loop.call_later(3, asyncio.ensure_future, _create(cluster, Secret))
            loop.call_later(5, asyncio.ensure_future, _create(cluster, ConfigMap))
            assert await changes.wait(60)
            assert loop.time() - began == pytest.approx(5)
    left = [task for task in asyncio.all_tasks() if task.get_name() == "watch of a test"]
    assert left == []


@pytest.mark.virtual_time
async def test_a_collection_that_cannot_be_watched_leaves_the_time() -> None:
    async with pt.Cluster.embedded() as cluster:
        reads = ReadTransport(cluster.registry)
        changes = Changes(WriteTracker(), reads)
        async with changes.noticed():
            reads.collections.add((pt.meta.GroupVersionResource("no.such.group", "v1", "things"), ""))
            assert not await changes.wait(1)


async def _create(cluster: pt.Cluster, kind: type[ConfigMap] | type[Secret]) -> None:
    await cluster.client.create(kind(metadata=pt.ObjectMeta(name="one", namespace="default")))
