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

from ...environments import Environment

QUICK = LeaseTimings(1, 0.5, 0.1)


def lock(environment: Environment, **labels: str) -> LeaseLock:
    return LeaseLock(environment.client, environment.namespace, "leader", labels)


async def stored(environment: Environment) -> Lease:
    return await environment.client.get(Lease, "leader", namespace=environment.namespace)


@pytest.mark.covers("T81", "T82", "T84")
async def test_a_lease_is_created_renewed_released_and_taken(environment: Environment) -> None:
    first = LeaderElector(lock(environment, app="shop"), QUICK, identity="first")
    await first.acquire()
    created = await stored(environment)
    assert created.spec is not None
    assert (created.spec.holder_identity, created.spec.lease_transitions) == ("first", 0)
    assert created.metadata.labels == {"app": "shop"}
    renewing = asyncio.ensure_future(first.renew())
    async with environment.client.watch(Lease, namespace=environment.namespace) as events:
        async for event in events:
            if event.type != "BOOKMARK" and event.object.metadata.resource_version != created.metadata.resource_version:
                break
    renewing.cancel()
    await asyncio.wait([renewing])
    renewed = await stored(environment)
    assert renewed.spec is not None
    assert renewed.spec.acquire_time == created.spec.acquire_time
    assert renewed.spec.renew_time != created.spec.renew_time
    assert await first.release()
    released = await stored(environment)
    assert released.spec is not None
    assert not released.spec.holder_identity
    second = LeaderElector(lock(environment), QUICK, identity="second")
    await second.acquire()
    taken = await stored(environment)
    assert taken.spec is not None
    assert (taken.spec.holder_identity, taken.spec.lease_transitions) == ("second", 1)
    assert taken.metadata.labels == {"app": "shop"}


@pytest.mark.covers("T81")
async def test_a_lease_that_is_not_renewed_is_taken_and_its_old_holder_stands_down(environment: Environment) -> None:
    first = LeaderElector(lock(environment), QUICK, identity="first")
    await first.acquire()
    second = LeaderElector(lock(environment), QUICK, identity="second")
    await second.acquire()  # a second later: no replica has renewed it
    assert not first.is_leader
    with pytest.raises(LeaderElectionLost):
        await first.renew()
    assert not await first.release()
    assert (await stored(environment)).spec is not None


async def test_of_two_writers_one_meets_a_conflict(environment: Environment) -> None:
    await environment.client.create(
        Lease(
            metadata=ObjectMeta(name="leader", namespace=environment.namespace), spec=LeaseSpec(holder_identity="old")
        )
    )
    one, two = lock(environment), lock(environment)
    assert await one.get() == await two.get() == LeaderElectionRecord("old")
    await one.update(LeaderElectionRecord("one", 15))
    with pytest.raises(Conflict):
        await two.update(LeaderElectionRecord("two", 15))
