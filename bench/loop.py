"""The cost of the loop: events through watch, cache, queue and reconcile; the first sync; cached reads; the queue."""

from __future__ import annotations

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pilotage as pt
from bench.figures import measured, measured_async, memory
from bench.objects import Widget, widget
from pilotage.http.client import HTTPClient as HTTPClient
from pilotage.testing import Environment, loop

READY_SECONDS = 0.02  # of CPU until the fixture `pilotage_env` is ready; imports are not counted
OBJECTS = 10_000
EVENTS = 50_000
ANCHOR = "controller-runtime needs 133 us (measured elsewhere, on a similar machine)"


@contextmanager
def replay() -> Iterator[int]:
    command = [sys.executable, "-m", "bench.replay", str(OBJECTS), str(EVENTS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


class Counter:
    """A reconciler that only counts."""

    def __init__(self) -> None:
        self.count = 0

    async def reconcile(self, request: pt.Request) -> pt.Result:
        self.count += 1
        return pt.Result()


async def events(port: int) -> None:
    """The first sync, and the event path, of a manager that reads from the replay."""
    gc.collect()
    before = memory()
    cluster = pt.Cluster.connect(f"http://127.0.0.1:{port}")
    counter = Counter()
    options = pt.ManagerOptions(metrics_bind_address="0", handle_signals=False)
    async with pt.Manager(cluster, options) as manager:
        pt.ControllerBuilder(manager).for_(Widget).complete(counter)
        sync = await measured_async(
            f"first sync of {OBJECTS:,}, each reconciled once", OBJECTS, lambda: manager.run_until_idle(timeout=120)
        )
        print(sync.line())
        assert counter.count == OBJECTS, counter.count
        gc.collect()
        print(f"  {(memory() - before) / OBJECTS:,.0f} bytes of the process for each cached object (manager included)")
        informer = await manager.cache.informer_for(Widget)

        async def flow() -> None:
            async with HTTPClient("127.0.0.1", port) as control:
                await control.request("GET", "/start")
            await informer.wait_for_version(OBJECTS + EVENTS, timeout=120)
            await manager.run_until_idle(timeout=60)

        figure = await measured_async("events through watch, cache, queue, reconcile", EVENTS, flow)
        print(figure.line())
        print(f"  {ANCHOR}")
        gc.collect()
        print(f"  {(memory() - before) / OBJECTS:,.0f} bytes of the process for each, after all have changed")
        await reads(manager)


async def reads(manager: pt.Manager) -> None:
    """Cached reads through the manager's client."""
    client, rounds = manager.client, 20_000

    async def gets() -> None:
        for number in range(rounds):
            await client.get(Widget, f"widget-{number % OBJECTS:06}", namespace="default")

    async def lists() -> None:
        for _ in range(20):
            assert len(await client.list(Widget, namespace="default")) == OBJECTS

    async def decoded() -> None:
        for _ in await client.list(Widget, namespace="default"):
            pass

    print((await measured_async("cached get, typed, a private copy", rounds, gets)).line())
    print((await measured_async(f"cached list of {OBJECTS:,}: objects, undecoded", 20 * OBJECTS, lists)).line())
    print((await measured_async(f"cached list of {OBJECTS:,}: objects, each decoded", OBJECTS, decoded)).line())


async def queue() -> None:
    """Add, take, forget and done, one item after another."""
    rounds = 100_000
    work: pt.WorkQueue[int] = pt.WorkQueue("bench")

    async def turn() -> None:
        for item in range(rounds):
            work.add(item)
            async with work.take() as taken:
                work.forget(taken)

    print((await measured_async("queue: add, take, forget, done", rounds, turn)).line())


async def first_reconcile() -> None:
    """From a program's start to its first object reconciled, in its own process."""
    code = (
        "import asyncio, time; started = time.perf_counter()\n"
        "import pilotage as pt\n"
        "from bench.objects import Widget, widget\n"
        "from bench.loop import Counter\n"
        "async def main():\n"
        "    cluster = pt.Cluster.embedded('memory:')\n"
        "    async with pt.Manager(cluster, pt.ManagerOptions(metrics_bind_address='0')) as manager:\n"
        "        await cluster.install(Widget)\n"
        "        counter = Counter(); pt.ControllerBuilder(manager).for_(Widget).complete(counter)\n"
        "        await cluster.client.create(widget(1)); await manager.run_until_idle(timeout=20)\n"
        "        assert counter.count == 1\n"
        "        print(f'  start to a reconciled object: {(time.perf_counter() - started) * 1e3:.0f} ms')\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0


def environments(count: int = 100) -> None:
    """Open and close the environment of a test, each on a virtual loop of its own, as pytest's fixture does."""

    ready: list[float] = []

    async def opened() -> None:
        began = time.process_time()
        async with Environment():
            ready.append(time.process_time() - began)

    loop.run(opened())  # imports
    ready.clear()
    figure = measured("environment of a test: open, close", count, lambda: [loop.run(opened()) for _ in range(count)])
    usual = statistics.median(ready)
    print(figure.line(), f" ready after {usual * 1e3:.1f} ms of CPU (bound {READY_SECONDS * 1e3:.0f} ms)")
    assert usual < READY_SECONDS


async def main() -> None:
    print("\nThe loop, over HTTP from a replay (plain HTTP, one core)")
    with replay() as port:
        await events(port)
    print("\nThe queue, and the start")
    await queue()
    await first_reconcile()
    await asyncio.to_thread(environments)
    made = widget(7)
    key = (made.metadata.namespace, made.metadata.name)
    print(
        measured(
            "for scale: a dictionary access", 1_000_000, lambda: [{key: made}[key] for _ in range(1_000_000)]
        ).line()
    )


if __name__ == "__main__":
    started = time.perf_counter()
    asyncio.run(main())
    print(f"took {time.perf_counter() - started:.0f} s")
