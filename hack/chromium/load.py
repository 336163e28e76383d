"""A program with many objects and events and a live page, for the page's tests and benchmarks.

    python -m hack.chromium.load --objects 10000 --events 1000

It prints one line of JSON when all objects are reconciled: the address of the page, and its own figures. Each line on
standard input is answered with new figures; at the end of standard input it ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import time
from pathlib import Path

import pilotage as pt
from pilotage.dashboard import page
from pilotage.dashboard.budget import Budget
from pilotage.dashboard.stream import Stream
from pilotage.types.core.v1 import ConfigMap

GROUP = "load.pilotage.dev"
BOOKS = 9
"""Books of a shelf: of ten objects, nine are owned by the tenth."""
HOSTILE = "<img src=x onerror=\"document.title='broken'\"></script><script>document.title='broken'</script>\u2028"


class ShelfSpec(pt.Model):
    text: str = ""


class ShelfStatus(pt.Model):
    conditions: list[pt.Condition] = []
    seen: int = 0


@pt.resource(group=GROUP, version="v1", status=True)
class Shelf(pt.Resource):
    spec: ShelfSpec = ShelfSpec()
    status: ShelfStatus = ShelfStatus()


@pt.resource(group=GROUP, version="v1", status=True)
class Book(pt.Resource):
    spec: ShelfSpec = ShelfSpec()
    status: ShelfStatus = ShelfStatus()


class Cost:
    """The CPU time of the page, as the program spends it on the event loop."""

    def __init__(self) -> None:
        self.seconds = 0.0


def measure(cost: Cost) -> None:
    """Measure what is computed for the page: the ticks of its stream, and its answers."""
    tick, charge = Stream.tick, Budget.charge

    def measured_tick(self: Stream, *, with_overview: bool) -> None:
        began = time.thread_time()
        tick(self, with_overview=with_overview)
        cost.seconds += time.thread_time() - began

    def measured_charge(self: Budget, seconds: float) -> None:
        cost.seconds += seconds
        charge(self, seconds)

    Stream.tick = measured_tick  # type: ignore[method-assign]  # a benchmark looks inside
    Budget.charge = measured_charge  # type: ignore[method-assign]  # the same


async def reconcile_shelf(request: pt.Request) -> None:
    if request.name == "night":
        raise RuntimeError(f"the shelf {request.name} is closed {HOSTILE}")


async def fill(client: pt.Client, objects: int) -> list[str]:
    """Create shelves with their books; the names of the books."""
    names: list[str] = []
    await client.create(Shelf(metadata=pt.ObjectMeta(name="night", namespace="default")))
    text = ShelfSpec(text=HOSTILE)
    for number in range(objects // (BOOKS + 1)):
        meta = pt.ObjectMeta(name=f"shelf-{number}", namespace="default", labels={"row": str(number % 7)})
        shelf = await client.create(Shelf(metadata=meta, spec=text))
        for place in range(BOOKS):
            meta = pt.ObjectMeta(name=f"book-{number}-{place}", namespace="default")
            book = Book(metadata=meta, spec=text)
            pt.set_controller_reference(shelf, book)
            await client.create(book)
            names.append(meta.name)
    return names


async def change(client: pt.Client, names: list[str], rate: float) -> None:
    """Change books at a rate, one after the other."""
    loop = asyncio.get_running_loop()
    began, count = loop.time(), 0
    while True:
        due = int((loop.time() - began) * rate)
        for _ in range(min(due - count, 200)):
            name = names[count % len(names)]
            patch = {"status": {"seen": count}}
            await client.patch_status(Book, patch, name=name, namespace="default")
            count += 1
        count = max(count, due - 1000)  # a machine that is too slow makes fewer events, not a backlog
        await asyncio.sleep(0.01)


async def run(objects: int, rate: float) -> None:
    cost = Cost()
    measure(cost)
    options = pt.ManagerOptions(ui_bind_address="127.0.0.1:0")
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        client = manager.cluster.client
        await manager.cluster.install(Shelf, Book)
        names = await fill(client, objects)

        async def reconcile_book(request: pt.Request) -> pt.Result:
            book = await manager.client.get(Book, request.name, namespace=request.namespace)
            return pt.Result(requeue_after=3600 + book.status.seen % 7)

        controllers = [
            pt.ControllerBuilder(manager).for_(Shelf).owns(ConfigMap).complete(reconcile_shelf),
            pt.ControllerBuilder(manager).for_(Book).complete(reconcile_book),
        ]
        running = asyncio.create_task(manager.start(), name="manager")
        await manager.ready()
        await asyncio.sleep(1.0)
        while any(each.statistics().ready for each in controllers):  # noqa: ASYNC110 - a queue that was empty once may fill again
            await asyncio.sleep(0.05)
        changing = asyncio.create_task(change(client, names, rate), name="changes") if rate else None
        await asyncio.to_thread(_answer, manager, cost)
        for task in (changing, running):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])


def _answer(manager: pt.Manager, cost: Cost) -> None:
    """Print the figures now, and after each line of standard input."""
    while True:
        figures = {
            "url": manager.ui_url,
            "cpu": time.process_time(),
            "page": cost.seconds,
            "at": time.monotonic(),
            "reconciles": max((run.number for run in [*manager.history.ring.entries][-1:]), default=0),
        }
        print(json.dumps(figures), flush=True)
        if not sys.stdin.readline():
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--events", type=float, default=1000.0)
    parser.add_argument("--page", type=Path, default=page.FILE, help="another file of the page")
    chosen = parser.parse_args()
    page.FILE = chosen.page
    logging.disable(logging.ERROR)
    asyncio.run(run(chosen.objects, chosen.events))


if __name__ == "__main__":
    main()
