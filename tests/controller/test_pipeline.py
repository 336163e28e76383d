from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import pytest

from pilotage.cache.event import InformerEvent
from pilotage.controller import (
    Enqueue,
    Event,
    Handler,
    Request,
    enqueue_request_for_object,
    enqueue_request_for_owner,
    enqueue_requests_from,
)
from pilotage.controller import pipeline as delivery_module
from pilotage.controller.pipeline import EventPipeline
from pilotage.errors import DecodeError
from pilotage.meta.forms import reader_of
from pilotage.workqueue import WorkQueue

from .fakes import Widget, owner, widget

pytestmark = pytest.mark.virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


async def priority_of(queue: WorkQueue[Request]) -> int:
    async with queue.take() as request:
        return queue.priority_of(request)


HANDLERS: dict[str, Handler] = {
    "object": enqueue_request_for_object,
    "owner": enqueue_request_for_owner(Widget),
    "map": enqueue_requests_from(lambda obj: [Request("x")]),
    "function": lambda event: [Request("x")],
}


@pytest.mark.covers("T163")
@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
async def test_what_is_nothing_new_has_a_low_priority_with_every_handler(handler: Handler) -> None:
    queue: WorkQueue[Request] = WorkQueue()
    pipeline = EventPipeline(queue, handler)
    references: dict[str, Any] = {"owner_references": [owner("Widget", "w")]}
    old, new = widget(version="1", **references), widget(version="2", **references)
    expected = [
        (Event.create(new, is_in_initial_list=True), -100),
        (Event.update(old, old), -100),
        (Event.create(new), 0),
        (Event.update(old, new), 0),
        (Event.delete(new), 0),
        (Event.generic(new), 0),
    ]
    for event, priority in expected:
        pipeline.event(event)
        assert await priority_of(queue) == priority


@pytest.mark.parametrize(
    ("options", "priority"), [({}, 0), ({"is_in_initial_list": True}, -100), ({"is_resync": True}, -100)]
)
async def test_the_request_for_an_object_is_queued_without_decoding_it(options: dict[str, Any], priority: int) -> None:
    queue: WorkQueue[Request] = WorkQueue()
    change = InformerEvent[Any]("update", "default", "a", reader_of(Widget), b"not JSON", b"nor this", **options)
    EventPipeline(queue, enqueue_request_for_object).change(change)
    async with queue.take() as request:
        assert (request, queue.priority_of(request)) == (Request("a", "default"), priority)


async def test_the_low_priority_can_be_chosen() -> None:
    queue: WorkQueue[Request] = WorkQueue()
    EventPipeline(queue, enqueue_request_for_object, low_priority=7).event(
        Event.create(widget(), is_in_initial_list=True)
    )
    assert await priority_of(queue) == 7


@pytest.mark.covers("T160", "T162")
async def test_duplicates_melt_and_nothing_is_fine() -> None:
    queue: WorkQueue[Request] = WorkQueue()
    pipeline = EventPipeline(queue, lambda event: [Request("a"), Request("a")] if event.type == "delete" else ())
    pipeline.event(Event.create(widget()))
    assert len(queue) == 0
    pipeline.event(Event.delete(widget()))
    assert len(queue) == 1


async def test_a_handler_may_give_a_request_a_priority_and_a_delay() -> None:
    queue: WorkQueue[Request] = WorkQueue()
    late, first = Enqueue(Request("late"), after=60), Enqueue(Request("first"), priority=10)
    EventPipeline(queue, lambda event: [late, Request("second"), first]).event(Event.create(widget()))
    taken: list[tuple[str, int, float]] = []
    started = now()
    for _ in range(3):
        async with queue.take() as request:
            taken.append((request.name, queue.priority_of(request), now() - started))
    assert taken == [("first", 10, 0), ("second", 0, 0), ("late", 0, 60)]


async def test_all_predicates_must_be_passed_before_the_handler_is_called() -> None:
    called: list[Event] = []
    queue: WorkQueue[Request] = WorkQueue()

    def handler(event: Event) -> list[Request]:
        called.append(event)
        return []

    EventPipeline(queue, handler, [lambda _: True, lambda _: False]).event(Event.create(widget()))
    assert called == []
    EventPipeline(queue, handler, [lambda _: True]).event(Event.create(widget()))
    assert len(called) == 1


async def test_a_generator_is_a_handler_too() -> None:
    def handler(event: Event) -> Any:
        yield Request("a")
        yield Request("b")

    queue: WorkQueue[Request] = WorkQueue()
    EventPipeline(queue, handler).event(Event.create(widget()))
    assert len(queue) == 2


