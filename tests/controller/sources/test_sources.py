from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pilotage.cache.event import InformerEvent
from pilotage.controller import (
    Channel,
    Event,
    Func,
    InformerSource,
    Kind,
    Request,
    Source,
    enqueue_request_for_object,
    enqueue_requests_from,
    generation_changed,
)
from pilotage.controller.sources.sources import Timer
from pilotage.errors import InvalidDefinition, NoMatch, ServiceUnavailable
from pilotage.meta import forms, objects
from pilotage.meta.unstructured import Unstructured, metadata_only
from pilotage.workqueue import WorkQueue

from ..fakes import FakeCache, FakeInformer, Widget, widget

pytestmark = pytest.mark.virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


async def drain(queue: WorkQueue[Request]) -> list[str]:
    names = []
    while len(queue):
        async with queue.take() as request:
            names.append(request.name)
    return names


class Started:
    """A source with a queue and tasks, for the length of a block."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.queue: WorkQueue[Request] = WorkQueue()
        self.tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Started:
        await self.tasks.__aenter__()
        await self.source.start(self.queue, self.tasks)
        return self

    async def __aexit__(self, *error: Any) -> None:
        self.source.stop()
        for task in self.tasks._tasks:  # what a controller's cancellation does
            task.cancel()
        await self.tasks.__aexit__(None, None, None)


@pytest.mark.covers("T165")
async def test_a_kind_gives_events_of_each_type() -> None:
    cache = FakeCache()
    async with Started(Kind(cache, Widget, enqueue_request_for_object)) as started:
        await started.source.wait_for_sync()
        informer = cache.fakes[Widget]
        for event in (
            Event.create(widget("created")),
            Event.update(widget("old", version="1"), widget("updated", version="2")),
            Event.delete(widget("deleted")),
            Event.delete(widget("lost"), unknown_final_state=True),
        ):
            informer.tell(event)
        assert await drain(started.queue) == ["created", "updated", "deleted", "lost"]
    assert informer.listeners == []


@pytest.mark.covers("T165")
async def test_a_kind_that_is_not_served_is_asked_for_every_ten_seconds() -> None:
    cache = FakeCache(
        {Widget: FakeInformer(widget("a"))}, [NoMatch("no"), ServiceUnavailable("not now"), NoMatch("no")]
    )
    async with Started(Kind(cache, Widget, enqueue_request_for_object)) as started:
        await started.source.wait_for_sync()
        assert now() == 30
        assert cache.asked[Widget] == 4
        assert await drain(started.queue) == ["a"]


@pytest.mark.covers("T165")
async def test_an_error_that_waiting_does_not_repair_fails_the_sync() -> None:
    for error in (InvalidDefinition("no class"), ZeroDivisionError()):
        source = Kind(FakeCache(failures=[error]), Widget, enqueue_request_for_object)
        with pytest.raises(ExceptionGroup) as raised:
            async with Started(source):
                await asyncio.sleep(1)
        assert raised.value.exceptions == (error,)


def test_a_kind_that_is_none_is_refused_where_it_is_given() -> None:
    bad: Any = "Widget"
    with pytest.raises(InvalidDefinition, match="not a kind"):
        Kind(FakeCache(), bad, enqueue_request_for_object)


async def test_the_sync_waits_for_the_informer_and_for_slow_handlers() -> None:
    async def mapped(obj: Widget) -> list[Request]:
        await asyncio.sleep(3)
        return [Request(obj.metadata.name)]

    informer = FakeInformer(widget("a"), widget("b"), synced=False)
    source = InformerSource(informer, enqueue_requests_from(mapped))
    async with Started(source) as started:
        asyncio.get_running_loop().call_later(1, informer.sync)
        assert not source.idle(0)
        await source.wait_for_sync()
        assert now() == 6
        assert source.idle(0)
        assert await drain(started.queue) == ["a", "b"]


async def test_an_informer_source_uses_predicates_and_lets_go_of_the_informer() -> None:
    informer = FakeInformer()
    async with Started(InformerSource(informer, enqueue_request_for_object, generation_changed)) as started:
        informer.tell(Event.update(widget("same", version="1"), widget("same", version="2")))
        informer.tell(Event.update(widget("new", generation=1), widget("new", generation=2)))
        assert await drain(started.queue) == ["new"]
    assert informer.listeners == []
    assert str(started.source) == "informer source: Widget"


@pytest.mark.parametrize("kind", [Widget.__resource__.gvk, metadata_only(Widget)])
async def test_a_shared_informer_notifies_each_source_in_its_own_form(kind: forms.Kind) -> None:
    seen: list[Any] = []

    def mapped(obj: Any) -> list[Request]:
        seen.append(obj)
        return []

    data = objects.encode(widget("a", labels={"x": "y"}))
    informer = FakeInformer()
    async with Started(Kind(FakeCache({kind: informer}), kind, enqueue_requests_from(mapped))) as started:
        await started.source.wait_for_sync()
        for listener in informer.listeners:
            listener(InformerEvent("create", "default", "a", forms.reader_of(Widget), None, data))
    assert [(type(obj), obj.metadata.labels) for obj in seen] == [
        (type(forms.reader_of(kind)(data)), {"x": "y"}),
    ]


@pytest.mark.covers("T166")
async def test_a_channel_keeps_what_was_sent_before_it_started() -> None:
    events: asyncio.Queue[Any] = asyncio.Queue(maxsize=2)
    events.put_nowait(widget("early"))
    events.put_nowait(Event.delete(widget("event")))
    blocked = asyncio.ensure_future(events.put(widget("blocked")))
    await asyncio.sleep(1)
    assert not blocked.done()
    source = Channel(events, enqueue_request_for_object, lambda event: event.object.metadata.name != "unwanted")
    assert not source.idle(0)
    async with Started(source) as started:
        await blocked
        await events.put(widget("unwanted"))
        await events.put("no object at all")
        await events.put(widget("late"))
        await asyncio.sleep(1)
        assert await drain(started.queue) == ["early", "event", "blocked", "late"]
        assert "'str' object has no attribute 'metadata'" in source.busy(0)


@pytest.mark.covers("T166")
async def test_a_channel_that_ends_ends_quietly() -> None:
    async def events() -> AsyncIterator[Any]:
        yield widget("a")
        yield Unstructured({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "b"}})

    async with Started(Channel(events(), enqueue_request_for_object)) as started:
        await asyncio.sleep(1)
        assert await drain(started.queue) == ["a", "b"]
        [handlers] = started.tasks._tasks  # the reading task is gone
        assert "handlers" in handlers.get_name()


@pytest.mark.skipif(sys.version_info < (3, 13), reason="queues can be shut down since 3.13")
async def test_a_queue_that_is_shut_down_ends_the_channel() -> None:
    events: Any = asyncio.Queue()
    events.put_nowait(widget("a"))
    events.shutdown()
    async with Started(Channel(events, enqueue_request_for_object)) as started:
        await asyncio.sleep(1)
        assert await drain(started.queue) == ["a"]


@pytest.mark.covers("T166")
def test_a_channel_needs_something_to_read_from() -> None:
    bad: Any = None
    with pytest.raises(InvalidDefinition, match=r"asyncio\.Queue"):
        Channel(bad, enqueue_request_for_object)


async def test_a_function_feeds_the_queue_for_as_long_as_the_controller_runs() -> None:
    async def every_minute(queue: WorkQueue[Request]) -> None:
        while True:
            queue.add(Request("tick"), priority=3)
            await asyncio.sleep(60)

    source = Func(every_minute)
    async with Started(source) as started:
        for minute in range(3):
            async with started.queue.take() as request:
                assert (request.name, started.queue.priority_of(request), now()) == ("tick", 3, minute * 60)
    assert "every_minute" in str(source)
    assert source.idle(0)


@pytest.mark.virtual_time
async def test_a_timer_adds_its_requests_at_the_start_and_then_each_period() -> None:
    loop, added = asyncio.get_running_loop(), list[tuple[float, str]]()

    class Queue(WorkQueue[Request]):
        def add(self, item: Request, **options: Any) -> None:
            added.append((loop.time(), item.name))

    async with asyncio.TaskGroup() as tasks:
        await Timer(60, lambda: [Request("a"), Request("b")]).start(Queue("timer"), tasks)
        await Timer(90, Request("c")).start(Queue("timer"), tasks)
        await asyncio.sleep(130)
        assert added == [(0, "a"), (0, "b"), (0, "c"), (60, "a"), (60, "b"), (90, "c"), (120, "a"), (120, "b")]
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()


def test_a_timer_needs_a_period() -> None:
    with pytest.raises(InvalidDefinition, match="period=0: must be seconds or a timedelta, more than 0"):
        Timer(0, Request("a"))
