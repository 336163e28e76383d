"""Fences on the writes of clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pilotage.cluster import Cluster
from pilotage.cluster.fencing import current_fences, fenced
from pilotage.errors import Forbidden
from pilotage.http.server import serve
from pilotage.meta.models import ObjectMeta
from pilotage.rest.fence import Fence, LeaderTerm
from pilotage.server.http.handler import HTTPHandler
from pilotage.types.coordination.v1 import Lease, LeaseSpec
from pilotage.types.core.v1 import ConfigMap


class Lost(Exception):
    """The deadline has passed."""


def lose() -> None:
    raise Lost


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


@asynccontextmanager
async def opened() -> AsyncIterator[Cluster]:
    async with Cluster.embedded() as cluster:
        spec = LeaseSpec(holder_identity="me", lease_transitions=3)
        await cluster.client.create(Lease(metadata=ObjectMeta(name="leader", namespace="default"), spec=spec))
        yield cluster


@pytest.mark.covers("F13")
async def test_any_client_in_a_fenced_block_is_fenced() -> None:
    async with opened() as cluster:
        stored = await cluster.client.create(config_map("a"))
        with fenced(Fence(None, lose)):
            for write in (cluster.client.create(config_map("b")), cluster.client.delete(stored)):
                with pytest.raises(Lost):
                    await write
            with pytest.raises(Lost):
                await cluster.client.delete_all_of(ConfigMap, namespace="default")
            assert await cluster.client.get(ConfigMap, "a", namespace="default") == stored
            assert len(await cluster.client.list(ConfigMap, namespace="default")) >= 1
        await cluster.client.create(config_map("b"))


async def test_tasks_and_threads_that_are_started_in_the_block_are_fenced() -> None:
    async with opened() as cluster:
        loop = asyncio.get_running_loop()

        def in_a_thread() -> None:
            with pytest.raises(Lost):
                asyncio.run_coroutine_threadsafe(cluster.client.create(config_map("a")), loop).result()

        with fenced(Fence(None, lose)):
            task = asyncio.ensure_future(cluster.client.create(config_map("a")))
            thread = asyncio.ensure_future(asyncio.to_thread(in_a_thread))
        with pytest.raises(Lost):
            await task
        await thread
        assert current_fences() == ()


async def test_fences_add_up() -> None:
    async with opened() as cluster:
        with fenced(Fence()), fenced(Fence(None, lose)), fenced(Fence()), pytest.raises(Lost):
            await cluster.client.create(config_map("a"))


async def test_a_client_with_fences_carries_them_wherever_it_is_called_and_other_clients_do_not() -> None:
    async with opened() as cluster:
        client = cluster.client.with_fences(lambda: (Fence(None, lose),))
        stored = await cluster.client.create(config_map("a"))
        for derived in (client, client.dry_run(), client.as_user("admin", groups=["system:masters"])):
            with pytest.raises(Lost):
                await derived.create(config_map("b"))
            assert await derived.get(ConfigMap, "a", namespace="default") == stored


@pytest.mark.covers("F8")
async def test_the_term_reaches_the_server_that_has_the_lease_in_process_and_over_http() -> None:
    async with (
        opened() as cluster,
        serve(HTTPHandler(cluster.registry, "secret")) as server,
        Cluster.connect(f"http://127.0.0.1:{server.port}", token="secret") as remote,
    ):
        for one in (cluster, remote):
            old, new = (Fence(LeaderTerm("default", "leader", "me", number), server=one) for number in (2, 3))
            with fenced(old), pytest.raises(Forbidden, match="which has ended"):
                await one.client.create(config_map("refused"))
            with fenced(new):
                await one.client.delete(await one.client.create(config_map("accepted")))


async def test_another_cluster_does_not_get_the_term() -> None:
    async with opened() as cluster, Cluster.embedded() as other:
        with fenced(Fence(LeaderTerm("default", "leader", "me", 3), server=cluster)):
            await other.client.create(config_map("a"))  # it has no such lease