async def test_an_async_handler_is_awaited_and_waited_for() -> None:
    async def mapped(obj: Widget) -> list[Request]:
        await asyncio.sleep(5)
        return [Request(obj.metadata.name)]

    queue: WorkQueue[Request] = WorkQueue()
    pipeline = EventPipeline(queue, enqueue_requests_from(mapped))
    running = asyncio.ensure_future(pipeline.run())
    pipeline.event(Event.create(widget("a"), is_in_initial_list=True))
    assert not pipeline.idle()
    await pipeline.wait_idle()
    assert now() == 5
    assert pipeline.idle()
    assert await priority_of(queue) == -100
    running.cancel()


@pytest.mark.parametrize("failure", [ConnectionError, asyncio.CancelledError, SystemExit])
@pytest.mark.parametrize("failing", ["handler", "predicate"])
async def test_what_fails_is_tried_again_with_growing_delays_so_that_no_event_is_lost(
    failing: str, failure: type[BaseException]
) -> None:
    tries: list[float] = []

    def flaky(event: Event) -> Any:
        tries.append(now())
        if len(tries) < 4:
            raise failure("later")
        return [Request("a")] if failing == "handler" else True

    queue: WorkQueue[Request] = WorkQueue()
    fails_in_handler = EventPipeline(queue, flaky)
    fails_in_predicate = EventPipeline(queue, lambda _: [Request("a")], [flaky])
    pipeline = fails_in_handler if failing == "handler" else fails_in_predicate
    running = asyncio.ensure_future(pipeline.run())
    pipeline.event(Event.create(widget()))
    other = EventPipeline(queue, enqueue_request_for_object)
    other.event(Event.create(widget("other")))  # no other task waits for it
    assert len(queue) == 1
    assert not pipeline.idle(horizon=1)
    await asyncio.sleep(1)
    assert len(queue) == 2
    assert [round(later - earlier, 6) for earlier, later in pairwise(tries)] == [0.005, 0.01, 0.02]
    assert pipeline.idle(horizon=1000)
    running.cancel()


async def test_an_async_handler_that_was_cancelled_from_outside_is_tried_again() -> None:
    tries: list[str] = []

    async def mapped(obj: Widget) -> list[Request]:
        tries.append(obj.metadata.name)
        if len(tries) == 1:
            raise asyncio.CancelledError
        return [Request(obj.metadata.name)]

    queue: WorkQueue[Request] = WorkQueue()
    pipeline = EventPipeline(queue, enqueue_requests_from(mapped))
    running = asyncio.ensure_future(pipeline.run())
    pipeline.event(Event.create(widget("a")))
    pipeline.event(Event.create(widget("b")))
    await asyncio.sleep(1)
    assert tries == ["a", "b", "a"]
    assert len(queue) == 2
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()


async def test_closing_drops_answers_without_a_reader_and_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    async def mapped(obj: Widget) -> list[Request]:
        return [Request(obj.metadata.name)]

    pipeline = EventPipeline(WorkQueue(), enqueue_requests_from(mapped))
    pipeline.event(Event.create(widget("a")))
    pipeline.close()
    pipeline.event(Event.create(widget("late")))
    del pipeline
    gc.collect()
    assert not [one for one in recwarn if "never awaited" in str(one.message)]


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: None,
        lambda _: ["a"],
        lambda _: 5,
        enqueue_requests_from(lambda _: cast(Any, None)),
        enqueue_requests_from(lambda _: cast(Any, Request("a"))),
    ],
)
async def test_a_wrong_result_of_a_handler_is_an_error_that_names_it(
    answer: Callable[[Event], Any], caplog: pytest.LogCaptureFixture
) -> None:
    queue: WorkQueue[Request] = WorkQueue()
    pipeline = EventPipeline(queue, answer)
    pipeline.event(Event.create(widget()))
    assert len(queue) == 0
    assert "a handler must return" in caplog.text
    assert not pipeline.idle(horizon=1)


async def test_an_object_that_cannot_be_read_is_for_the_informer_to_report() -> None:
    def handler(event: Event) -> list[Request]:
        raise DecodeError("unreadable")

    queue: WorkQueue[Request] = WorkQueue()
    pipeline = EventPipeline(queue, handler)
    with pytest.raises(DecodeError):
        pipeline.event(Event.create(widget()))
    assert pipeline.idle(horizon=1000)


async def test_a_handler_that_always_fails_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(event: Event) -> list[Request]:
        raise ZeroDivisionError

    monkeypatch.setattr(delivery_module, "MAX_POSTPONED", 3)
    pipeline = EventPipeline(WorkQueue(), handler)
    for _ in range(5):
        pipeline.event(Event.create(widget()))
    assert pipeline._postponed.statistics().delayed == 3
    assert caplog.text.count("Event dropped") == 2
