"""Each attack on HTTP/2 meets its bound: the attacker is cut, memory and CPU stay bounded, others hardly notice."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from dataclasses import replace

import pytest

from pilotage.device.grpc.frames import ErrorCode
from pilotage.device.grpc.options import ServerOptions

from . import attacks
from .ground import ECHO, channel, served

SECONDS = 0.6
NOTICEABLE = 0.025
"""A p99 below which nobody would complain, whatever it was before."""

NOBODY = 65534
OPTIONS = replace(ServerOptions(), stall_seconds=0.2, request_seconds=0.2)
FLOODS = [name for name in attacks.ATTACKS if name not in ("half_open_streams", "slow_reader", "shut_window")]


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_is_cut_with_goaway_and_others_hardly_notice(name: str) -> None:
    async with served(options=OPTIONS) as listening, channel(listening) as well_behaved:
        await _latencies(well_behaved, 0.1)
        quiet = await _latencies(well_behaved, SECONDS / 2)
        memory, cpu = _memory(), time.process_time()
        attacker = await _attacker(name, str(listening.address))
        loud = await _latencies(well_behaved, SECONDS)
        seen = json.loads((await attacker.communicate())[0])
        statistics = listening.statistics()
        print(
            f"{name:26} p99 {quiet * 1e3:6.2f} {loud * 1e3:6.2f} ms cpu {time.process_time() - cpu:.2f} mem {_memory() - memory >> 20} MiB {seen} cut {statistics.cut} refused {statistics.refused}"
        )
    assert statistics.cut > 0
    assert seen["told"] > 0
    assert set(seen["codes"]) <= {ErrorCode.ENHANCE_YOUR_CALM}
    assert loud <= max(2 * quiet, NOTICEABLE)
    assert _memory() - memory < 32 << 20


@pytest.mark.parametrize("name", ["half_open_streams", "slow_reader", "shut_window"])
async def test_who_waits_for_ever_holds_little_and_not_for_long(name: str) -> None:
    async with served(options=OPTIONS) as listening, channel(listening) as well_behaved:
        await _latencies(well_behaved, 0.1)
        quiet = await _latencies(well_behaved, SECONDS / 2)
        memory = _memory()
        cpu = time.process_time()
        attacker = await _attacker(name, str(listening.address))
        loud = await _latencies(well_behaved, SECONDS)
        seen = json.loads((await attacker.communicate())[0])
        print(
            f"{name:26} p99 {quiet * 1e3:6.2f} {loud * 1e3:6.2f} ms cpu {time.process_time() - cpu:.2f} mem {_memory() - memory >> 20} MiB {seen} {listening.statistics()}"
        )
        assert loud <= max(2 * quiet, NOTICEABLE)
        assert _memory() - memory < 64 << 20
        async with asyncio.timeout(10):
            while listening.statistics().connections > 1:
                await well_behaved.unary(ECHO, b"")
        assert listening.statistics().streams == 0


async def _attacker(name: str, path: str) -> asyncio.subprocess.Process:
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o777)
    command = (sys.executable, attacks.__file__, name, path, str(SECONDS), str(NOBODY))
    attacker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert attacker.stdout is not None
    await attacker.stdout.readline()
    return attacker


async def _latencies(calling: object, seconds: float) -> float:
    """The p99 of calls one after another, ten milliseconds apart."""
    from pilotage.device.grpc.channel import GRPCChannel

    assert isinstance(calling, GRPCChannel)
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    taken = []
    while loop.time() < until:
        began = loop.time()
        await calling.unary(ECHO, b"x", timeout=5)
        taken.append(loop.time() - began)
        await asyncio.sleep(0.012)
    return sorted(taken)[int(len(taken) * 0.99)]


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
