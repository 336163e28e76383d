"""A manager on a real embedded cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pilotage.cache.informer import Informer
from pilotage.cluster import Cluster
from pilotage.manager.errors import LeaderElectionLost, NotIdle
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.models import ObjectMeta
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap


class Counting:
    """A minimal controller: counts the ConfigMaps of its events, each some turns of the loop later."""

    def __init__(self, manager: Manager) -> None:
        self.name = "counting"
        self.seen: list[str] = []
        self._manager = manager
        self._waiting = 1

    async def start(self) -> None:
        informer = await self._manager.cache.informer_for(ConfigMap, block_until_synced=True)
        names: asyncio.Queue[str] = asyncio.Queue()

        def heard(name: str) -> None:
            self._waiting += 1
            names.put_nowait(name)

        informer.add_event_handler(lambda event: heard(event.object.metadata.name))
        self._waiting -= 1
        while True:
            self.seen.append(await names.get())
            self._waiting -= 1

    def idle(self, horizon: float) -> bool:
        return self._waiting == 0


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


@pytest.mark.parametrize("storage", ["memory:", "sqlite:"])
async def test_run_until_idle_sees_what_was_just_written(storage: str, tmp_path: Path) -> None:
    cluster = Cluster.embedded(f"{storage}{tmp_path}/test.db" if storage == "sqlite:" else storage)
    async with Manager(cluster) as manager:
        counting = Counting(manager)
        manager.add(counting)
        await cluster.client.create(config_map("before"))
        await manager.run_until_idle(30)
        assert counting.seen == ["before"]
        for number in range(20):
            await manager.client.create(config_map(f"later-{number}"))
            await manager.run_until_idle(30)
            assert counting.seen[-1] == f"later-{number}"
        await manager.client.delete(ConfigMap, "later-3", namespace="default")
        await manager.run_until_idle(30)
        assert counting.seen[-1] == "later-3"
        assert len(await manager.client.list(ConfigMap, namespace="default", labels={"no": "such"})) == 0
    assert not cluster.is_open


async def test_a_cache_that_stands_still_is_not_idle_after_a_write_to_a_kind_that_was_never_looked_up() -> None:
    """A class has its resource path, so that discovery may not be needed."""
    async with Manager(Cluster.embedded()) as manager:
        manager.add(Counting(manager))
        await manager.run_until_idle(30)
        informer = await manager.cache.informer_for(ConfigMap)
        assert isinstance(informer, Informer)
        assert manager.cache._group is not None
        manager.cache._group.cancel(manager.cache._tasks[informer])
        await manager.cluster.client.create(config_map("unseen"))
        with pytest.raises(
            NotIdle,
            match=r"cache of v1, Kind=ConfigMap has not seen what was written: default/unseen \(resource version \d+\)",
        ):
            await manager.run_until_idle(0.05)


async def test_the_managers_client_writes_nothing_once_the_lease_is_lost() -> None:
    options = ManagerOptions(
        leader_election=True,
        leader_election_id="leader",
        leader_election_namespace="default",
        lease_duration=60,
        renew_deadline=40,
        retry_period=0.1,
    )
    cluster = Cluster.embedded()
    async with cluster, Manager(cluster, options) as manager:
        running = asyncio.ensure_future(manager.start())
        await manager.elected.wait()
        await manager.client.create(config_map("mine"))
        lease = await cluster.client.get(Lease, "leader", namespace="default")
        assert lease.spec is not None
        await cluster.client.patch(lease, {"spec": {"holderIdentity": "another"}})
        with pytest.raises(LeaderElectionLost, match="it is held by another"):
            await running
        with pytest.raises(LeaderElectionLost, match="nothing was written"):
            await manager.client.create(config_map("late"))
        assert await cluster.client.find(ConfigMap, "late", namespace="default") is None


async def test_a_released_lease_is_taken_by_the_next_replica_at_once() -> None:
    options = ManagerOptions(
        leader_election=True,
        leader_election_id="leader",
        leader_election_namespace="default",
        leader_election_labels={"app": "shop"},
        leader_election_release_on_cancel=True,
    )
    async with Cluster.embedded() as cluster:
        for _ in range(2):
            async with Manager(cluster, options) as manager:
                await manager.run_until_idle(10)
                assert manager.elected.is_set()
        lease = await cluster.client.get(Lease, "leader", namespace="default")
        assert lease.spec is not None
        assert (lease.spec.holder_identity, lease.spec.lease_transitions) == (None, 1)
        assert lease.metadata.labels == {"app": "shop"}


@pytest.mark.parametrize("reads", [True, False])
async def test_its_client_waits_for_its_own_writes_unless_that_is_turned_off(reads: bool) -> None:
    async with Manager(Cluster.embedded(), ManagerOptions(read_your_writes=reads)) as manager:
        await manager.run_until_idle(30)
        await manager.client.list(ConfigMap, namespace="default")
        created = await manager.client.create(config_map("a"))
        found = await manager.client.find(ConfigMap, "a", namespace="default")
        assert (found is not None and found.metadata.uid == created.metadata.uid) is reads
