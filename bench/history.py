"""The cost of the history: the calls that record an event, a reconcile, a cached get and a write; and a loop of events
with the history on and off, in alternating rounds."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from contextvars import copy_context

import pilotage as pt
from bench.figures import memory
from bench.objects import Widget, widget
from pilotage.cache.event import InformerEvent
from pilotage.controller.controller import Controller, ManagerSettings
from pilotage.controller.event import Event
from pilotage.controller.handlers import enqueue_request_for_object
from pilotage.controller.pipeline import EventPipeline
from pilotage.history import HistoryOptions
from pilotage.history.history import History
from pilotage.history.records import CallNote, Origin
from pilotage.history.runs import CURRENT
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import APIRequest, Verb

CALLS_NANOSECONDS = 600
"""What the records of an event, a reconcile, a get and a write are to take together."""
ROUNDS = 11
EVENTS = 5_000
OBJECTS = 500
KIND = Widget.__resource__.gvk
RESOURCE = APIRequest(Verb.PATCH, GroupVersionResource(KIND.group, KIND.version, "widgets"), "default", "widget-000001")


async def main() -> None:
    print("\nHistory")
    data = objects.encode(widget(1))
    copy_context().run(_calls, data)
    await _loop(data)


def _calls(data: bytes) -> None:
    """The calls alone, in a loop without anything else, until the ring is full and drops its oldest entries."""
    took, entries = _turns(data, enabled=True)
    off, _ = _turns(data, enabled=False)
    print(f"  {'records of event, reconcile, get and write':<46} {took:>9.0f} ns CPU, without a history {off:.0f} ns")
    print(f"  {'  what the history adds':<46} {took - off:>9.0f} ns CPU (aim: {CALLS_NANOSECONDS})")
    print(f"  {'entries of a full history of 32 MiB':<46} {entries:>9,}")


def _turns(data: bytes, *, enabled: bool) -> tuple[float, int]:
    """The nanoseconds of one turn, and the entries of the history then."""
    history = History(HistoryOptions(enabled=enabled))
    journal, origin, request = history.journal("bench", KIND), Origin("bench", KIND), pt.Request("a", "default")
    event: InformerEvent[object] = InformerEvent("update", "default", "a", objects.read, data, data)

    def turn() -> None:
        note = journal.event(origin, event, False)
        run = journal.begin(request, ((1.0, note),) if note is not None else (), 1.0, 0)
        current = CURRENT.get()
        assert current is run
        run.read(KIND, "default", "a", data)
        call = CallNote(RESOURCE, 1.0)
        run.add(call, len(RESOURCE.body))
        call.ended = 1.0
        run.answered(call, data)
        journal.end(run, 1.0)

    rounds = [_nanoseconds(turn, 20_000) for _ in range(ROUNDS)]
    empty = min(_nanoseconds(lambda: None, 20_000) for _ in range(ROUNDS))
    return min(rounds) - empty, len(history.ring.entries)


def _nanoseconds(work: object, count: int) -> float:
    assert callable(work)
    gc.collect()
    began = time.process_time_ns()
    for _ in range(count):
        work()
    return (time.process_time_ns() - began) / count


async def _loop(data: bytes) -> None:
    """Events through pipeline, queue, reconcile and a cached get, on and off in turns."""
    async with pt.Manager(pt.Cluster.embedded("memory:"), pt.ManagerOptions(handle_signals=False)) as manager:
        await manager.cluster.install(Widget)
        for number in range(OBJECTS):
            await manager.cluster.client.create(widget(number))
        running = asyncio.create_task(manager.start())
        await manager.elected.wait()
        await manager.client.list(Widget)
        before = memory()
        histories = {enabled: History(HistoryOptions(enabled=enabled)) for enabled in (True, False)}
        for _ in range(3):  # until the ring is full, as that of a program which runs for some time
            await _cpu(manager, data, histories[True])
        rounds = []
        for number in range(ROUNDS):
            order = (True, False) if number % 2 else (False, True)
            took = {enabled: await _cpu(manager, data, histories[enabled]) for enabled in order}
            rounds.append((took[True], took[False]))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    on, off = (statistics.median(each) * 1e6 for each in zip(*rounds, strict=True))
    ratio = statistics.median(one / other for one, other in rounds)
    print(f"  {'event, reconcile, cached get':<46} {off:>9.2f} us CPU, with the history {on:.2f} us: ratio {ratio:.3f}")
    print(f"  {'memory after these rounds':<46} {(memory() - before) / 2**20:>+9.1f} MiB")


async def _cpu(manager: pt.Manager, data: bytes, history: History) -> float:
    async def reconcile(request: pt.Request) -> None:
        await manager.client.get(Widget, request)

    controller = Controller("bench", reconcile, kind=KIND, manager=ManagerSettings(history=history))
    pipeline = EventPipeline(controller.queue, enqueue_request_for_object, origin=Origin("bench", KIND))
    running = asyncio.ensure_future(controller.start())
    await asyncio.sleep(0)
    gc.collect()
    began = time.process_time()
    for number in range(EVENTS):
        name = f"widget-{number % OBJECTS:06}"
        pipeline.event(Event(InformerEvent("update", "default", name, objects.read, data, data)))
        if number % OBJECTS == OBJECTS - 1:
            await controller.queue.wait_idle()
    await controller.queue.wait_idle()
    used = time.process_time() - began
    await controller.stop()
    await running
    return used / EVENTS


if __name__ == "__main__":
    asyncio.run(main())
