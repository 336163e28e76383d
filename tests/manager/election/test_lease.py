"""The lease as an object of an API server, in every environment."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.errors import Conflict
from pilotage.manager.election.elector import LeaderElector
from pilotage.manager.election.lease import LeaseLock
from pilotage.manager.election.resourcelock import LeaderElectionRecord, LeaseTimings
from pilotage.manager.errors import LeaderElectionLost
from pilotage.meta.models import ObjectMeta
from pilotage.types.coordination.v1 import Lease, LeaseSpec

from ...worlds import World

QUICK = LeaseTimings(1, 0.5, 0.1)


def lock(world: World, **labels: str) -> LeaseLock:
    return LeaseLock(world.client, world.namespace, "leader", labels)


async def stored(world: World) -> Lease:
    return await world.client.get(Lease, "leader", namespace=world.namespace)


@pytest.mark.covers("T81", "T82", "T84")
async def test_a_lease_is_created_renewed_released_and_taken(world: World) -> None:
    first = LeaderElector(lock(world, app="shop"), QUICK, identity="first")
    await first.acquire()
    created = await stored(world)
    assert created.spec is not None
    assert (created.spec.holder_identity, created.spec.lease_transitions) == ("first", 0)
    assert created.metadata.labels == {"app": "shop"}
    renewing = asyncio.ensure_future(first.renew())
    async with world.client.watch(Lease, namespace=world.namespace) as events:
        async for event in events:
            if event.type != "BOOKMARK" and event.object.metadata.resource_version != created.metadata.resource_version:
                break
    renewing.cancel()
    await asyncio.wait([renewing])
    renewed = await stored(world)
    assert renewed.spec is not None
    assert renewed.spec.acquire_time == created.spec.acquire_time
    assert renewed.spec.renew_time != created.spec.renew_time
    assert await first.release()
    released = await stored(world)
    assert released.spec is not None
    assert not released.spec.holder_identity
    second = LeaderElector(lock(world), QUICK, identity="second")
    await second.acquire()
    taken = await stored(world)
    assert taken.spec is not None
    assert (taken.spec.holder_identity, taken.spec.lease_transitions) == ("second", 1)
    assert taken.metadata.labels == {"app": "shop"}


@pytest.mark.covers("T81")
async def test_a_lease_that_is_not_renewed_is_taken_and_its_old_holder_stands_down(world: World) -> None:
    first = LeaderElector(lock(world), QUICK, identity="first")
    await first.acquire()
    second = LeaderElector(lock(world), QUICK, identity="second")
    await second.acquire()  # a second later: no replica has renewed it
    assert not first.is_leader
    with pytest.raises(LeaderElectionLost):
        await first.renew()
    assert not await first.release()
    assert (await stored(world)).spec is not None


async def test_of_two_writers_one_meets_a_conflict(world: World) -> None:
    await world.client.create(
        Lease(metadata=ObjectMeta(name="leader", namespace=world.namespace), spec=LeaseSpec(holder_identity="old"))
    )
    one, two = lock(world), lock(world)
    assert await one.get() == await two.get() == LeaderElectionRecord("old")
    await one.update(LeaderElectionRecord("one", 15))
    with pytest.raises(Conflict):
        await two.update(LeaderElectionRecord("two", 15))
