"""After any input a connection continues or ends cleanly, keeps no state of ended streams, and may be cut anywhere."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hack.device.attacks import HELLO, MESSAGE, frame, literal, request
from pilotage.errors import ConnectionLost
from pilotage.grpc.calls import routes
from pilotage.grpc.clientconnection import ClientConnection
from pilotage.grpc.connection import Connection
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.engine import ProtocolViolation
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.http2.guard import Abuse
from pilotage.grpc.options import ChannelOptions, ServerOptions
from pilotage.grpc.peers import Accounts
from pilotage.grpc.rpc import Peer, RPCError
from pilotage.grpc.serverconnection import ServerConnection, Shared

from .ground import COUNT, ECHO, FAIL, HANG, LARGE, SHOUT, WATCH, Service
from .http2.test_engine import Recorder

STREAMS = st.sampled_from([0, 1, 1, 1, 2, 3, 3, 5, 7, 9, 2**31 - 1])
ANSWER = frames.block([(":status", "200"), ("content-type", "application/grpc")])
FIELDS = st.sampled_from(
    [
        b"",
        literal(b"grpc-timeout", b"1m"),
        literal(b"content-length", b"7"),
        literal(b"Upper", b"x"),
        literal(b":path", b"/late"),
        literal(b"x", b"a\nb"),
        literal(b"x-kept", b"y" * 50, indexed=True),
        literal(b"grpc-status", b"0"),
        literal(b"grpc-status", b"9" * 5000),
        literal(b":status", b"9" * 5000),
    ]
)
METHODS = st.sampled_from([name.encode() for name in (ECHO, FAIL, HANG, LARGE, COUNT, WATCH, SHOUT, "/no/Such")])
BLOCKS = st.one_of(
    st.builds(request, METHODS),
    st.builds(request, METHODS, FIELDS),
    st.builds(bytes.__add__, st.just(ANSWER), FIELDS),
    FIELDS,
    st.sampled_from([b"\xbe", b"\x20", b"\x20\x20\x20", b"\xff\xff"]),
)
DATA = st.one_of(st.just(MESSAGE), st.binary(max_size=30), st.builds(bytes, st.integers(100, 16384)))
SETTING = st.builds(
    lambda key, value: struct.pack(">HL", key, value),
    st.integers(1, 7),
    st.sampled_from([0, 1, 100, 16384, 65535, 2**31 - 1, 2**32 - 1]),
)
NUMBER = st.sampled_from([0, 1, 1000, 65535, 2**31 - 1, 2**32 - 1]).map(lambda number: number.to_bytes(4, "big"))
FRAMES = st.one_of(
    st.builds(lambda stream, block, end: frame(1, 4 | end, stream, block), STREAMS, BLOCKS, st.sampled_from([0, 1])),
    st.builds(lambda stream, block: frame(1, 4, stream, block) + frame(0, 1, stream, MESSAGE), STREAMS, BLOCKS),
    st.builds(frame, st.sampled_from([0, 1, 9]), st.integers(0, 255), STREAMS, DATA),
    st.builds(lambda stream, data, end: frame(0, end, stream, data), STREAMS, DATA, st.sampled_from([0, 1])),
    st.builds(lambda stream, code: frame(3, 0, stream, code), STREAMS, NUMBER),
    st.builds(lambda stream, size: frame(8, 0, stream, size), STREAMS, NUMBER),
    st.builds(lambda values: frame(4, 0, 0, b"".join(values)), st.lists(SETTING, max_size=3)),
    st.builds(lambda last, code: frame(7, 0, 0, last + code + b"bye"), NUMBER, NUMBER),
    st.builds(lambda flags: frame(6, flags, 0, b"12345678"), st.sampled_from([0, 1])),
    st.builds(frame, st.integers(0, 12), st.integers(0, 255), STREAMS, st.binary(max_size=12)),
)
SEQUENCES = st.lists(FRAMES, max_size=12).map(b"".join)
CUTS = st.lists(st.integers(1, 400), min_size=1, max_size=8)


class Wire(asyncio.Transport):
    """Where a connection's bytes go. Nothing is sent from it before it is made."""

    def __init__(self, connection: Connection[Any], *, full: bool) -> None:
        super().__init__()
        self.sent = bytearray()
        self.reading = True
        self._connection = connection
        self._full = full
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        assert not self._closing, "written after the end"
        self.sent += data
        if self._full and len(self.sent) > 1000 and not self._connection.paused:
            self._connection.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            asyncio.get_running_loop().call_soon(self._connection.connection_lost, None)

    def abort(self) -> None:
        self.close()


async def _feed(connection: Connection[Any], wire: Wire, data: bytes, cuts: list[int], *, eager: bool = False) -> None:
    """As the loop would: in pieces, and only while the connection reads; with TLS (`eager`) more data may arrive after
    a pause."""
    at = turn = 0
    while at < len(data) and not wire.is_closing():
        if wire.reading or eager:
            piece = data[at : at + cuts[turn % len(cuts)]]
            view = connection.get_buffer(-1)
            piece = piece[: len(view)]
            view[: len(piece)] = piece
            connection.buffer_updated(len(piece))
            at, turn = at + len(piece), turn + 1
        if not wire.reading or turn % 3 == 0:
            await asyncio.sleep(0)


