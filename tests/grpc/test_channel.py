"""The channel: connects when needed, reconnects, detects a dead server, and reports errors with a remedy."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl as tls
import stat
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest
from hpack import Decoder

from pilotage.errors import ConnectionLost, InvalidDefinition
from pilotage.grpc import connection
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.clientconnection import ClientConnection
from pilotage.grpc.dialer import Address
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode, Setting
from pilotage.grpc.options import ChannelOptions
from pilotage.grpc.rpc import Code, RPCError
from pilotage.grpc.server import serve
from pilotage.http.certificates import self_signed

from .ground import ECHO, HANG, LARGE, SHOUT, UNLIMITED, WATCH, Service, channel, port, served, socket_path

ANSWER = frames.block([(":status", "200"), ("content-type", "application/grpc")])
TRAILERS = frames.block([("grpc-status", "0")])


async def test_nothing_is_connected_before_the_first_call_and_one_connection_carries_all() -> None:
    async with served() as listening, channel(listening) as calling:
        await asyncio.sleep(0)
        assert listening.statistics().accepted == 0
        await asyncio.gather(*(calling.unary(ECHO, b"") for _ in range(50)))
        assert listening.statistics().accepted == 1


async def test_a_call_in_another_event_loop_is_an_error_with_its_remedy() -> None:
    async with served() as listening, channel(listening) as calling:
        await calling.unary(ECHO, b"")
        with pytest.raises(InvalidDefinition, match=r"belongs to another event loop.* pt\.wait"):
            await asyncio.to_thread(lambda: asyncio.run(calling.unary(ECHO, b"")))
        assert (await calling.unary(ECHO, b"again")).message == b"again"


async def test_the_timeout_of_a_call_may_be_a_timedelta() -> None:
    async with served() as listening, channel(listening) as calling:
        assert (await calling.unary(ECHO, b"a", timeout=timedelta(minutes=1))).message == b"a"
        with pytest.raises(RPCError, match=r"no response within 0\.05 s"):
            await calling.unary(HANG, b"", timeout=timedelta(seconds=0.05))
        with pytest.raises(InvalidDefinition, match="timeout='5': must be seconds or a timedelta"):
            await calling.unary(ECHO, b"", timeout="5")  # type: ignore[arg-type]


def unconnected() -> tuple[ClientConnection, list[bytes]]:
    """A connection, and what it gives to its transport after the preface."""
    written: list[bytes] = []
    transport = mock.create_autospec(asyncio.Transport, instance=True)
    transport.is_closing.return_value = False
    calling = ClientConnection(asyncio.get_running_loop(), ChannelOptions(keepalive_seconds=0.0), "test")
    calling.connection_made(transport)
    transport.write.side_effect = written.append
    return calling, written


async def test_the_first_call_of_a_turn_is_written_at_once_and_the_others_together() -> None:
    calling, written = unconnected()
    for _ in range(3):
        written.clear()
        calls = [await calling.begin(b"", b"message") for _ in range(10)]
        assert len(written) == 1
        await asyncio.sleep(0)
        assert len(written) == 2
        assert b"".join(written).count(b"message") == len(calls)
        await asyncio.sleep(0)
    calling.abort("the test is over")


async def test_a_channel_waits_until_the_sockets_of_earlier_connections_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They close when the server has read their last bytes, which takes a while if it is busy."""
    made: list[ClientConnection] = []

    async def connect(*_: object) -> ClientConnection:
        calling, _written = unconnected()
        made.append(calling)
        return calling

    monkeypatch.setattr("pilotage.grpc.channel.connect", connect)
    calling = GRPCChannel(Address("127.0.0.1", 1))
    await calling._connect()
    made[0].cut(ErrorCode.NO_ERROR, "the server goes away")
    await calling._connect()
    closing = asyncio.ensure_future(calling.close())
    await asyncio.sleep(0)
    made[1].connection_lost(None)
    await asyncio.sleep(0)
    assert not closing.done()
    made[0].connection_lost(None)
    await closing


async def test_a_channel_whose_close_is_cancelled_aborts_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    connecting, _ = unconnected()
    monkeypatch.setattr("pilotage.grpc.channel.connect", mock.AsyncMock(return_value=connecting))
    calling = GRPCChannel(Address("127.0.0.1", 1))
    await calling._connect()
    transport = mock.create_autospec(asyncio.Transport, instance=True)
    connecting._transport = transport
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await calling.close()
    transport.abort.assert_called_once()


