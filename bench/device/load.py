"""The load of a busy node: status updates, gets, lists and watchers that come and go; how long each call takes, and
whether a watcher missed anything.

The mix is that of NVIDIA's own load test: for N GPUs, N heartbeats in 30 s on half of them, N/4 updates each of a
watchdog and of an external monitor in 30 s on a quarter, N/2 gets in 10 s, watchers that reconnect every 40 to 50 s,
conflicts retried three times. ListCache come every 2 s instead of every minute, so that there is something to count.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

from bench.device.latencies import Latencies
from pilotage.device.client.clientset import Devices
from pilotage.device.client.config import Config
from pilotage.device.client.gpus import GPUs
from pilotage.device.client.target import Target
from pilotage.device.v1alpha1 import GPU, GPUSpec, GPUStatus
from pilotage.errors import Conflict
from pilotage.meta.models import Condition, ObjectMeta

RETRIES = 3
BOUNDS = ((15.0, 30.0), (20.0, 40.0))
"""Milliseconds for p95 and p99: of single calls, and of lists."""


@dataclass(frozen=True, slots=True)
class Mix:
    """The parameters of the load."""

    gpus: int = 256
    seconds: float = 120.0
    watchers: int = 3
    reconnect: tuple[float, float] = (40.0, 50.0)
    list_every: float = 2.0

    @property
    def heartbeats(self) -> float:
        """Updates a second on the first half of the GPUs."""
        return self.gpus / 30

    @property
    def updates(self) -> float:
        """Updates a second of the watchdog, and of the monitor, each on the first quarter of the GPUs."""
        return self.gpus / 4 / 30

    @property
    def gets(self) -> float:
        return self.gpus / 2 / 10


@dataclass(slots=True)
class Outcome:
    """The result of a run."""

    calls: dict[str, Latencies] = field(default_factory=dict)
    written: dict[int, str] = field(default_factory=dict)
    """The name of what was written, by its new version."""
    conflicts: int = 0
    given_up: int = 0
    reconnects: int = 0
    events: int = 0
    faults: list[str] = field(default_factory=list)
    """Missed, duplicate or reordered events of watchers; empty if there are none."""

    async def timed(self, kind: str, call: Awaitable[GPU]) -> GPU:
        begun = time.perf_counter()
        try:
            return await call
        finally:
            self.calls.setdefault(kind, Latencies()).add(time.perf_counter() - begun)


def name_of(number: int) -> str:
    return f"gpu-{number}"


def gpu(number: int) -> GPU:
    uuid = f"GPU-00000000-0000-4000-8000-{number:012}"
    return GPU(metadata=ObjectMeta(name=name_of(number)), spec=GPUSpec(uuid=uuid))


@asynccontextmanager
async def connected(target: Target, provider: str = "") -> AsyncIterator[GPUs]:
    async with Devices(Config(target=target, provider_id=provider)) as devices:
        yield devices.v1alpha1.gpus


async def run(target: Target, mix: Mix, *, seed: int = 1) -> Outcome:
    """Run the load on an empty server, and delete the objects afterwards."""
    outcome = Outcome()
    random = Random(seed)
    async with (
        connected(target, "heartbeat") as heartbeat,
        connected(target, "watchdog") as watchdog,
        connected(target, "monitor") as monitor,
        connected(target) as reader,
    ):
        for number in range(mix.gpus):
            await outcome.timed("create", heartbeat.create(gpu(number)))
        watchers = [Watcher(outcome, random, mix.reconnect) for _ in range(mix.watchers)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(watcher.run(target)) for watcher in watchers]
            for watcher in watchers:
                await watcher.opened.wait()
            half, quarter, seconds = mix.gpus // 2, mix.gpus // 4, mix.seconds

            async def both(number: int) -> None:
                """The watchdog and the monitor at once, on one GPU: one of them gets a conflict."""
                await asyncio.gather(
                    updated(outcome, watchdog, "Watched", number % quarter, number),
                    updated(outcome, monitor, "Monitored", number % quarter, number),
                )

            await asyncio.gather(
                paced(mix.heartbeats, seconds, lambda n: updated(outcome, heartbeat, "Ready", n % half, n), random),
                paced(mix.updates, seconds, both, random),
                paced(mix.gets, seconds, lambda n: got(outcome, reader, random.randrange(mix.gpus)), random),
                paced(1 / mix.list_every, seconds, lambda n: listed(outcome, reader, mix.gpus), random),
            )
            state = {item.metadata.name: int(item.metadata.resource_version) for item in await reader.list()}
            for watcher in watchers:
                await watcher.compare(state)
            for task in tasks:
                task.cancel()
        for number in range(mix.gpus):
            begun = time.perf_counter()
            await heartbeat.delete(name_of(number))
            outcome.calls.setdefault("delete", Latencies()).add(time.perf_counter() - begun)
    return outcome


async def paced(
    rate: float, seconds: float, work: Callable[[int], Awaitable[None]], random: Random | None = None
) -> None:
    """Start `rate` calls a second, whether or not earlier ones are done; a slow server gets the same load.

    With `random`, each begins at any moment of its slot, so that several of these do not beat in time.
    """
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(max(1, int(rate * seconds))):
            due = began + (number + (random.random() if random is not None else 0.0)) / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            group.create_task(_coroutine(work(number)))


async def _coroutine(work: Awaitable[None]) -> None:
    await work


async def got(outcome: Outcome, gpus: GPUs, number: int) -> None:
    await outcome.timed("get", gpus.get(name_of(number)))


async def listed(outcome: Outcome, gpus: GPUs, count: int) -> None:
    begun = time.perf_counter()
    found = await gpus.list()
    assert len(found) == count
    assert all(item.spec.uuid for item in found)  # decodes each object, as a client does
    outcome.calls.setdefault("list", Latencies()).add(time.perf_counter() - begun)


async def updated(outcome: Outcome, gpus: GPUs, kind: str, number: int, round_: int) -> None:
    """Read a GPU, set a condition of this provider's, write it at the version that was read; again on a conflict."""
    for _ in range(1 + RETRIES):
        found = await outcome.timed("get", gpus.get(name_of(number)))
        found.status = GPUStatus(
            conditions=[
                Condition(
                    type=kind,
                    status="True" if round_ % 2 else "False",
                    reason="Reported",
                    message=f"report {round_}",
                )
            ]
        )
        try:
            written = await outcome.timed("update_status", gpus.update_status(found))
        except Conflict:
            outcome.conflicts += 1
            continue
        outcome.written[int(written.metadata.resource_version)] = found.metadata.name
        return
    outcome.given_up += 1


