"""Recording events: told at once, written behind one's back, never in the way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
import pytest

from pilotage.cluster import Cluster
from pilotage.cluster.events import EventBroadcaster, EventOptions
from pilotage.errors import ConnectionLost, Forbidden, InvalidDefinition, NotFound
from pilotage.meta.models import ObjectMeta
from pilotage.rest import Request, Verb
from pilotage.types.core.v1 import ConfigMap, Event, Namespace

from ..client.fakes import Recorder
from ..worlds import WITHIN, World

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OBJECT = ConfigMap(metadata=ObjectMeta(name="a", namespace="shop", uid="u"))

pytestmark = pytest.mark.covers("T191")


class Ticking:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@asynccontextmanager
async def broadcasting(*answers: object, **options: float) -> AsyncIterator[tuple[EventBroadcaster, Recorder]]:
    transport = Recorder(*answers)
    made = EventBroadcaster(EventOptions(**options), clock=Ticking(), random=Random(1))  # type: ignore[arg-type]
    async with made.attach(transport):
        yield made, transport


def verbs(requests: list[Request]) -> list[Verb]:
    return [request.verb for request in requests]


@pytest.mark.covers("T189")
async def test_events_arrive_and_repetitions_are_counted(world: World) -> None:
    config_map = await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    namespace = await world.client.get(Namespace, world.namespace)
    made = EventBroadcaster()
    async with made.attach(world.transport):
        recorder = made.recorder("tests")
        for _ in range(3):
            recorder.event(config_map, "Normal", "Seen", "it was seen")
        recorder.event(config_map, "Warning", "Lost", "it was lost", annotations={"by": "whom"})
        recorder.event(namespace, "Normal", "Seen", "it was seen too")
    seen, lost = sorted(
        await world.client.list(Event, namespace=world.namespace), key=lambda event: -(event.count or 0)
    )
    assert (seen.reason, seen.count, seen.type, seen.message) == ("Seen", 3, "Normal", "it was seen")
    assert seen.source is not None
    assert seen.source.component == "tests"
    assert seen.involved_object.uid == config_map.metadata.uid
    assert (lost.reason, lost.metadata.annotations) == ("Lost", {"by": "whom"})
    elsewhere = await world.client.list(
        Event, namespace="default", fields={"involvedObject.name": world.namespace, "involvedObject.kind": "Namespace"}
    )
    assert [event.message for event in elsewhere] == ["it was seen too"]


async def test_telling_does_not_wait_and_may_come_before_the_beginning_and_from_threads() -> None:
    async with asyncio.timeout(WITHIN):
        cluster = Cluster.embedded("memory:")
        recorder = cluster.event_recorder_for("tests")
        recorder.event(OBJECT_IN_DEFAULT, "Normal", "Early", "x")
        async with cluster:
            await asyncio.to_thread(recorder.event, OBJECT_IN_DEFAULT, "Normal", "Thread", "x")
            async with cluster.client.watch(Event) as events:
                seen = set[str]()
                async for event in events:
                    seen.add(event.object.reason or "")
                    if seen == {"Early", "Thread"}:
                        break


OBJECT_IN_DEFAULT = ConfigMap(metadata=ObjectMeta(name="a", namespace="default", uid="u"))


async def test_a_type_that_is_none_is_a_mistake() -> None:
    with pytest.raises(InvalidDefinition, match="Normal or Warning"):
        EventBroadcaster().recorder("tests").event(OBJECT, "Error", "Failed", "x")


async def test_too_many_at_once_are_dropped_and_so_are_those_after_the_end() -> None:
    async with broadcasting(*({} for _ in range(5)), waiting=5) as (made, transport):
        recorder = made.recorder("tests")
        for number in range(8):
            recorder.event(OBJECT, "Normal", f"R{number}", "x")
        assert made.dropped == 3
    assert len(transport.requests) == 5
    recorder.event(OBJECT, "Normal", "Late", "x")
    assert made.dropped == 4


async def test_an_event_that_is_gone_is_created_again_with_its_count() -> None:
    async with broadcasting({}, NotFound("gone"), {}) as (made, transport):
        for _ in range(2):
            made.recorder("tests").event(OBJECT, "Normal", "R", "x")
    assert verbs(transport.requests) == [Verb.CREATE, Verb.PATCH, Verb.CREATE]
    assert msgspec.json.decode(transport.requests[-1].body)["count"] == 2


async def test_what_the_server_refuses_is_dropped_and_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="pilotage.events"):
        async with broadcasting(Forbidden("no rights"), {}) as (made, transport):
            made.recorder("tests").event(OBJECT, "Normal", "One", "x")
            made.recorder("tests").event(OBJECT, "Normal", "Two", "x")
    assert len(transport.requests) == 2
    assert "no rights" in caplog.text


@pytest.mark.virtual_time
async def test_a_server_that_cannot_be_reached_is_tried_again_twelve_times() -> None:
    lost = [ConnectionLost("away", sent=False) for _ in range(12)]
    start = asyncio.get_running_loop().time()
    async with broadcasting(*lost, {}, flush=1000.0) as (made, transport):
        made.recorder("tests").event(OBJECT, "Normal", "One", "x")
        made.recorder("tests").event(OBJECT, "Normal", "Two", "x")
    assert len(transport.requests) == 13
    assert 110 <= asyncio.get_running_loop().time() - start <= 120.1


@pytest.mark.virtual_time
async def test_at_the_end_what_waits_is_given_two_seconds() -> None:
    start = asyncio.get_running_loop().time()
    async with broadcasting(*[ConnectionLost("away") for _ in range(99)]) as (made, _):
        for number in range(3):
            made.recorder("tests").event(OBJECT, "Normal", f"R{number}", "x")
        await asyncio.sleep(0)
    assert asyncio.get_running_loop().time() - start == pytest.approx(2, abs=0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_cluster_without_an_api_server_drops_events_quietly() -> None:
    async with Cluster.none() as cluster:
        cluster.event_recorder_for("tests").event(OBJECT, "Normal", "R", "x")