async def test_a_connection_that_is_made_after_it_was_given_up_is_aborted() -> None:
    """asyncio goes on with a TLS handshake that is cancelled in the turn in which it begins."""
    late = ClientConnection(asyncio.get_running_loop(), ChannelOptions(), "test")
    late.abort("cancelled")
    transport = mock.create_autospec(asyncio.Transport, instance=True)
    late.connection_made(transport)
    transport.abort.assert_called_once()
    transport.write.assert_not_called()


async def test_what_was_not_written_when_a_connection_is_closed_comes_before_the_goodbye() -> None:
    calling, written = unconnected()
    for number in range(3):
        await calling.begin(b"", b"message %d" % number)
    calling.close()
    sent = b"".join(written)
    assert sent.index(b"message 0") < sent.index(b"message 1") < sent.index(b"message 2")
    assert sent.endswith(frames.goaway(0, ErrorCode.NO_ERROR, ""))


async def test_the_error_of_a_missing_socket_has_a_remedy() -> None:
    async with channel("/nowhere/s.sock", ChannelOptions(unreachable_hint="start the program")) as calling:
        with pytest.raises(ConnectionLost, match=r"the server is not running.*; start the program") as caught:
            await calling.unary(ECHO, b"")
        assert not caught.value.sent
        with pytest.raises(ConnectionLost, match="no such socket"):
            async with calling.stream(WATCH, b""):
                pass


