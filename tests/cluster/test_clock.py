"""The clock of an embedded cluster: the server, the manager and the recorder of events use one time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import pilotage as pt
from pilotage.meta.conditions import set_status_condition
from pilotage.meta.models import Condition
from pilotage.testing.loop import BEGINNING
from pilotage.types.coordination.v1 import Lease, LeaseSpec
from pilotage.types.core.v1 import ConfigMap, Event
from tests.clocks import SetClock

HOUR = timedelta(hours=1)


def config_map(name: str, **metadata: Any) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default", **metadata))


async def lease(cluster: pt.Cluster) -> LeaseSpec:
    spec = (await cluster.client.get(Lease, "lock", namespace="default")).spec
    assert spec is not None
    return spec


@pytest.mark.virtual_time
async def test_two_objects_made_an_hour_apart_say_so() -> None:
    async with pt.Cluster.embedded() as cluster:
        first = await cluster.client.create(config_map("first"))
        await asyncio.sleep(3600)
        second = await cluster.client.create(config_map("second"))
    assert first.metadata.creation_timestamp == BEGINNING
    assert second.metadata.creation_timestamp == BEGINNING + HOUR


@pytest.mark.virtual_time
async def test_a_deletion_is_stamped_with_the_virtual_time() -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.client.create(config_map("a", finalizers=["example.com/hold"]))
        await asyncio.sleep(60)
        await cluster.client.delete(ConfigMap, "a", namespace="default")
        found = await cluster.client.get(ConfigMap, "a", namespace="default")
    assert found.metadata.deletion_timestamp == BEGINNING + timedelta(seconds=60)


@pytest.mark.virtual_time
async def test_a_recorded_event_has_the_virtual_time_and_expires_in_it() -> None:
    async with pt.Cluster.embedded() as cluster:
        subject = await cluster.client.create(config_map("a"))
        await asyncio.sleep(600)
        cluster.event_recorder_for("test").event(subject, "Normal", "Seen", "it is there")
        await asyncio.sleep(1)
        (event,) = await cluster.client.list(Event, namespace="default")
        assert event.first_timestamp == BEGINNING + timedelta(seconds=600)
        await asyncio.sleep(3500)
        assert len(await cluster.client.list(Event, namespace="default")) == 1
        await asyncio.sleep(200)
        assert len(await cluster.client.list(Event, namespace="default")) == 0


@pytest.mark.virtual_time
async def test_a_lease_is_renewed_and_taken_over_in_virtual_time() -> None:
    cluster = pt.Cluster.embedded()
    options = pt.ManagerOptions(leader_election=True, leader_election_id="lock", leader_election_namespace="default")
    async with cluster:
        async with pt.Manager(cluster, options) as first:
            await asyncio.sleep(100)
            task = asyncio.create_task(first.start())
            await first.elected.wait()
            acquired = await lease(cluster)
            assert acquired.acquire_time == BEGINNING + timedelta(seconds=100)
            await asyncio.sleep(11)  # renewed every two seconds
            renewed = await lease(cluster)
            assert renewed.renew_time == BEGINNING + timedelta(seconds=110)
            task.cancel()  # without a release: the lease is left behind
            await asyncio.gather(task, return_exceptions=True)
        async with pt.Manager(cluster, options) as second:
            before = second.clock()
            task = asyncio.create_task(second.start())
            await second.elected.wait()
            waited = second.clock() - before
            taken = await lease(cluster)
            assert (taken.acquire_time, taken.lease_transitions) == (second.clock(), 1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert timedelta(seconds=15) <= waited < timedelta(seconds=20)


@pytest.mark.virtual_time
async def test_the_managers_clock_and_conditions_follow_virtual_time() -> None:
    manager = pt.Manager(pt.Cluster.embedded())
    clock = manager.clock  # as a reconciler keeps it
    async with manager:
        await asyncio.sleep(3600)
        assert clock() == BEGINNING + HOUR
        conditions: list[Condition] = []
        set_status_condition(conditions, Condition(type="Ready", status="True", reason="Yes"))
        assert conditions[0].last_transition_time == BEGINNING + HOUR


async def test_a_clock_that_is_given_is_the_servers_the_managers_and_the_recorders() -> None:
    clock = SetClock(datetime(2030, 5, 6, 9, tzinfo=timezone(timedelta(hours=2))))
    async with pt.Manager(pt.Cluster.embedded(clock=clock)) as manager:
        made = await manager.cluster.client.create(config_map("a"))
        assert made.metadata.creation_timestamp == datetime(2030, 5, 6, 7, tzinfo=UTC)
        assert manager.clock() == clock.now
        async with manager.cluster.client.watch(Event, namespace="default") as events:
            manager.event_recorder_for("test").event(made, "Normal", "Seen", "it is there")
            event = (await anext(events)).object
        assert event.first_timestamp == datetime(2030, 5, 6, 7, tzinfo=UTC)


@pytest.mark.virtual_time
async def test_events_expire_by_the_clock_that_is_given() -> None:
    clock = SetClock(datetime(2030, 5, 6, tzinfo=UTC))
    async with pt.Cluster.embedded(clock=clock) as cluster:
        subject = await cluster.client.create(config_map("a"))
        cluster.event_recorder_for("test").event(subject, "Normal", "Seen", "it is there")
        await asyncio.sleep(7200)  # of the loop, not of the clock
        assert len(await cluster.client.list(Event, namespace="default")) == 1
        clock.now += 2 * HOUR
        await asyncio.sleep(60)  # the next round
        assert len(await cluster.client.list(Event, namespace="default")) == 0


async def test_without_a_virtual_loop_the_time_is_the_machines() -> None:
    before = time.time()
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        assert before <= manager.clock().timestamp() <= time.time()
        in_a_thread = await asyncio.to_thread(manager.clock)
        assert before <= in_a_thread.timestamp() <= time.time()


@pytest.mark.parametrize("wrong", [lambda: datetime(2030, 1, 1), time.time], ids=["naive", "seconds"])
async def test_a_clock_without_a_zone_is_refused_when_the_cluster_opens(wrong: Any) -> None:
    with pytest.raises(
        pt.InvalidDefinition, match=r"the clock of Cluster\.embedded returned .* datetime with a time zone"
    ):
        async with pt.Cluster.embedded(clock=wrong):
            pass
