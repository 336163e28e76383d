"""One change to many watchers: the latency of the deliveries, and their cost on the server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.device.latencies import Latencies
from bench.device.load import connected, gpu, name_of, paced
from bench.device.stamps import stamp
from bench.figures import cpu_of
from pilotage.device.client.gpus import GPUs
from pilotage.device.client.target import Target
from pilotage.device.v1alpha1 import GPUStatus
from pilotage.meta.models import Condition

BOUND = 100.0
"""Milliseconds from a change to a watcher, p99."""


@dataclass(frozen=True, slots=True)
class Fanout:
    """The parameters of a run."""

    watchers: int = 64
    rate: float = 200.0
    seconds: float = 10.0
    gpus: int = 16
    processes: int = 2
    """The number of processes for the watchers."""

    @property
    def changes(self) -> int:
        return int(self.rate * self.seconds)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The result of a run."""

    latencies: Latencies
    short: int
    """Watchers that did not get every change."""
    repeated: int
    server_cpu: float
    """Seconds, for writes and deliveries."""
    watcher_cpu: float

    def microseconds(self, writes: float = 0.0) -> float:
        """Of the server's CPU for one delivery, without `writes`: the seconds that the writes cost with no watcher."""
        return (self.server_cpu - writes) / len(self.latencies) * 1e6

    def lines(self, name: str, writes: float = 0.0) -> str:
        count, latencies = len(self.latencies), self.latencies
        watcher = self.watcher_cpu / count * 1e6
        return (
            f"  {name:<30} {count:>8,} deliveries   p50 {latencies.percentile(50):6.1f}   "
            f"p99 {latencies.percentile(99):6.1f}   most {latencies.percentile(100):6.1f} ms\n"
            f"  {'':<30} {self.microseconds(writes):8.1f} us of server CPU for each, "
            f"{self.microseconds():.1f} with its share of the write; {watcher:.0f} us in the watcher"
        )


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A module as a process, which prints `ready`."""
    command = [sys.executable, "-m", *words]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdin is not None
    assert started.stdout is not None
    try:
        assert started.stdout.readline() == "ready\n"
        yield started
    finally:
        started.stdin.close()
        started.kill()
        started.wait()
        started.stdout.close()


async def ours(target: Target, pid: int, plan: Fanout, *, way: str = "client") -> Delivered:
    """Changes written through the API of an empty server, delivered to watchers of the SDK."""
    async with connected(target, "bench") as gpus:
        for number in range(plan.gpus):
            await gpus.create(gpu(number))
        with ExitStack() as stack:
            watchers = await asyncio.to_thread(_watchers, stack, str(target), plan, way)
            before = cpu_of(pid)
            await paced(plan.rate, plan.seconds, lambda number: _change(gpus, number, plan))
            return await asyncio.to_thread(_gathered, watchers, plan.changes, pid, before)


async def writes_alone(target: Target, pid: int, plan: Fanout) -> float:
    """Seconds of the server's CPU for the same changes without watchers."""
    async with connected(target, "bench") as gpus:
        for number in range(plan.gpus):
            await gpus.create(gpu(number))
        before = cpu_of(pid)
        await paced(plan.rate, plan.seconds, lambda number: _change(gpus, number, plan))
        used = cpu_of(pid) - before
        for number in range(plan.gpus):
            await gpus.delete(name_of(number))
    return used


def plain_grpclib(folder: Path, plan: Fanout, size: int) -> Delivered:
    """The same from the anchor: a plain grpclib server that generates the changes itself."""
    path = folder / "anchor.sock"
    with ExitStack() as stack:
        server = stack.enter_context(process("bench.device.anchor", str(path), str(size), str(plan.rate)))
        watchers = _watchers(stack, f"unix://{path}", plan, "channel")
        assert server.stdin is not None
        assert server.stdout is not None
        before = cpu_of(server.pid)
        server.stdin.write(f"{plan.changes}\n")
        server.stdin.flush()
        assert int(server.stdout.readline()) == plan.changes
        return _gathered(watchers, plan.changes, server.pid, before)


async def _change(gpus: GPUs, number: int, plan: Fanout) -> None:
    """Set a condition with a time stamp. No version: there is no other writer."""
    changed = gpu(number % plan.gpus)
    message = stamp(time.monotonic_ns(), number + 1)
    changed.status = GPUStatus(conditions=[Condition(type="Ready", status="True", reason="Bench", message=message)])
    await gpus.update_status(changed)


def _watchers(stack: ExitStack, target: str, plan: Fanout, way: str) -> list[subprocess.Popen[str]]:
    each = plan.watchers // plan.processes
    words = ("bench.device.watchers", target, str(each), way)
    return [stack.enter_context(process(*words)) for _ in range(plan.processes)]


def _gathered(watchers: list[subprocess.Popen[str]], changes: int, pid: int, before: float) -> Delivered:
    for watcher in watchers:
        assert watcher.stdin is not None
        watcher.stdin.write(f"{changes}\n")
        watcher.stdin.flush()
    seen = []
    for watcher in watchers:
        assert watcher.stdout is not None
        seen.append(json.loads(watcher.stdout.readline()))
    used = cpu_of(pid) - before
    return Delivered(
        latencies=Latencies(latency / 1e6 for one in seen for latency in one["latencies"]),
        short=sum(one["short"] for one in seen),
        repeated=sum(one["repeated"] for one in seen),
        server_cpu=used,
        watcher_cpu=sum(one["cpu"] for one in seen),
    )