async def test_the_error_of_a_socket_without_a_server_names_the_cause() -> None:
    with socket_path() as path, socket.socket(socket.AF_UNIX) as stale:
        stale.bind(path)
        async with channel(path) as calling:
            with pytest.raises(ConnectionLost, match="connection refused: no server listens there"):
                await calling.unary(ECHO, b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_the_error_of_a_socket_without_permission_has_its_group() -> None:
    async with served() as listening, channel(listening) as calling:
        path = str(listening.address)
        os.chmod(os.path.dirname(path), 0o755)
        os.chmod(path, stat.S_IRUSR | stat.S_IWUSR | stat.S_IRGRP | stat.S_IWGRP)
        os.chown(path, 0, 54321)
        os.seteuid(65534)
        try:
            with pytest.raises(
                ConnectionLost, match=r"gid 54321 .*mode 0660.*uid 65534.*supplementalGroups: \[54321\]"
            ):
                await calling.unary(ECHO, b"")
        finally:
            os.seteuid(0)


async def test_where_the_servers_queue_is_full_a_client_waits_for_room() -> None:
    """The kernel returns EAGAIN then, which asyncio treats as a connection that is being established."""
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener, ExitStack() as stack:
        listener.bind(path)
        listener.listen(1)
        full = 0
        while not full:
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            full = waiting.connect_ex(path)
        async with channel(path) as calling:
            call = asyncio.create_task(calling.unary(ECHO, b"x"))
            await asyncio.sleep(0)
            async with serve(Service().handlers(), sock=listener, options=UNLIMITED):
                assert (await call).message == b"x"


async def test_a_call_to_a_silent_server_fails() -> None:
    with socket_path() as path, socket.socket(socket.AF_UNIX) as mute:
        mute.bind(path)
        mute.listen()
        async with channel(path, ChannelOptions(connect_seconds=0.05)) as calling:
            with pytest.raises(ConnectionLost, match=r"did not respond within 0\.05 s") as caught:
                await calling.unary(ECHO, b"")
            assert (caught.value.sent, caught.value.timed_out) == (False, True)


async def test_a_call_that_was_sent_when_the_connection_broke_may_have_happened() -> None:
    async with _scripted(lambda writer: writer.transport.abort()) as path, channel(path) as calling:
        with pytest.raises(ConnectionLost) as caught:
            await calling.unary(ECHO, b"")
        assert caught.value.sent


async def test_a_call_that_the_server_never_looked_at_is_sent_again_on_a_new_connection() -> None:
    turns = iter([frames.goaway(0, ErrorCode.NO_ERROR, "restarting"), _answer(b"second")])
    async with _scripted(lambda writer: writer.write(next(turns))) as path, channel(path) as calling:
        assert (await calling.unary(ECHO, b"")).message == b"second"


async def test_a_refused_stream_is_sent_again() -> None:
    turns = iter([frames.reset(1, ErrorCode.REFUSED_STREAM), _answer(b"second", stream=3)])
    async with _scripted(lambda writer: writer.write(next(turns))) as path, channel(path) as calling:
        assert (await calling.unary(ECHO, b"")).message == b"second"


async def test_after_a_restart_the_next_call_connects_again() -> None:
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        async with channel(path) as calling:
            for _ in range(3):
                async with serve(Service().handlers(), sock=listener, options=UNLIMITED):
                    assert (await calling.unary(ECHO, b"x")).message == b"x"


async def test_an_open_stream_fails_when_the_server_dies() -> None:
    async with _scripted(_open_then_die) as path, channel(path) as calling, calling.stream(WATCH, b"") as incoming:
        with pytest.raises(ConnectionLost, match="closed the connection"):
            async for _ in incoming:
                pass


async def test_a_server_that_vanished_is_noticed_by_keepalive() -> None:
    options = ChannelOptions(keepalive_seconds=0.05, keepalive_timeout=0.05)
    async with _scripted(lambda writer: None) as path, channel(path, options) as calling:
        with pytest.raises(ConnectionLost, match="keepalive timeout"):
            await calling.unary(ECHO, b"")


async def test_a_quiet_server_that_is_alive_is_waited_for() -> None:
    service = Service()
    options = ChannelOptions(keepalive_seconds=0.02, keepalive_timeout=60.0)
    server_options = replace(UNLIMITED, ping_seconds=0.0)
    async with served(service.handlers(), server_options) as listening, channel(listening, options) as calling:
        with pytest.raises(RPCError) as caught:
            await calling.unary(HANG, b"", timeout=0.2)
        assert caught.value.code is Code.DEADLINE_EXCEEDED
        assert listening.statistics().accepted == 1


async def test_a_server_that_sends_no_headers_before_its_first_message_does_not_block() -> None:
    sent = asyncio.Event()

    def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(_answer(b"late"))
        sent.set()

    def late(writer: asyncio.StreamWriter) -> None:
        asyncio.get_running_loop().call_later(0.1, answer, writer)

    async with (
        _scripted(late) as path,
        channel(path, ChannelOptions(open_seconds=0.01)) as calling,
        calling.stream(WATCH, b"") as incoming,
    ):
        assert not sent.is_set()
        assert incoming.metadata == {}
        assert [message async for message in incoming] == [b"late"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (frames.headers(1, frames.block([(":status", "503")]), end=True), Code.UNAVAILABLE),
        (frames.headers(1, frames.block([(":status", "200"), ("content-type", "text/html")])), Code.UNKNOWN),
        (frames.headers(1, ANSWER) + frames.headers(1, TRAILERS, end=True), Code.INTERNAL),
        (frames.headers(1, ANSWER) + frames.frame(0, 0, 1, b"\x01\x00\x00\x00\x00"), Code.UNIMPLEMENTED),
        (frames.headers(1, ANSWER) + frames.frame(0, 1, 1, b""), Code.INTERNAL),
        (frames.headers(1, ANSWER) + frames.headers(1, frames.block([("x", "y")]), end=True), Code.UNKNOWN),
        (frames.headers(1, frames.block([(":status", "9" * 5000)]), end=True), Code.UNKNOWN),
        (frames.reset(1, ErrorCode.CANCEL), Code.CANCELLED),
        (frames.reset(1, ErrorCode.INTERNAL_ERROR), Code.INTERNAL),
        (frames.reset(1, ErrorCode.ENHANCE_YOUR_CALM), Code.RESOURCE_EXHAUSTED),
    ],
)
async def test_odd_answers_become_errors(answer: bytes, code: Code) -> None:
    async with _scripted(lambda writer: writer.write(answer)) as path, channel(path) as calling:
        with pytest.raises(RPCError) as caught:
            await calling.unary(ECHO, b"")
        assert caught.value.code is code


async def test_an_interim_answer_is_passed_over() -> None:
    interim = frames.headers(1, frames.block([(":status", "103")]))
    async with _scripted(lambda writer: writer.write(interim + _answer(b"real"))) as path, channel(path) as calling:
        assert (await calling.unary(ECHO, b"")).message == b"real"


