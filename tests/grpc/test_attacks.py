"""Each attack on HTTP/2 meets its bound: the attacker is cut, memory and CPU stay bounded.

What other clients notice is measured in `tests/device/test_abuse.py`, with the server in a process of its own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import pytest

from hack.device import attacks
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.frames import ErrorCode
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.server import Listening

from .ground import ECHO, channel, served

SECONDS = 0.3
ROUNDS = 4
NOBODY = 65534
OPTIONS = replace(ServerOptions(), stall_seconds=0.2, request_seconds=0.2, connections_per_process=64)
AT_ONCE = OPTIONS.connections_per_uid
"""All that a user may have, which it takes several processes to get."""
EVERYBODY: dict[str, Any] = {"connections": 10_000, "connections_per_uid": 10_000, "connects_per_second": 0}

PATIENT = ("half_open_streams", "slow_reader", "shut_window")
REFUSED = ("connect_flood", "patient_connect_flood")
SLOWED = ("stray_data", "huffman_flood", "many_fields")
"""They may go on, for what it brings them: their uid has its share of the loop's time, and no more."""
CODES = {"table_flood": ErrorCode.COMPRESSION_ERROR}

LONGEST_TURN = 0.006
"""Seconds of CPU that one callback may take. What holds the loop for longer, all other clients wait for."""
MEMORY = OPTIONS.total_buffer_bytes + (16 << 20)


@dataclass
class Seen:
    """What an attack did."""

    longest_turn: float
    memory: int
    attacker: dict[str, Any]

    @property
    def harm(self) -> str:
        """What others would notice; empty where there is nothing."""
        if self.longest_turn >= LONGEST_TURN:
            return f"one turn of the loop took {self.longest_turn * 1000:.1f} ms of CPU"
        if self.memory >= MEMORY:
            return f"memory grew by {self.memory >> 20} MiB"
        return ""


@pytest.mark.covers("S10", "S16")
@pytest.mark.parametrize("name", [name for name in attacks.ATTACKS if name not in PATIENT + SLOWED + REFUSED])
async def test_a_flood_is_cut_with_goaway(name: str) -> None:
    """Whoever is slowed for the time that it costs may not come so far; here nobody is slowed, nor refused, which would
    be a GOAWAY too."""
    async with served(options=replace(OPTIONS, receive_share=0, **EVERYBODY)) as listening:
        attacker = await _attacker(name, str(listening.address), connections=1)
        output, _ = await attacker.communicate()
        assert listening.statistics().cut > 0
        assert listening.statistics().refused == 0
    seen = json.loads(output)
    assert seen["told"] > 0
    assert set(seen["codes"]) == {CODES.get(name, ErrorCode.ENHANCE_YOUR_CALM)}


@pytest.mark.covers("S10", "S16")
@pytest.mark.parametrize("name", [name for name in attacks.ATTACKS if name not in PATIENT])
async def test_no_flood_holds_the_loop_or_takes_much_memory(name: str) -> None:
    async with served(options=OPTIONS) as listening:
        await _attacked(name, listening)


@pytest.mark.covers("S10", "S16")
@pytest.mark.parametrize("name", PATIENT)
async def test_who_makes_the_server_wait_holds_little_and_not_for_long(name: str) -> None:
    async with served(options=OPTIONS) as listening:
        await _attacked(name, listening)
        async with asyncio.timeout(10), channel(listening) as other:
            while listening.statistics().connections > 1:
                await other.unary(ECHO, b"")
        assert listening.statistics().streams == 0


async def _attacked(name: str, listening: Listening) -> None:
    """There is a round that does no harm: a busy machine spoils some rounds, an attack that works spoils all."""
    harms = []
    for _ in range(ROUNDS):
        seen = await _round(name, listening)
        if not seen.harm:
            return
        harms.append(f"{seen.harm}; {seen.attacker}")
    raise AssertionError("\n".join(harms))


async def _round(name: str, listening: Listening) -> Seen:
    async with channel(listening) as well_behaved:
        await _calls(well_behaved, 0.1)
        memory = _peak_memory()
        attacker = await _attacker(name, str(listening.address))
        with _longest_turn() as turn:
            await _calls(well_behaved, SECONDS)
            output, _ = await attacker.communicate()
        return Seen(turn[0], _peak_memory() - memory, json.loads(output))


async def _attacker(name: str, path: str, connections: int = AT_ONCE) -> asyncio.subprocess.Process:
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o777)
    command = (sys.executable, attacks.__file__, name, path, str(SECONDS), str(NOBODY), str(connections))
    attacker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert attacker.stdout is not None
    await attacker.stdout.readline()
    return attacker


async def _calls(calling: GRPCChannel, seconds: float) -> None:
    """One after another, at a rate that the server grants everybody."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        await calling.unary(ECHO, b"x", timeout=5)
        await asyncio.sleep(0.012)


@contextmanager
def _longest_turn() -> Iterator[list[float]]:
    """The CPU time of the loop's longest callback: it says the same on a busy machine as on an idle one."""
    longest = [0.0]
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        longest[0] = max(longest[0], time.thread_time() - began)

    gc.disable()  # the heap of all these tests is not the server's
    try:
        with mock.patch.object(asyncio.Handle, "_run", timed):  # no other place sees every callback
            yield longest
    finally:
        gc.enable()


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
