"""Recording events: recorded at once, written in the background, without blocking the caller."""

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
from pilotage.cluster.events import EventBroadcaster
from pilotage.cluster.eventwriter import EventOptions
from pilotage.errors import AlreadyExists, ConnectionLost, Forbidden, InvalidDefinition, NotFound
from pilotage.meta.models import ObjectMeta
from pilotage.rest import APIRequest, Verb
from pilotage.types.core.v1 import ConfigMap, Event, Namespace
from pilotage.types.events.v1 import Event as EventsV1Event

from ..client.fakes import Recorder
from ..environments import WITHIN, Environment

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


def verbs(requests: list[APIRequest]) -> list[Verb]:
    return [request.verb for request in requests]


@pytest.mark.covers("T189")
async def test_events_arrive_and_repetitions_are_counted(environment: Environment) -> None:
    config_map = await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace))
    )
    namespace = await environment.client.get(Namespace, environment.namespace)
    made = EventBroadcaster()
    async with made.attach(environment.transport):
        recorder = made.recorder("tests")
        for _ in range(3):
            recorder.event(config_map, "Normal", "Seen", "it was seen")
        recorder.event(config_map, "Warning", "Lost", "it was lost", annotations={"by": "whom"})
        recorder.event(namespace, "Normal", "Seen", "it was seen too")
    seen, lost = sorted(
        await environment.client.list(Event, namespace=environment.namespace), key=lambda event: -(event.count or 0)
    )
    assert (seen.reason, seen.count, seen.type, seen.message) == ("Seen", 3, "Normal", "it was seen")
    assert seen.source is not None
    assert seen.source.component == "tests"
    assert seen.involved_object.uid == config_map.metadata.uid
    assert (lost.reason, lost.metadata.annotations) == ("Lost", {"by": "whom"})
    elsewhere = await environment.client.list(
        Event,
        namespace="default",
        fields={"involvedObject.name": environment.namespace, "involvedObject.kind": "Namespace"},
    )
    assert [event.message for event in elsewhere] == ["it was seen too"]


@pytest.mark.covers("T189")
async def test_events_of_either_api_are_shown_in_both(environment: Environment) -> None:
    config_map = await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace))
    )
    namespace = await environment.client.get(Namespace, environment.namespace)
    made = EventBroadcaster()
    async with made.attach(environment.transport):
        recorder = made.recorder("tests", "events.k8s.io/v1")
        for note in ("first", "second", "third"):
            recorder.event(config_map, "Normal", "Seen", note, action="Looking", related=namespace)
        made.recorder("tests").event(config_map, "Warning", "Lost", "it was lost", action="Looking", related=namespace)
    new = {
        event.reason: event for event in await environment.client.list(EventsV1Event, namespace=environment.namespace)
    }
    core = {event.reason: event for event in await environment.client.list(Event, namespace=environment.namespace)}
    seen, lost = new["Seen"], new["Lost"]
    assert (seen.action, seen.note, seen.type) == ("Looking", "first", "Normal")
    assert seen.reporting_controller == "tests"
    assert (seen.reporting_instance or "").startswith("tests-")
    assert seen.regarding is not None
    assert seen.regarding.uid == config_map.metadata.uid
    assert seen.related is not None
    assert seen.related.uid == namespace.metadata.uid
    assert seen.series is not None
    assert seen.series.count == 3
    assert (core["Seen"].message, core["Seen"].series and core["Seen"].series.count) == ("first", 3)
    assert (lost.note, lost.action, lost.deprecated_count) == ("it was lost", "Looking", 1)
    assert lost.related == seen.related


@pytest.mark.virtual_time
async def test_a_series_is_written_when_it_starts_when_it_is_finished_and_when_it_is_refreshed() -> None:
    transport = Recorder(*({} for _ in range(9)))
    made = EventBroadcaster()
    async with made.attach(transport):
        recorder = made.recorder("tests", "events.k8s.io/v1")
        for _ in range(3):
            recorder.event(OBJECT, "Normal", "R", "x")
        await asyncio.sleep(60)
        assert verbs(transport.requests) == [Verb.CREATE, Verb.PATCH]
        await asyncio.sleep(721)
        assert counts(transport.requests) == [2, 3]
        for _ in range(35):
            recorder.event(OBJECT, "Normal", "R", "x")
            await asyncio.sleep(60)
        assert counts(transport.requests)[2:] == [2, 31]
    assert counts(transport.requests)[4:] == [35]
    assert len({request.resource for request in transport.requests}) == 1


@pytest.mark.virtual_time
async def test_a_series_is_finished_in_time_even_if_other_events_arrive_all_the_time() -> None:
    transport = Recorder(*({} for _ in range(999)))
    made = EventBroadcaster()
    async with made.attach(transport):
        recorder = made.recorder("tests", "events.k8s.io/v1")
        for _ in range(3):
            recorder.event(OBJECT, "Normal", "R", "x")
        await asyncio.sleep(719)
        loop = asyncio.get_running_loop()
        seen: asyncio.Future[list[int]] = loop.create_future()

        def tell(number: int) -> None:
            recorder.event(OBJECT, "Normal", f"R{number}", "x")
            if number < 300:
                loop.call_soon(tell, number + 1)
            else:
                seen.set_result(counts(transport.requests))

        loop.call_later(1, tell, 0)  # from when the series is due on, in every turn of the loop
        assert await seen == [2, 3]


def counts(requests: list[APIRequest]) -> list[int]:
    found = [msgspec.json.decode(request.body) for request in requests]
    return [body["series"]["count"] for body in found if "series" in body]


async def test_a_series_whose_event_has_expired_is_created_again_with_its_count() -> None:
    async with broadcasting({}, NotFound("gone"), AlreadyExists("a"), {}) as (made, transport):
        for _ in range(2):
            made.recorder("tests", "events.k8s.io/v1").event(OBJECT, "Normal", "R", "x")
    assert verbs(transport.requests) == [Verb.CREATE, Verb.PATCH, Verb.CREATE, Verb.PATCH]
    assert counts(transport.requests) == [2, 2, 2]


@pytest.mark.virtual_time
async def test_a_create_whose_answer_was_lost_is_not_reported_as_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with broadcasting(ConnectionLost("away"), AlreadyExists("a"), flush=60.0) as (made, transport):
        made.recorder("tests").event(OBJECT, "Normal", "R", "x")
    assert len(transport.requests) == 2
    assert not caplog.records


async def test_a_name_or_an_api_that_events_cannot_have_is_an_error() -> None:
    with pytest.raises(InvalidDefinition, match="reportingController"):
        EventBroadcaster().recorder("not a name", "events.k8s.io/v1")
    with pytest.raises(InvalidDefinition, match="written to v1 or events"):
        EventBroadcaster().recorder("tests", "events.k8s.io/v1beta1")  # type: ignore[arg-type]  # the point of it


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


async def test_an_event_that_the_server_refuses_is_dropped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
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
