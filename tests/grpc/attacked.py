"""A server's end of a connection under attack, without a socket: what it does in each turn of the loop is counted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from types import FrameType
from typing import Any
from unittest import mock

from hack.device.attacks import ATTACKS, HELLO
from pilotage.grpc import serverconnection
from pilotage.grpc.calls import routes
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.peers import Accounts
from pilotage.grpc.rpc import Peer
from pilotage.grpc.serverconnection import ServerConnection, Shared

from .ground import Service

LINE = 1e-7
"""Seconds of CPU that a line of Python is charged."""
SECONDS = 2.0
"""How long an attack goes on that is not cut, in virtual time."""


@dataclass
class Turn:
    """The work that a connection makes the loop do before the loop does something else."""

    frames: int = 0
    blocks: int = 0
    """Header blocks."""
    lines: int = 0
    """Lines of Python that were run: this grows with the CPU time, and is the same on every machine."""


class AttackedConnection(ServerConnection):
    """Counts its work."""

    def __init__(self, options: ServerOptions) -> None:
        loop = asyncio.get_running_loop()
        peer = Peer(uid=7)
        shared = Shared(routes(Service().handlers()), options)
        super().__init__(loop, shared, peer, Accounts(options, loop).of(peer, loop.time()))
        shared.connections.add(self)
        self.shared = shared
        self.turns: list[Turn] = []
        self.most_held = 0
        """Bytes of requests and answers."""
        self.transport = mock.create_autospec(asyncio.Transport, instance=True)
        self.transport.is_closing.side_effect = lambda: bool(self.lost)
        self.read_from = asyncio.Event()
        """Set while the server reads what this client sends, and when the connection is lost."""
        self.read_from.set()
        self.transport.pause_reading.side_effect = self.read_from.clear
        self.transport.resume_reading.side_effect = self.read_from.set
        self.connection_made(self.transport)

    def cpu(self) -> float:
        """What it has used so far, in the place of the thread's clock."""
        return sum(turn.lines for turn in self.turns) * LINE

    def goaway(self) -> ErrorCode:
        """The code that it ended the connection with."""
        last = self.transport.write.call_args.args[0]
        assert last[3] == frames.GOAWAY
        return ErrorCode(int.from_bytes(last[13:17], "big"))

    def ended(self) -> None:
        super().ended()
        self.read_from.set()

    def receive(self, data: bytes) -> bool:
        turn = Turn()
        self.turns.append(turn)
        with _counting(turn):
            return super().receive(data)

    def _take(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        self.turns[-1].frames += 1
        super()._take(kind, flags, stream_id, payload)

    def _receive_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        self.turns[-1].frames += 1
        super()._receive_data(flags, stream_id, payload)

    def _receive_block(self, stream_id: int, block: bytes, ended: bool) -> None:
        self.turns[-1].blocks += 1
        super()._receive_block(stream_id, block, ended)


async def attacked(name: str, options: ServerOptions) -> AttackedConnection:
    """A connection after the attack, on a virtual loop: it was cut, or the attack went on for `SECONDS`."""
    loop = asyncio.get_running_loop()
    connection = AttackedConnection(options)
    until = loop.time() + SECONDS
    with mock.patch.object(serverconnection, "thread_time", connection.cpu):
        for data in chain((HELLO,), _pieces(ATTACKS[name](), len(connection.get_buffer(-1)))):
            await connection.read_from.wait()
            if connection.lost or loop.time() > until:
                break
            if data:
                _feed(connection, data)
            await asyncio.sleep(0 if data else 0.02)
            connection.check(loop.time())
            connection.most_held = max(connection.most_held, connection.held + connection.queued_bytes)
    return connection


def _pieces(attack: Iterator[bytes], size: int) -> Iterator[bytes]:
    """What one read returns at a time; nothing where the attacker waits."""
    for sent in attack:
        yield from (sent[start : start + size] for start in range(0, len(sent) or 1, size))


def _feed(connection: ServerConnection, data: bytes) -> None:
    view = connection.get_buffer(-1)
    view[: len(data)] = data
    connection.buffer_updated(len(data))


@contextmanager
def _counting(turn: Turn) -> Iterator[None]:
    def count(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            turn.lines += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)
