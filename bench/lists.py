"""`make bench-lists`: a list of 10,000 cached objects, all looked at, beside the same list of controller-runtime.

Both programs cache the objects of one server, and take turns.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import pilotage as pt
from bench.beside import program
from bench.figures import memory
from bench.objects import Widget, widget
from bench.serving import Served, served
from pilotage.meta import objects

COUNT = 10_000
ROUNDS = 10
IN_FLIGHT = 64
MOST = 1.5
"""The CPU time that our list may take at most, as a multiple of that of controller-runtime."""

Work = Callable[[], Awaitable[tuple[int, object]]]
"""A list that was looked at: a number that is the same for all, and what is kept at the end."""


class Way:
    """One way to list. Its fastest round counts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.wall = self.cpu = float("inf")
        self.note = ""

    def add(self, wall: float, cpu: float, note: str) -> None:
        self.cpu = min(self.cpu, cpu)
        if wall < self.wall:
            self.wall, self.note = wall, note

    def line(self, anchor: Way | None = None) -> str:
        times = f"{self.wall * 1e3:>7.1f} ms {self.cpu * 1e3:>7.1f} ms CPU"
        ratio = f"{self.wall / anchor.wall:5.2f} x {anchor.name}, CPU {self.cpu / anchor.cpu:.2f} x" if anchor else ""
        return f"  {self.name:<46} {times}  {ratio}; {self.note}".replace("  ; ", "  ")


class Collections:
    """The runs of Python's cyclic garbage collector, and their time."""

    def __init__(self) -> None:
        self.seconds, self.count, self._began = 0.0, 0, 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.seconds += time.thread_time() - self._began
            self.count += 1


async def measure(way: Way, work: Work, expected: int) -> None:
    gc.collect()
    collections, before = Collections(), memory()
    gc.callbacks.append(collections)
    wall, cpu = time.perf_counter(), time.process_time()
    seen, kept = await work()
    took, used = time.perf_counter() - wall, time.process_time() - cpu
    gc.callbacks.remove(collections)
    assert seen == expected
    grown = max(memory() - before, 0) / 2**20
    del kept
    collected = f"{collections.seconds * 1e3:.1f} ms in {collections.count} garbage collections"
    way.add(took, used, f"{collected}, memory +{grown:.0f} MiB")


def look(found: Widget) -> int:
    """Reads the fields that the Go program reads."""
    spec = found.spec
    sizes = len(spec.title) + len(spec.tags) + len(spec.parts) + len(spec.environment)
    return len(found.metadata.name) + spec.size + sizes


async def walked(client: pt.Client) -> tuple[int, object]:
    """A loop over a list that nothing else refers to."""
    seen = 0
    for found in await client.list(Widget, namespace="default"):
        seen += look(found)
    return seen, None


async def kept(client: pt.Client) -> tuple[int, object]:
    """A list with a name, which keeps its objects for a second loop."""
    found = await client.list(Widget, namespace="default")
    return sum(map(look, found)), found


async def decoded(items: list[bytes]) -> tuple[int, object]:
    """The least that ours can take: msgspec reads each object, and nothing is kept."""
    decoder = msgspec.json.Decoder(Widget)
    return sum(look(decoder.decode(data)) for data in items), None


async def copied(process: Process, way: Way) -> int:
    """One list of the Go program."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n")
    answer: dict[str, Any] = json.loads(await process.stdout.readline())
    assert answer["count"] == COUNT
    way.add(answer["wall"], answer["cpu"], f"{answer['allocated'] / 2**20:.0f} MiB allocated")
    return int(answer["seen"])


async def fill(file: Path) -> None:
    numbers = iter(range(COUNT))
    async with pt.Cluster.embedded(f"sqlite:{file}") as cluster:
        await cluster.install(Widget)

        async def create() -> None:
            for number in numbers:
                await cluster.client.create(widget(number))

        await asyncio.gather(*(create() for _ in range(IN_FLIGHT)))


async def compare(server: Served, theirs: Process | None) -> bool:
    """Print all ways; whether the bound holds."""
    anchor = Way("controller-runtime")
    once, twice, least = Way("walked once: for … in await client.list(…)"), Way("kept"), Way("msgspec alone")
    options = pt.ManagerOptions(blocked_loop_threshold=60.0, blocked_loop_deadline=120.0)  # the measurements block it
    async with pt.Manager(server.connect(), options) as manager:
        running = asyncio.create_task(manager.start())
        await manager.ready()
        found = await manager.client.list(Widget, namespace="default")
        items = [origin for each in found if (origin := objects.origin_of(each)) is not None]
        expected = sum(map(look, found))
        del found
        gc.freeze()
        for _ in range(ROUNDS):
            if theirs is not None:
                assert await copied(theirs, anchor) == expected
            await measure(once, partial(walked, manager.client), expected)
            await measure(twice, partial(kept, manager.client), expected)
            await measure(least, partial(decoded, items), expected)
        running.cancel()
        await asyncio.wait([running])
    if theirs is None:
        print("  controller-runtime: not measured, there is no Go to build it with")
    else:
        print(anchor.line())
    for way in (once, twice, least):
        print(way.line(anchor if theirs is not None else None))
    return theirs is None or once.cpu <= MOST * anchor.cpu


async def main() -> int:
    print(f"A cached list of {COUNT:,} objects, all looked at, best of {ROUNDS} (within {MOST} of controller-runtime)")
    lists = program("lists")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "widgets.db"
        await fill(file)
        with served(f"sqlite:{file}") as server:
            theirs = None
            if lists is not None:
                command = [str(lists), str(server.kubeconfig), "default"]
                theirs = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
            try:
                holds = await compare(server, theirs)
            finally:
                if theirs is not None:
                    theirs.terminate()
                    await theirs.wait()
    if not holds:
        print("  BROKEN: a list that is walked once takes longer than that")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
