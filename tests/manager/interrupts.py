"""Ctrl-C in the middle of a run: 50 reconciles in flight, each with several writes, and a report of the interrupted
ones."""

from __future__ import annotations

import asyncio
import random
import signal
from dataclasses import dataclass, field
from pathlib import Path

from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, ControllerOptions, Request
from pilotage.manager.errors import ShutdownForced, ShutdownTimeout
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.manager.shutdown import UNWIND_SECONDS
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap, Secret
from tests.forked import ForkedProcess

OBJECTS = 60
IN_FLIGHT = 50
STEPS = 3


@dataclass
class Interrupted:
    """What a run has done until its end."""

    begun: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    acknowledged: dict[str, int] = field(default_factory=dict)
    """The last acknowledged step of each object."""
    peak: int = 0

    @property
    def half_done(self) -> set[str]:
        return self.begun - self.ended


class Steps:
    """A reconciler that writes `STEPS` times, with pauses; some reconciles never end."""

    def __init__(self, cluster: Cluster, seen: Interrupted, moments: random.Random) -> None:
        self._cluster = cluster
        self._seen = seen
        self._moments = moments

    async def reconcile(self, request: Request) -> None:
        seen, name = self._seen, request.name
        seen.begun.add(name)
        seen.ended.discard(name)
        seen.peak = max(seen.peak, len(seen.half_done))
        for step in range(1, STEPS + 1):
            await asyncio.sleep(self._moments.choice((0, 0.1, 1, 5, 40)) * self._moments.random())
            await self._write(name, step)
            seen.acknowledged[name] = step
        seen.ended.add(name)

    async def _write(self, name: str, step: int) -> None:
        client = self._cluster.client
        if step == 1:
            await client.create(ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data={"step": "1"}))
            return
        found = await client.get(ConfigMap, name, namespace="default")
        found.data["step"] = str(step)
        await client.update(found)


async def interrupt(seed: int) -> None:
    """One run with a signal at a random moment, and often a second one; raises AssertionError."""
    moments = random.Random(seed)
    grace = moments.choice((0.5, 3, 30))
    seen = Interrupted()
    loop = asyncio.get_running_loop()
    async with Cluster.embedded() as cluster:
        for number in range(OBJECTS):
            await cluster.client.create(Secret(metadata=ObjectMeta(name=f"object-{number}", namespace="default")))
        cut: tuple[str, ...] = ()
        async with Manager(cluster, ManagerOptions(graceful_shutdown_timeout=grace)) as manager:
            builder = ControllerBuilder(manager).for_(Secret)
            builder.with_options(ControllerOptions(max_concurrent_reconciles=IN_FLIGHT))
            builder.complete(Steps(cluster, seen, moments))
            running = asyncio.ensure_future(manager.start())
            await asyncio.sleep(moments.random() * moments.choice((0.01, 1, 30)))
            interrupted = loop.time()
            manager._lifecycle.on_signal(signal.SIGINT)
            second = loop.call_later(moments.random() * 2 * grace, manager._lifecycle.on_signal, signal.SIGINT)
            try:
                await running
            except (ShutdownTimeout, ShutdownForced) as error:
                cut = error.cut
            second.cancel()
            assert loop.time() - interrupted <= grace + UNWIND_SECONDS, f"seed {seed}: {loop.time() - interrupted} s"
        await _check(seed, cluster, seen, cut)


async def _check(seed: int, cluster: Cluster, seen: Interrupted, cut: tuple[str, ...]) -> None:
    """After the manager's end: nothing acknowledged is lost, and what is half done is in the report."""
    unreported = {name for name in seen.half_done if not any(f"default/{name} " in line for line in cut)}
    assert not unreported, f"seed {seed}: half done, but not in the report: {unreported}"
    stored = {
        one.metadata.name: int(one.data["step"]) for one in await cluster.client.list(ConfigMap, namespace="default")
    }
    for name, step in seen.acknowledged.items():
        assert stored.get(name, 0) >= step, f"seed {seed}: {name} lost step {step}"
    assert not [task for task in asyncio.all_tasks() if "worker" in task.get_name()], f"seed {seed}: a worker is left"


PROGRAM = """
import asyncio, sys
import pilotage as pt
from pilotage.types.core.v1 import ConfigMap, Secret

def say(*words):
    print(*words, flush=True)

async def main():
    async with pt.Cluster.embedded("sqlite:run.db") as cluster:
        async def reconcile(request):
            say("begin", request.name)
            number = int(request.name.partition("-")[2])
            for step in range(3):
                made = ConfigMap(metadata=pt.ObjectMeta(name=f"{request.name}-{step}", namespace="default"))
                await cluster.client.create(made)
                say("stored", made.metadata.name)
                if number % 10 == 9 and step == 1:
                    await asyncio.Event().wait()  # for ever
            say("end", request.name)

        for number in range(60):
            await cluster.client.create(Secret(metadata=pt.ObjectMeta(name=f"object-{number}", namespace="default")))
        options = pt.ManagerOptions(graceful_shutdown_timeout=0.2)
        async with pt.Manager(cluster, options) as manager:
            builder = pt.ControllerBuilder(manager).for_(Secret)
            builder.with_options(pt.ControllerOptions(max_concurrent_reconciles=50)).complete(reconcile)
            await manager.start()

try:
    asyncio.run(main())
except (pt.manager.ShutdownTimeout, pt.manager.ShutdownForced) as error:
    for one in error.cut:
        say("cut", one)
    sys.exit(1)
"""


async def interrupt_process(seed: int, folder: Path) -> None:
    """One process on SQLite that gets SIGINT after a random line of its output; raises AssertionError."""
    moments = random.Random(seed)
    (folder / "program.py").write_text(PROGRAM)
    with ForkedProcess("program.py", folder=folder) as process:
        lines = [process.stdout.readline() for _ in range(moments.randrange(1, 180))]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(100)
    words = [line.split() for line in "".join([*lines, rest]).splitlines()]
    half_done = {line[1] for line in words if line[0] == "begin"} - {line[1] for line in words if line[0] == "end"}
    cut = {line[3].removeprefix("default/") for line in words if line[:2] == ["cut", "controller.reconcile"]}
    assert half_done <= cut, f"seed {seed}: half done, but not in the report: {half_done - cut}; {errors}"
    assert process.returncode == (1 if cut else 0), f"seed {seed}: {process.returncode}; {errors}"
    async with Cluster.embedded(f"sqlite:{folder}/run.db") as cluster:
        stored = {one.metadata.name for one in await cluster.client.list(ConfigMap, namespace="default")}
    lost = {line[1] for line in words if line[0] == "stored"} - stored
    assert not lost, f"seed {seed}: acknowledged, but not stored: {lost}"
