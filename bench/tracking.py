"""The cost of work tracking: reconciles with a tracker and without one, in alternating rounds."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

import pilotage as pt
from bench.objects import Widget, widget
from pilotage.controller.controller import Controller, ManagerSettings
from pilotage.manager.work import WorkTracker

Reconcile = Callable[[pt.Request], Awaitable[None]]
ROUNDS = 20


async def tracking() -> None:
    """An empty reconcile is the worst case; one that reads and updates an object of the embedded server is usual."""
    print("\nWork tracking")

    async def nothing(request: pt.Request) -> None:
        pass

    await _compare("empty reconcile", nothing, 5000)
    async with pt.Cluster.embedded("memory:") as cluster:
        await cluster.install(Widget)
        made = widget(1)
        await cluster.client.create(made)

        async def update(request: pt.Request) -> None:
            found = await cluster.client.get(Widget, made.metadata.name, namespace="default")
            found.spec.size = 1 + found.spec.size % 1000
            await cluster.client.update(found)

        await _compare("reconcile with a get and an update", update, 300)


async def _compare(name: str, reconcile: Reconcile, count: int) -> None:
    """The median of each, and of the ratios of the rounds. The order alternates: the history of the server grows."""
    rounds: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        if number % 2:
            tracked = await _cpu(reconcile, count, WorkTracker(limit=1000))
            rounds.append((await _cpu(reconcile, count, None), tracked))
        else:
            rounds.append((await _cpu(reconcile, count, None), await _cpu(reconcile, count, WorkTracker(limit=1000))))
    without, with_it = (statistics.median(each) * 1e6 for each in zip(*rounds, strict=True))
    ratio = statistics.median(tracked / plain for plain, tracked in rounds)
    print(f"  {name:<46} {without:>9.1f} us CPU, with work tracking {with_it:.1f} us: ratio {ratio:.3f}")


async def _cpu(reconcile: Reconcile, count: int, tracker: WorkTracker | None) -> float:
    controller = Controller("bench", reconcile, manager=ManagerSettings(tracker=tracker))
    for number in range(count):
        controller.queue.add(pt.Request(str(number)))
    began = time.process_time()
    running = asyncio.ensure_future(controller.start())
    await controller.queue.wait_idle()
    used = time.process_time() - began
    await controller.stop()
    await running
    return used / count


if __name__ == "__main__":
    asyncio.run(tracking())