@pytest.mark.parametrize(
    "noise",
    [
        frames.frame(0, 0, 7, bytes(200)),
        frames.headers(2, ANSWER),
        b"HTTP/1.1 400 No\r\n\r\n",
        frames.frame(0, 0, 1, b"\x00\x00\x00\x00\x01x"),
        frames.headers(1, ANSWER + frames.block([("Upper", "")])),
        frames.headers(1, ANSWER + frames.block([("x", "one\ntwo")])),
        frames.headers(1, ANSWER)
        + frames.headers(1, frames.block([(":status", "200"), ("grpc-status", "0")]), end=True),
        frames.frame(frames.PUSH_PROMISE, 4, 1, bytes(4)),
        b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",
        frames.headers(1, frames.block([("x", "y" * 70_000)])),
    ],
)
async def test_a_server_that_breaks_the_rules_is_left(noise: bytes) -> None:
    async with _scripted(lambda writer: writer.write(noise)) as path, channel(path) as calling:
        with pytest.raises(ConnectionLost):
            await calling.unary(ECHO, b"", timeout=60)


async def test_a_message_that_is_too_large_for_us_is_an_error() -> None:
    async with served() as listening, channel(listening, ChannelOptions(message_bytes=1000)) as calling:
        with pytest.raises(RPCError, match="the limit is 1000") as caught:
            await calling.unary(LARGE, b"")
        assert caught.value.code is Code.RESOURCE_EXHAUSTED
        await calling.unary(ECHO, b"")


async def test_a_closed_channel_ends_its_calls_and_takes_no_more() -> None:
    service = Service()
    async with served(service.handlers()) as listening, channel(listening) as calling:
        hanging = asyncio.ensure_future(calling.unary(HANG, b""))
        await service.until(hanging=1)
        await calling.close()
        with pytest.raises(ConnectionLost):
            await hanging
        with pytest.raises(ConnectionLost, match="the channel is closed") as caught:
            await calling.unary(ECHO, b"")
        assert not caught.value.sent
        await service.until(cancelled=1)


async def test_closing_does_not_wait_for_a_server_that_does_not_read() -> None:
    wide = frames.settings({Setting.INITIAL_WINDOW_SIZE: 2**31 - 1}) + frames.window_update(0, 2**30)
    with (
        socket_path() as path,
        socket.socket(socket.AF_UNIX) as listener,
        mock.patch.object(connection, "_LINGER", 0.02),
    ):
        listener.bind(path)
        listener.listen()
        listener.setblocking(False)
        async with channel(path) as calling:
            call = asyncio.ensure_future(calling.unary(ECHO, bytes(8 << 20)))
            deaf, _ = await asyncio.get_running_loop().sock_accept(listener)
            with deaf:
                await asyncio.get_running_loop().sock_sendall(deaf, wide)
                await _until_stuck(calling)
                async with asyncio.timeout(60):
                    await calling.close()
                with pytest.raises(ConnectionLost):
                    await call


async def test_a_call_waits_for_a_place_until_the_server_takes_more() -> None:
    loop = asyncio.get_running_loop()
    client = ClientConnection(loop, ChannelOptions(), "here")
    client.receive(frames.settings({Setting.MAX_CONCURRENT_STREAMS: 0}))
    waiting = asyncio.ensure_future(client.begin(b"", b""))
    await asyncio.sleep(0)
    assert client.streams == {}
    client.receive(frames.settings({Setting.MAX_CONCURRENT_STREAMS: 1}))
    async with asyncio.timeout(60):
        assert (await waiting).id == 1
    client.abort("done")


@pytest.mark.parametrize(
    ("target", "authority"),
    [
        (Address(path="/run/s"), b"localhost"),
        (Address(host="node", port=1), b"node:1"),
        (Address(host="::1", port=1), b"[::1]:1"),
    ],
)
async def test_the_authority_is_what_a_uri_would_have(target: Address, authority: bytes) -> None:
    fields = dict(Decoder().decode(GRPCChannel(target)._head(ECHO, None), raw=True))
    assert fields[b":authority"] == authority


