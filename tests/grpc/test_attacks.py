"""Each attack on HTTP/2 is bounded: the client is disconnected, refused or slowed, and blocks the event loop only
briefly.

How long the calls of other clients take meanwhile is measured by `make bench-abuse`.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from hack.device import attacks
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.rpc import Code
from pilotage.grpc.server import Server

from .attacked import LINE, SECONDS, attacked
from .ground import ECHO, channel, served

NOBODY = 65534
OPTIONS = replace(ServerOptions(), stall_seconds=0.2, request_seconds=0.2, connections_per_process=64)
AT_ONCE = OPTIONS.connections_per_uid

PATIENT = ("half_open_streams", "slow_reader", "shut_window")
REFUSED = ("connect_flood", "patient_connect_flood")
TOLERATED = ("stray_data",)
"""Attacks that are not disconnected: the uid is limited to its share of the loop's time."""
CUT = [name for name in attacks.ATTACKS if name not in PATIENT + REFUSED + TOLERATED]
CODES = {"table_flood": ErrorCode.COMPRESSION_ERROR}

FRAMES, BLOCKS, LINES = 64, 1, 60_000
"""What a client may have done in one turn; all other clients wait for its end. The lines are those of the most
expensive header block that is accepted: a few milliseconds."""
MEMORY = OPTIONS.total_buffer_bytes + (16 << 20)
BURST = 0.002
"""Seconds of the loop's time that a uid may use at once."""
CALLS = 10


@pytest.mark.covers("S10", "S16")
@pytest.mark.virtual_time
@pytest.mark.parametrize("name", CUT)
async def test_a_flood_is_cut_with_goaway(name: str) -> None:
    """Without a share of time to wait for: a client that is slowed needs longer until it has done too much."""
    connection = await attacked(name, replace(OPTIONS, receive_share=0))
    assert connection.shared.cut == 1
    assert connection.goaway() is CODES.get(name, ErrorCode.ENHANCE_YOUR_CALM)
    assert sum(turn.frames for turn in connection.turns) < 1000


@pytest.mark.covers("S10", "S16")
@pytest.mark.virtual_time
@pytest.mark.parametrize("name", [name for name in attacks.ATTACKS if name not in REFUSED])
async def test_no_turn_is_long_and_all_of_them_together_use_their_share_of_time(name: str) -> None:
    began = asyncio.get_running_loop().time()
    connection = await attacked(name, OPTIONS)
    lasted = asyncio.get_running_loop().time() - began
    assert lasted < SECONDS + 1
    assert max(turn.frames for turn in connection.turns) <= FRAMES
    assert max(turn.blocks for turn in connection.turns) <= BLOCKS
    longest = max(turn.lines for turn in connection.turns)
    assert longest <= LINES
    assert connection.cpu() <= OPTIONS.receive_share * lasted + BURST + longest * LINE
    assert connection.most_held <= OPTIONS.buffer_bytes
    connection.abort("the test is over")
    await asyncio.sleep(1)  # its calls end


@pytest.mark.covers("S10", "S16")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the attacker is another user than the other clients")
@pytest.mark.parametrize("name", attacks.ATTACKS)
async def test_other_clients_are_served_during_an_attack_that_is_held_to_its_bounds(name: str) -> None:
    async with served(options=OPTIONS) as listening, channel(listening) as other:
        await _call(other)
        memory = _peak_memory()
        async with _attack(name, listening):
            async with asyncio.timeout(100):
                while not _is_bounded(name, listening):
                    await _call(other)
            for _ in range(CALLS):
                await _call(other)
            async with channel(listening) as newcomer:
                await _call(newcomer)
        assert _peak_memory() - memory < MEMORY
        async with asyncio.timeout(100):
            while listening.statistics().connections > 1:
                await _call(other)
        assert listening.statistics().streams == 0


def _is_bounded(name: str, listening: Server) -> bool:
    """Whether the server has limited the attacker as it must."""
    statistics = listening.statistics()
    if name in REFUSED:
        return statistics.refused > 0
    if name in PATIENT:  # its calls were ended
        return statistics.cut > 0 or sum(statistics.calls.values()) > statistics.calls.get(Code.OK, 0)
    return statistics.cut > 0 or any(connection.waiting_turn for connection in listening._connections)


@asynccontextmanager
async def _attack(name: str, listening: Server) -> AsyncIterator[None]:
    """An attack by a process of another user, for the length of the block."""
    path = str(listening.address)
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o777)
    command = (sys.executable, attacks.__file__, name, path, "60", str(NOBODY), str(AT_ONCE))
    attacker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert attacker.stdout is not None
    await attacker.stdout.readline()
    try:
        yield
    finally:
        attacker.kill()
        await attacker.communicate()


async def _call(calling: GRPCChannel) -> None:
    """At a rate that the server grants every user."""
    assert (await calling.unary(ECHO, b"x", timeout=60)).message == b"x"
    await asyncio.sleep(0.012)


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