def _check_nothing_is_left(connection: Connection[Any]) -> None:
    assert connection.streams == {}
    assert connection.blocked == set()
    assert connection.queued_bytes == 0


def _goodbyes(sent: bytes) -> list[int]:
    """The codes of all GOAWAYs; what was sent must be whole frames."""
    codes, at = [], 0
    while at < len(sent):
        high, low, kind, *_ = frames.HEAD.unpack_from(sent, at)
        if kind == frames.GOAWAY:
            codes.append(int.from_bytes(sent[at + 13 : at + 17], "big"))
        at += frames.HEAD_BYTES + (high << 8 | low)
    assert at == len(sent)
    return codes


async def _serve(data: bytes, cuts: list[int], *, full: bool, limited: bool) -> None:
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda loop, context: failures.append(context))
    options = ServerOptions() if limited else ServerOptions(requests_per_second=0)
    account = Accounts(options, loop).of(Peer(), loop.time())
    connection = ServerConnection(loop, Shared(routes(Service().handlers()), options), Peer(), account)
    wire = Wire(connection, full=full)
    connection.connection_made(wire)
    await _feed(connection, wire, HELLO + data, cuts, eager=full)
    for _ in range(5):
        await asyncio.sleep(0)
    cut = bool(connection.violation)
    connection.abort("the end")
    await connection.closed
    if connection.running:
        await asyncio.wait(connection.running)
    _check_nothing_is_left(connection)
    assert connection.held == 0
    assert failures == []
    assert len(_goodbyes(bytes(wire.sent))) == int(cut)


@given(SEQUENCES, CUTS, st.booleans(), st.booleans())
def test_a_server_that_is_sent_anything_ends_cleanly_and_keeps_nothing(
    data: bytes, cuts: list[int], full: bool, limited: bool
) -> None:
    asyncio.run(_serve(data, cuts, full=full, limited=limited))


async def _call(data: bytes, cuts: list[int], *, full: bool) -> None:
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda loop, context: failures.append(context))
    connection = ClientConnection(loop, ChannelOptions(message_bytes=10_000), "here")
    wire = Wire(connection, full=full)
    connection.connection_made(wire)
    await _feed(connection, wire, frames.settings({}), [100])
    calls = [await connection.begin(b"", bytes(size)) for size in (10, 100_000, 10)]
    waiting = [loop.create_task(call.message()) for call in calls]
    await _feed(connection, wire, data, cuts, eager=full)
    connection.abort("the end")
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    await connection.closed
    _check_nothing_is_left(connection)
    assert all(isinstance(outcome, bytes | RPCError | ConnectionLost) for outcome in outcomes)
    assert failures == []
    assert len(_goodbyes(bytes(wire.sent[len(frames.PREFACE) :]))) <= 1


@given(SEQUENCES, CUTS, st.booleans())
def test_a_client_that_is_sent_anything_ends_cleanly_and_keeps_nothing(
    data: bytes, cuts: list[int], full: bool
) -> None:
    asyncio.run(_call(data, cuts, full=full))


def _outcome(data: bytes, pieces: Callable[[bytes], list[bytes]]) -> tuple[object, ...]:
    engine = Recorder()
    code: ErrorCode | str | None = None
    try:
        for piece in pieces(data):
            while not engine.receive(piece):
                piece = b""
    except ProtocolViolation as violation:
        code = violation.code
    except Abuse as abuse:
        code = abuse.kind.name
    told = [(stream.id, stream.data, stream.trailers, stream.was_reset) for stream in engine.streams.values()]
    return code, engine.heads, told, engine.left, engine.window, engine.initial_window, engine.take_sent()


@given(SEQUENCES, CUTS)
def test_bytes_mean_the_same_wherever_they_are_cut(data: bytes, cuts: list[int]) -> None:
    def cut(data: bytes) -> list[bytes]:
        pieces: list[bytes] = []
        while data:
            size = cuts[len(pieces) % len(cuts)]
            pieces.append(data[:size])
            data = data[size:]
        return pieces

    assert _outcome(HELLO + data, cut) == _outcome(HELLO + data, lambda whole: [whole])


@given(SEQUENCES, CUTS)
def test_what_is_deferred_is_taken_as_if_it_came_later(data: bytes, cuts: list[int]) -> None:
    def outcome(deferred: int) -> tuple[object, ...]:
        engine = Recorder()
        engine.defer((HELLO + data)[:deferred])
        rest, code = (HELLO + data)[deferred:], None
        try:
            while not engine.receive(rest):
                rest = b""
        except (ProtocolViolation, Abuse) as error:
            code = str(error)
        return code, engine.heads, engine.take_sent()

    assert outcome(cuts[0]) == outcome(0)
