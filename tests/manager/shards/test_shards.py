"""Managers that share the work: each key is reconciled by exactly one of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from pilotage.cluster import Cluster
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.request import Request
from pilotage.errors import InvalidDefinition
from pilotage.manager.candidate import lease_namespace
from pilotage.manager.errors import LeaderElectionLost
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.models import ObjectMeta
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap

SHARDED = ManagerOptions(shards="shop", leader_election_namespace="default", handle_signals=False)
NAMES = {f"key-{number}" for number in range(40)}


class Replica:
    """A manager with a controller that records which objects it reconciles."""

    def __init__(self, manager: Manager) -> None:
        self.manager = manager
        self.names: list[str] = []
        ControllerBuilder(manager).for_(ConfigMap).complete(self._reconcile)
        self.running = asyncio.ensure_future(manager.start())

    async def _reconcile(self, request: Request) -> None:
        if request.name in NAMES:
            self.names.append(request.name)

    async def stop(self) -> None:
        self.running.cancel()
        await asyncio.wait([self.running])


@asynccontextmanager
async def cluster_with_objects() -> AsyncIterator[Cluster]:
    async with Cluster.embedded() as cluster:
        for name in NAMES:
            await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default")))
        yield cluster


async def touch(cluster: Cluster) -> None:
    for name in NAMES:
        found = await cluster.client.get(ConfigMap, name, namespace="default")
        found.data["touched"] = "yes"
        await cluster.client.update(found)


@pytest.mark.virtual_time
async def test_each_object_is_reconciled_by_one_replica_and_a_leaving_one_hands_its_keys_over() -> None:
    async with cluster_with_objects() as cluster, AsyncExitStack() as stack:
        managers = [await stack.enter_async_context(Manager(cluster, SHARDED)) for _ in range(2)]
        replicas = [Replica(manager) for manager in managers]
        await asyncio.sleep(10)
        for replica in replicas:
            replica.names.clear()
        await touch(cluster)
        await asyncio.sleep(1)
        first, second = (replica.names for replica in replicas)
        assert sorted(first + second) == sorted(NAMES)
        assert len(first) > 5
        assert len(second) > 5
        moved = set(second)
        first.clear()
        await replicas[1].stop()
        await asyncio.sleep(2.5)
        assert set(first) == moved  # and only these: no other object is reconciled again
        assert len(await cluster.client.list(Lease, namespace="default")) == 1
        await replicas[0].stop()
        assert not await cluster.client.list(Lease, namespace="default")


@pytest.mark.virtual_time
async def test_run_until_idle_waits_until_the_keys_are_divided() -> None:
    async with cluster_with_objects() as cluster, Manager(cluster, SHARDED) as manager:
        names: set[str] = set()

        async def reconcile(request: Request) -> None:
            names.add(request.name)

        ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        await manager.run_until_idle(60)
        assert names >= NAMES
        assert manager.shards is not None
        assert len(manager.shards.members) == 1


@pytest.mark.virtual_time
async def test_a_replica_that_was_removed_ends_with_an_error_and_without_grace() -> None:
    async with cluster_with_objects() as cluster, Manager(cluster, SHARDED) as manager:
        replica = Replica(manager)
        await asyncio.sleep(5)
        await cluster.client.delete_all_of(Lease, namespace="default")
        with pytest.raises(LeaderElectionLost, match="the shards shop"):
            await replica.running


def test_options_of_shards_that_cannot_work_are_refused() -> None:
    with pytest.raises(InvalidDefinition, match="names of Leases"):
        ManagerOptions(shards="Not A Name")
    with pytest.raises(InvalidDefinition, match="lease_duration"):
        ManagerOptions(shards="shop", lease_duration=1)


def test_with_a_remote_server_and_outside_of_a_pod_shards_need_a_namespace() -> None:
    remote = Cluster.connect("https://127.0.0.1:1", token="unused")
    with pytest.raises(InvalidDefinition, match="shards needs leader_election_namespace"):
        lease_namespace(ManagerOptions(shards="shop"), remote, "shards")
    assert lease_namespace(ManagerOptions(shards="shop", leader_election_namespace="a"), remote, "shards") == "a"


@pytest.mark.virtual_time
async def test_on_an_embedded_server_the_leases_of_shards_are_in_the_default_namespace() -> None:
    async with Manager(Cluster.embedded(), ManagerOptions(shards="shop")) as manager:
        await manager.run_until_idle(60)
        assert len(await manager.cluster.client.list(Lease, namespace="default")) == 1