class Watcher:
    """Watches the GPUs, disconnects now and then, and resumes."""

    def __init__(self, outcome: Outcome, random: Random, reconnect: tuple[float, float]) -> None:
        self._outcome = outcome
        self._random = random
        self._reconnect = reconnect
        self._state: dict[str, int] = {}
        self._first = 0
        self._version = 0
        self._seen: list[int] = []
        self._moved = asyncio.Event()
        self.opened = asyncio.Event()

    async def run(self, target: Target) -> None:
        while True:
            async with connected(target) as gpus:
                if not self._version:
                    listed = await gpus.list()
                    self._state = {item.metadata.name: int(item.metadata.resource_version) for item in listed}
                    self._version = self._first = int(listed.resource_version)
                try:
                    async with asyncio.timeout(self._random.uniform(*self._reconnect)):
                        await self._watch(gpus)
                except TimeoutError:
                    self._outcome.reconnects += 1

    async def _watch(self, gpus: GPUs) -> None:
        async with gpus.watch(resource_version=str(self._version)) as events:
            self.opened.set()
            async for event in events:
                self._outcome.events += 1
                self._version = int(event.header.resource_version)
                self._seen.append(self._version)
                if event.type == "DELETED":
                    self._state.pop(event.header.name)
                else:
                    self._state[event.object.metadata.name] = self._version
                self._moved.set()

    async def compare(self, state: dict[str, int]) -> None:
        """Wait until it has reached the server's version, then compare its events with the writes."""
        async with asyncio.timeout(20):
            while self._version < max(state.values()):
                self._moved.clear()
                await self._moved.wait()
        wanted = sorted(version for version in self._outcome.written if version > self._first)
        if self._seen != wanted:
            missed, extra = set(wanted) - set(self._seen), set(self._seen) - set(wanted)
            self._outcome.faults.append(
                f"{len(self._seen)} events seen for {len(wanted)} writes: {len(missed)} missed, {len(extra)} of no "
                f"write, {'in order' if self._seen == sorted(self._seen) else 'out of order'}"
            )
        if self._state != state:
            self._outcome.faults.append("the state followed is not the server's")
