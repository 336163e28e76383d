"""Members of a group on an embedded API server: they divide the keys, hand them over, and take over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pilotage.cluster import Cluster
from pilotage.cluster.fencing import fenced
from pilotage.errors import Forbidden
from pilotage.manager.election.resourcelock import LeaseTimings
from pilotage.manager.errors import LeaderElectionLost
from pilotage.manager.shards.leases import GROUP_LABEL, MemberLeases, Membership
from pilotage.manager.shards.member import ShardMember
from pilotage.meta.models import ObjectMeta
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap

from ..fakes import elapsed

KEYS = [f"default/key-{number}" for number in range(300)]


class Running:
    """A member whose loop runs."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        leases = MemberLeases(
            cluster.client, cluster, Membership("default", "group", name, 15, {"app": "shop"}), cluster.clock
        )
        self.name = name
        self.changes = 0
        self.member = ShardMember(leases, "group", name, LeaseTimings(), now=asyncio.get_running_loop().time)
        self.member.changed = self._change
        self.task = asyncio.ensure_future(self.member.run())

    def _change(self) -> None:
        self.changes += 1

    def keys(self) -> set[str]:
        return {key for key in KEYS if self.member.owns(key)}

    async def die(self) -> None:
        """End without leaving, as a killed process does."""
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def members(*names: str) -> AsyncIterator[tuple[Cluster, list[Running]]]:
    async with Cluster.embedded() as cluster:
        running = [Running(cluster, name) for name in names]
        try:
            yield cluster, running
        finally:
            for one in running:
                await one.die()


def divided(*running: Running) -> None:
    """Every key has exactly one owner."""
    owned = [one.keys() for one in running]
    assert sum(map(len, owned)) == len(set().union(*owned)) == len(KEYS)
    assert all(owned)


@pytest.mark.virtual_time
async def test_a_member_alone_owns_all_keys_at_once() -> None:
    async with members("a") as (cluster, [a]):
        await asyncio.sleep(0.1)
        divided(a)
        [lease] = await cluster.client.list(Lease, namespace="default")
        assert lease.metadata.labels == {GROUP_LABEL: "group", "app": "shop"}
        assert lease.spec is not None
        assert (lease.spec.holder_identity, lease.spec.lease_duration_seconds) == ("a", 15)


@pytest.mark.virtual_time
async def test_members_divide_the_keys_and_a_new_one_gets_its_part_from_each() -> None:
    async with members("a", "b") as (cluster, running):
        await asyncio.sleep(5)
        divided(*running)
        before = [one.keys() for one in running]
        running.append(Running(cluster, "c"))
        await asyncio.sleep(7)
        divided(*running)
        after = [one.keys() for one in running]
        assert all(new < old for old, new in zip(before, after, strict=False))
        assert 0.2 < len(after[2]) / len(KEYS) < 0.45
        assert {one.member.handover_finished for one in running} == {True}


@pytest.mark.virtual_time
async def test_a_member_that_dies_is_taken_over_when_its_lease_has_expired() -> None:
    async with members("a", "b") as (cluster, [a, b]):
        await asyncio.sleep(5)
        await b.die()
        await asyncio.sleep(15 - 2.5)  # it may have renewed its lease two seconds ago
        assert len(a.keys()) < len(KEYS)
        await asyncio.sleep(2.5 + 2.5)  # the others read the leases every two seconds
        divided(a)
        assert [lease.metadata.name for lease in await cluster.client.list(Lease, namespace="default")] == ["a"]


@pytest.mark.virtual_time
async def test_a_member_that_leaves_is_taken_over_at_the_next_reading() -> None:
    async with members("a", "b") as (_, [a, b]):
        await asyncio.sleep(5)
        await b.die()
        await b.member.leave()
        await asyncio.sleep(2.5)
        divided(a)


@pytest.mark.virtual_time
async def test_a_key_that_is_worked_on_is_handed_over_when_the_work_has_ended() -> None:
    async with members("a") as (cluster, [a]):
        await asyncio.sleep(5)
        assert all(a.member.begin(key) for key in KEYS)
        b = Running(cluster, "b")
        try:
            await asyncio.sleep(60)
            assert not b.keys()
            moving = [key for key in KEYS if not a.member.owns(key)]
            assert moving
            for key in moving:
                assert not a.member.begin(key)
                a.member.end(key)
            await asyncio.sleep(0.1)  # the view is published at once, not at the next renewal
            assert a.member._ownership.published.members == {"a", "b"}
            await asyncio.sleep(2.5)
            divided(a, b)
            assert b.keys() == set(moving)
            assert b.changes > 0
        finally:
            await b.die()


@pytest.mark.covers("F8", "F13")
@pytest.mark.virtual_time
async def test_a_member_whose_lease_was_deleted_gives_up_and_its_writes_are_refused() -> None:
    async with members("a") as (cluster, [a]):
        await asyncio.sleep(5)
        await cluster.client.delete(Lease, "a", namespace="default")
        late = ConfigMap(metadata=ObjectMeta(name="late", namespace="default"))
        with fenced(a.member.fence), pytest.raises(Forbidden, match="default/a"):
            await cluster.client.create(late)  # it does not know it yet, but the server does
        with pytest.raises(LeaderElectionLost, match="has taken over its keys"):
            await a.task
        assert not a.keys()
        with fenced(a.member.fence), pytest.raises(LeaderElectionLost, match="nothing was written"):
            await cluster.client.create(late)


@pytest.mark.virtual_time
async def test_a_member_that_cannot_renew_gives_up_at_its_deadline() -> None:
    async with members("a") as (_, [a]):
        await asyncio.sleep(5)

        async def fail(view: frozenset[str]) -> None:
            raise OSError("no route to host")

        a.member._store.renew = fail  # type: ignore[method-assign]
        with pytest.raises(LeaderElectionLost, match="renew_deadline: no route to host"):
            await a.task
        assert elapsed() == pytest.approx(14, abs=1)
        assert not a.member.begin(KEYS[0])
