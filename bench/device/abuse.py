"""What other clients notice while one user attacks the server, in each way that the tests know.

Three processes: the server as `pilotage device serve` runs it, with its default limits; a client of the SDK that gets
GPUs one after another; an attacker of another user, with all connections that a user may have. In turns there is no
attack, an attack on another server (so that the machine has the same to do), and an attack on this one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from bench.device.latencies import Latencies
from bench.figures import cpu_of, memory
from pilotage import device
from tests.device.grpc import attacks
from tests.device.servers import DeviceServerProcess, device_server

NOBODY = 65534
CONNECTIONS = 16
PAUSE = 0.0115
"""Seconds between two calls: about 75 a second, where a user may have 100."""
NEWCOMERS = 0.25
"""Seconds between two that connect, make one call and go."""
SERVICE = "/nvidia.nvsentinel.v1alpha1.GpuService"
METHODS = {"ATTACKED_METHODS": f"{SERVICE}/GetGpu,{SERVICE}/ListGpus"}
SERVER = ("--provider", "fake", "--count", "256", "--period", "0", "--gate-seconds", "0", "--log-level", "error")
OPEN = ("--socket-mode", "0666", "--allow-read-uid", str(NOBODY))
BOUND = 2.0
"""How many times as long as without an attack the p99 may be."""


@dataclass
class Abuse:
    """How long calls took."""

    name: str
    quiet: Latencies = field(default_factory=Latencies)
    beside: Latencies = field(default_factory=Latencies)
    """While another server is attacked."""
    attacked: Latencies = field(default_factory=Latencies)
    newcomers: Latencies = field(default_factory=Latencies)
    """From connecting to the first answer, while attacked."""
    shares: list[float] = field(default_factory=list)
    """The part of a core that the server used while attacked, beyond what it used for the client."""
    grown: int = 0

    @property
    def ratio(self) -> float:
        return self.attacked.percentile(99) / self.quiet.percentile(99)

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
    """What an attack is measured on."""

    server: DeviceServerProcess
    other: DeviceServerProcess
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


@asynccontextmanager
async def ground(folder: Path) -> AsyncIterator[Ground]:
    places = [folder / "attacked", folder / "beside"]
    for place in places:
        place.mkdir(mode=0o755)
    os.chmod(folder, 0o755)
    one, other = places
    with device_server(one, *SERVER, *OPEN) as server, device_server(other, *SERVER, *OPEN) as second:
        for place in places:
            os.chmod(place, 0o755)
        async with device.connect(server.target) as devices:
            names = [gpu.metadata.name for gpu in await devices.v1alpha1.gpus.list()]
            found = Ground(server, second, devices, names)
            await found.calls(Latencies(), 1.0)
            yield found


async def measured(ground: Ground, name: str, *, rounds: int, seconds: float) -> Abuse:
    """One attack, in so many rounds of so many seconds without and with it."""
    abuse = Abuse(name)
    for _ in range(rounds):
        cpu = cpu_of(ground.server.pid)
        await ground.calls(abuse.quiet, seconds)
        usual = cpu_of(ground.server.pid) - cpu
        async with _attack(name, ground.other, seconds):
            await ground.calls(abuse.beside, seconds)
        held, cpu = memory(ground.server.pid), cpu_of(ground.server.pid)
        async with _attack(name, ground.server, seconds):
            coming = asyncio.create_task(ground.newcomers(abuse.newcomers))
            await ground.calls(abuse.attacked, seconds)
            coming.cancel()
        abuse.shares.append((cpu_of(ground.server.pid) - cpu - usual) / seconds)
        abuse.grown = max(abuse.grown, memory(ground.server.pid) - held)
        await asyncio.gather(coming, return_exceptions=True)
    return abuse


@asynccontextmanager
async def _attack(name: str, server: DeviceServerProcess, seconds: float) -> AsyncIterator[None]:
    command = (sys.executable, attacks.__file__, name, str(server.path), str(seconds), str(NOBODY), str(CONNECTIONS))
    attacker = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | METHODS)
    assert attacker.stdout is not None
    attacker.stdout.readline()
    try:
        yield
    finally:
        await asyncio.to_thread(attacker.communicate)
        await asyncio.sleep(0.5)  # the user may connect again


async def main(folder: Path, names: list[str], rounds: int, seconds: float) -> None:
    async with ground(folder) as found:
        for name in names:
            print((await measured(found, name, rounds=rounds, seconds=seconds)).line(), flush=True)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        chosen = sys.argv[3:] or list(attacks.ATTACKS)
        asyncio.run(main(Path(scratch), chosen, int(sys.argv[1]), float(sys.argv[2])))