async def test_closing_while_connecting_ends_the_calls_that_wait() -> None:
    with socket_path() as path, socket.socket(socket.AF_UNIX) as mute:
        mute.bind(path)
        mute.listen()
        mute.setblocking(False)
        async with channel(path) as calling:
            waiting = asyncio.ensure_future(calling.unary(ECHO, b""))
            accepted, _ = await asyncio.get_running_loop().sock_accept(mute)  # it will get no answer
            await calling.close()
            accepted.close()
            with pytest.raises(ConnectionLost, match="closed"):
                await waiting


async def test_tls_on_a_port_with_a_certificate_that_is_trusted_and_one_that_is_not(tmp_path: Path) -> None:
    certificate = self_signed("localhost")
    (tmp_path / "cert.pem").write_bytes(certificate.certificate)
    (tmp_path / "key.pem").write_bytes(certificate.key)
    server = tls.SSLContext(tls.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    async with serve(Service().handlers(), ssl=server, options=UNLIMITED) as listening:
        target = Address(host="127.0.0.1", port=port(listening))
        trusting = tls.create_default_context(cafile=tmp_path / "cert.pem")
        good = GRPCChannel(target, ChannelOptions(ssl=trusting, server_name="localhost"))
        assert (await good.unary(ECHO, bytes(300_000))).message == bytes(300_000)
        await asyncio.gather(*(good.unary(ECHO, b"") for _ in range(300)))
        await good.close()
        both = GRPCChannel(target, ChannelOptions(ssl=trusting, server_name="localhost"))
        async with both.bidi(SHOUT, metadata={"x-key": "value"}) as call:
            answers = aiter(call)
            for message in (b"one", b"two"):
                await call.send(message)
                assert await anext(answers) == message.upper()
            await call.end_sending()
            assert [answer async for answer in call] == []
            with pytest.raises(RPCError):
                await call.send(b"too late")
        with pytest.raises(RPCError) as late:
            await both.unary(HANG, b"", timeout=0.05)
        assert late.value.code is Code.DEADLINE_EXCEEDED
        await both.close()
        bad = GRPCChannel(target, ChannelOptions(ssl=tls.create_default_context()))
        with pytest.raises(ConnectionLost, match="certificate is not trusted") as caught:
            await bad.unary(ECHO, b"")
        assert not caught.value.sent
        await bad.close()
        plain = GRPCChannel(target)
        with pytest.raises(ConnectionLost, match="closed the connection at once"):
            await plain.unary(ECHO, b"")
        await plain.close()


async def test_tls_with_a_server_that_closes_such_connections_is_explained() -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as server:
        target = Address(host="127.0.0.1", port=server.sockets[0].getsockname()[1])
        channel = GRPCChannel(target, ChannelOptions(ssl=tls.create_default_context()))
        with pytest.raises(ConnectionLost, match="closed the connection in the TLS handshake"):
            await channel.unary(ECHO, b"")
        await channel.close()


async def _until_stuck(calling: GRPCChannel) -> None:
    for _ in range(100_000):
        if calling._connection is not None and calling._connection.paused:
            return
        await asyncio.sleep(0)
    raise AssertionError("all has been sent")


def _answer(message: bytes, stream: int = 1) -> bytes:
    data = frames.frame(frames.DATA, 0, stream, b"\x00" + len(message).to_bytes(4, "big") + message)
    return frames.headers(stream, ANSWER) + data + frames.headers(stream, TRAILERS, end=True)


def _open_then_die(writer: asyncio.StreamWriter) -> None:
    writer.write(frames.headers(1, ANSWER))
    asyncio.get_running_loop().call_later(0.01, writer.close)


class _scripted:  # noqa: N801 used as a function is
    """A server that sends its preface, waits for the end of a call and then runs a script, for each call."""

    def __init__(self, answer: Callable[[asyncio.StreamWriter], object]) -> None:
        self._answer = answer

    async def __aenter__(self) -> str:
        self._wait_for_stream = socket_path()
        path = self._wait_for_stream.__enter__()
        self._writers: list[asyncio.StreamWriter] = []
        self._server = await asyncio.start_unix_server(self._serve, path)
        return path

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        self._wait_for_stream.__exit__(None, None, None)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        writer.write(frames.settings({}))
        await reader.readexactly(len(frames.PREFACE))
        try:
            while True:
                high, low, kind, flags, _ = frames.HEAD.unpack(await reader.readexactly(9))
                await reader.readexactly(high << 8 | low)
                if kind == frames.DATA and flags & frames.END_STREAM:
                    self._answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
