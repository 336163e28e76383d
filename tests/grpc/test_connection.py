"""A connection on asyncio: it obeys the flow control of asyncio's transports, and waits for its turn."""

from __future__ import annotations

import asyncio
import socket
from typing import Any
from unittest import mock

import pytest

from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.stream import Stream
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.peers import Account, Accounts
from pilotage.grpc.rpc import Peer
from pilotage.grpc.serverconnection import ServerConnection, Shared


class Moody(socket.socket):
    """A socket that accepts every write, or none, or one more and then fails."""

    mood = "all"

    def send(self, data: Any, flags: int = 0) -> int:
        self._decide()
        return super().send(data, flags)

    def sendmsg(self, buffers: Any, *more: Any) -> int:
        self._decide()
        return super().sendmsg(buffers, *more)

    def _decide(self) -> None:
        if self.mood == "nothing":
            raise BlockingIOError
        if self.mood == "broken":
            raise BrokenPipeError
        if self.mood == "once":
            self.mood = "broken"


class Waiting(Stream):
    """A stream that has something to write as soon as there is room."""

    def __init__(self, connection: ServerConnection) -> None:
        super().__init__(connection, 1)
        self._connection = connection

    def pump(self) -> None:
        self._connection.write(b"at last")

    def receive_headers(self, fields: object, ended: bool) -> None: ...

    def receive_data(self, payload: bytes, ended: bool) -> None: ...

    def receive_reset(self, code: object) -> None: ...


async def test_a_connection_that_breaks_when_there_is_room_again_is_lost_once() -> None:
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    ours, theirs = socket.socketpair()
    moody = Moody(fileno=ours.detach())
    moody.setblocking(False)
    connection = ServerConnection(loop, Shared({}, ServerOptions()), Peer(), Account(None, None))
    with theirs:
        await loop.connect_accepted_socket(lambda: connection, moody)
        moody.mood = "nothing"
        connection.write(bytes(100_000))
        assert connection.paused
        connection.blocked.add(Waiting(connection))
        moody.mood = "once"
        async with asyncio.timeout(60):
            await connection.closed
        await asyncio.sleep(0)
    assert failures == []


class Pair:
    """Two connections of one user, whose share of time a test can use up."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        options = ServerOptions(keepalive_seconds=1, keepalive_timeout=1, idle_seconds=1)
        self.shared = Shared({}, options)
        self.account = Accounts(options, self.loop).of(Peer(uid=7), self.loop.time())
        self.connections = [self._connected(), self._connected()]

    @classmethod
    def that_waits(cls) -> Pair:
        """Both have sent a ping, and there is no time to answer it."""
        pair = cls()
        for connection in pair.connections:
            pair.feed(connection, HELLO)
        pair._use_up()
        for connection in pair.connections:
            pair.feed(connection, PING)
        return pair

    def _connected(self) -> ServerConnection:
        connection = ServerConnection(self.loop, self.shared, Peer(uid=7), self.account)
        transport = mock.create_autospec(asyncio.Transport, instance=True)
        transport.is_closing.return_value = False
        connection.connection_made(transport)
        return connection

    def _use_up(self) -> None:
        assert self.account.turns is not None
        for _ in range(100):
            self.account.turns.spend(0.01)

    @staticmethod
    def feed(connection: ServerConnection, data: bytes) -> None:
        view = connection.get_buffer(-1)
        view[: len(data)] = data
        connection.buffer_updated(len(data))


HELLO = frames.PREFACE + frames.settings({})
PING = frames.frame(frames.PING, 0, 0, b"12345678")
PONG = frames.frame(frames.PING, frames.ACK, 0, b"12345678")


def answers(connection: ServerConnection) -> int:
    sent = b"".join(call.args[0] for call in connection._transport.write.call_args_list)  # type: ignore[union-attr]
    return sent.count(PONG)


@pytest.mark.virtual_time
async def test_what_comes_while_a_connection_waits_for_its_turn_is_taken_in_its_turn() -> None:
    """TLS may deliver more data after reading was paused."""
    pair = Pair.that_waits()
    first, second = pair.connections
    pair.feed(first, PING)
    assert first.waiting_turn
    assert second.waiting_turn
    assert answers(first) == answers(second) == 0
    await asyncio.sleep(60)
    assert (answers(first), answers(second)) == (2, 1)
    assert not first.waiting_turn


@pytest.mark.virtual_time
async def test_a_connection_that_is_lost_while_it_waits_has_no_turn_and_the_other_has() -> None:
    pair = Pair.that_waits()
    first, second = pair.connections
    taken = mock.Mock(wraps=first.process)
    first.process = taken  # type: ignore[method-assign]
    first.abort("gone")
    assert pair.account.turns is not None
    assert first.resume not in pair.account.turns._waiting
    await asyncio.sleep(60)
    taken.assert_not_called()
    assert answers(second) == 1


@pytest.mark.virtual_time
async def test_who_waits_for_its_turn_is_neither_dead_nor_idle() -> None:
    pair = Pair.that_waits()
    connection = pair.connections[0]
    while connection.waiting_turn:
        connection.check(pair.loop.time())
        await asyncio.sleep(0.5)
    assert pair.loop.time() > 10
    assert not connection.lost
    assert not connection.stopping
    assert answers(connection) == 1


async def test_the_calls_of_a_lost_connection_are_ended_a_few_in_a_turn() -> None:
    connection = Pair().connections[0]
    lost: list[int] = []

    def call(number: int) -> mock.Mock:
        def lose() -> None:
            del connection.streams[number]
            lost.append(number)

        return mock.Mock(lose=lose)

    connection.streams.update({number: call(number) for number in range(100)})
    connection.abort("gone")
    assert 0 < len(lost) < 20
    while connection.streams:
        before = len(lost)
        await asyncio.sleep(0)
        assert len(lost) - before < 20
    assert sorted(lost) == list(range(100))
