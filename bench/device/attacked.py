"""The latency of other clients while one user attacks the server.

Three processes: the server as `pilotage device serve` runs it, with its default limits; a client of the SDK that gets
GPUs one after another; an attacker of another user, with all connections that a process may have. In turns there is no
attack, an attack on another server (so that the machine has the same to do), and an attack on this one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from pathlib import Path

from bench.device.latencies import Latencies
from bench.figures import cpu_of, memory
from hack.device import attacks
from hack.device.running import DeviceServerProcess, device_server
from pilotage import device

NOBODY = 65534
CONNECTIONS = 16
PAUSE = 0.0115
"""Seconds between two calls: about 75 a second, below the limit of 100."""
NEWCOMERS = 0.25
"""Seconds between two clients that connect, make one call and disconnect."""
SERVICE = "/nvidia.nvsentinel.v1alpha1.GpuService"
METHODS = {"ATTACKED_METHODS": f"{SERVICE}/GetGpu,{SERVICE}/ListGpus"}
SERVER = ("--provider", "fake", "--count", "256", "--period", "0", "--gate-seconds", "0", "--log-level", "error")
OPEN = ("--socket-mode", "0666", "--allow-read-uid", str(NOBODY))
BOUND = 2.0
"""The maximal ratio of the p99 with and without an attack."""
SPINNING = ("connect_flood",)
"""In these attacks the attacker itself uses the CPU, so they are compared with an attack on another server."""


@dataclass
class Abuse:
    """The duration of calls."""

    name: str
    quiet: Latencies = field(default_factory=Latencies)
    beside: Latencies = field(default_factory=Latencies)
    """While another server is attacked."""
    attacked: Latencies = field(default_factory=Latencies)
    newcomers: Latencies = field(default_factory=Latencies)
    """From connecting to the first answer, while attacked."""
    shares: list[float] = field(default_factory=list)
    """The additional share of a core that the server used during the attack."""
    grown: int = 0

    @property
    def ratio(self) -> float:
        """The ratio of the p99 with and without the attack."""
        before = self.beside if self.name in SPINNING else self.quiet
        return self.attacked.percentile(99) / before.percentile(99)

    def line(self) -> str:
        p99 = [each.percentile(99) for each in (self.quiet, self.beside, self.attacked)]
        share = sum(self.shares) / len(self.shares)
        return (
            f"  {self.name:<24} p50 {self.quiet.percentile(50):4.1f} > {self.attacked.percentile(50):4.1f}   "
            f"p99 {p99[0]:4.1f} > {p99[2]:4.1f} ms, {self.ratio:3.1f} x (beside {p99[1]:4.1f})   "
            f"most {self.attacked.percentile(100):5.1f}   newcomers p50 {self.newcomers.percentile(50):4.1f} most "
            f"{self.newcomers.percentile(100):5.1f}   server {share:+4.0%} of a core {self.grown >> 20:+3} MiB"
        )


@dataclass(frozen=True)
class Ground:
    """The servers and clients of a measurement."""

    server: DeviceServerProcess
    other: Callable[[], DeviceServerProcess]
    devices: device.Devices
    names: list[str]

    async def calls(self, latencies: Latencies, seconds: float) -> None:
        until = time.monotonic() + seconds
        for name in cycle(self.names):
            if time.monotonic() >= until:
                return
            began = time.perf_counter()
            await self.devices.v1alpha1.gpus.get(name)
            latencies.add(time.perf_counter() - began)
            await asyncio.sleep(PAUSE)

    async def newcomers(self, latencies: Latencies) -> None:
        while True:
            await asyncio.sleep(NEWCOMERS)
            began = time.perf_counter()
            async with device.connect(self.server.target) as devices:
                await devices.v1alpha1.gpus.get(self.names[0])
                latencies.add(time.perf_counter() - began)


@contextmanager
def _server() -> Iterator[DeviceServerProcess]:
    """A server that every user can reach."""
    with tempfile.TemporaryDirectory() as folder, device_server(Path(folder), *SERVER, *OPEN) as server:
        os.chmod(folder, 0o755)
        yield server


@asynccontextmanager
async def ground() -> AsyncIterator[Ground]:
    with _server() as server, ExitStack() as stack:
        async with device.connect(server.target) as devices:
            names = [gpu.metadata.name for gpu in await devices.v1alpha1.gpus.list()]
            found = Ground(server, cache(lambda: stack.enter_context(_server())), devices, names)
            await found.calls(Latencies(), 0.3)
            yield found


async def measure(ground: Ground, abuse: Abuse, seconds: float, *, beside: bool = True) -> None:
    """One round: a number of seconds without the attack, with the attack on another server, with the attack."""
    cpu = cpu_of(ground.server.pid)
    await ground.calls(abuse.quiet, seconds)
    usual = cpu_of(ground.server.pid) - cpu
    if beside:
        async with _attack(abuse.name, ground.other(), seconds):
            await ground.calls(abuse.beside, seconds)
    held, cpu = memory(ground.server.pid), cpu_of(ground.server.pid)
    async with _attack(abuse.name, ground.server, seconds):
        coming = asyncio.create_task(ground.newcomers(abuse.newcomers))
        await ground.calls(abuse.attacked, seconds)
        await _cancelled(coming)
        abuse.shares.append((cpu_of(ground.server.pid) - cpu - usual) / seconds)
        abuse.grown = max(abuse.grown, memory(ground.server.pid) - held)


async def _cancelled(task: asyncio.Task[None]) -> None:
    """Raise the error of a failed task."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@asynccontextmanager
async def _attack(name: str, server: DeviceServerProcess, seconds: float) -> AsyncIterator[None]:
    command = (sys.executable, attacks.__file__, name, str(server.path), str(seconds), str(NOBODY), str(CONNECTIONS))
    attacker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=os.environ | METHODS)
    assert attacker.stdout is not None
    await attacker.stdout.readline()
    try:
        yield
    finally:
        output, _ = await attacker.communicate()
    assert json.loads(output)["connected"], "the attacker could not connect"
