"""The server: who may connect, its limits, and how it stops."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import subprocess
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import replace

import pytest

from hack.device.attacks import MESSAGE
from pilotage.errors import ConnectionLost, PilotageError
from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.dialer import Address
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.rpc import Call, Code, Handlers, Peer, Reply, RPCError
from pilotage.grpc.server import Server, serve

from .ground import COUNT, ECHO, HANG, LARGE, UNLIMITED, WATCH, Service, channel, port, served, socket_path
from .raw import HELLO, connected, frame, request


async def test_every_call_has_the_credentials_of_its_peer() -> None:
    service = Service()
    async with served(service.handlers()) as listening, channel(listening) as calling:
        await calling.unary(ECHO, b"")
    assert service.calls[0].peer == Peer(
        uid=os.getuid(),
        gid=os.getgid(),
        pid=os.getpid(),
        groups=service.calls[0].peer.groups,
        address=f"unix:pid={os.getpid()}",
    )
    assert set(service.calls[0].peer.groups) <= {*os.getgroups(), os.getgid()}


async def test_a_peer_that_is_not_admitted_gets_the_reason_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    def nobody(peer: Peer) -> None:
        raise PilotageError(f"uid {peer.uid} may not read")

    async with served(admit=nobody) as listening:
        for _ in range(5):
            async with channel(listening) as calling:
                with pytest.raises(ConnectionLost, match=rf"uid {os.geteuid()} may not read$") as caught:
                    await calling.unary(ECHO, b"")
            assert not caught.value.sent
        async with connected(listening.address) as raw:
            assert await raw.goaway() == (ErrorCode.INADEQUATE_SECURITY, f"uid {os.geteuid()} may not read")
        assert listening.statistics().refused >= 6  # a channel that loses its connection before it reads connects again
        assert listening.statistics().accepted == 0
    assert len([record for record in caplog.records if "may not read" in record.getMessage()]) == 1


async def test_a_check_that_fails_admits_no_peer_and_the_next_peer_is_checked(caplog: pytest.LogCaptureFixture) -> None:
    checks = iter([LookupError("a bug"), None])

    def admit(peer: Peer) -> None:
        if (error := next(checks)) is not None:
            raise error

    async with served(admit=admit) as listening:
        async with connected(listening.address) as raw:
            assert await raw.goaway() == (
                ErrorCode.INADEQUATE_SECURITY,
                "the admission check failed; the server's log has the error",
            )
        async with channel(listening) as calling:
            await calling.unary(ECHO, b"")
    assert any(record.exc_info for record in caplog.records)


async def test_connections_beyond_the_limit_of_a_user_are_closed_at_once() -> None:
    options = replace(UNLIMITED, connections_per_uid=2)
    async with served(options=options) as listening, AsyncExitStack() as stack:
        for _ in range(2):
            raw = await stack.enter_async_context(connected(listening.address))
            await raw.until(frames.SETTINGS)
        async with channel(listening) as third:
            with pytest.raises(ConnectionLost, match="this user has 2 connections, the limit") as caught:
                await third.unary(ECHO, b"")
            assert not caught.value.sent
            await stack.aclose()
            await _until(listening, connections=0)
            await third.unary(ECHO, b"")


async def test_one_process_of_a_user_leaves_connections_to_the_others() -> None:
    options = replace(UNLIMITED, connections_per_uid=10, connections_per_process=2)
    async with served(options=options) as listening, AsyncExitStack() as stack:
        for _ in range(2):
            raw = await stack.enter_async_context(connected(listening.address))
            await raw.until(frames.SETTINGS)
        async with channel(listening) as third:
            with pytest.raises(ConnectionLost, match="this process has 2 connections, the limit"):
                await third.unary(ECHO, b"")
            assert await asyncio.to_thread(_greeted_in_another_process, str(listening.address)) == "True"
            await stack.aclose()
            await _until(listening, connections=0)
            await third.unary(ECHO, b"")


@pytest.mark.parametrize(
    ("uid", "process", "share"), [(64, 0, 16), (2, 0, 16), (1000, 0, 250), (64, 40, 40), (64, 1, 1)]
)
def test_a_process_has_a_quarter_of_its_users_connections_and_at_least_sixteen(
    uid: int, process: int, share: int
) -> None:
    assert ServerOptions(connections_per_uid=uid, connections_per_process=process).process_share == share


def _greeted_in_another_process(path: str) -> str:
    """Whether a connection of another process is served: those that are refused get settings without any."""
    program = """
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    print(int.from_bytes(client.recv(1000)[:3], "big") > 0)
"""
    command = [sys.executable, "-c", program, path]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


async def test_connections_beyond_the_limit_of_all_are_closed_at_once() -> None:
    async with served(options=replace(UNLIMITED, connections=1)) as listening, channel(listening) as first:
        await first.unary(ECHO, b"")
        async with connected(listening.address) as raw:
            assert await raw.goaway() == (ErrorCode.ENHANCE_YOUR_CALM, "the server has 1 connections, the limit")
        await first.unary(ECHO, b"")


async def test_a_user_who_connects_too_often_is_refused() -> None:
    options = replace(UNLIMITED, connects_per_second=0.001, connect_burst=3)
    async with served(options=options) as listening:
        for _ in range(6):
            reader, writer = await asyncio.open_unix_connection(str(listening.address))
            with suppress(ConnectionError):
                writer.write(HELLO)
                await reader.read(1)
            writer.close()
        assert listening.statistics().accepted == 3
        assert listening.statistics().refused == 3


@pytest.mark.parametrize("greeting", [b"", HELLO[:10], frames.PREFACE])
async def test_who_does_not_begin_to_speak_http2_is_cut(greeting: bytes) -> None:
    async with served(options=replace(UNLIMITED, handshake_seconds=0.05)) as listening:
        async with connected(listening.address, greeting) as raw:
            assert (await raw.goaway())[0] is ErrorCode.SETTINGS_TIMEOUT
        await _until(listening, connections=0)


async def test_a_client_of_another_protocol_is_disconnected_at_once() -> None:
    async with served() as listening, connected(listening.address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") as raw:
        assert await raw.goaway() == (ErrorCode.PROTOCOL_ERROR, "not an HTTP/2 preface; connect with a gRPC client")


async def test_a_connection_without_calls_is_asked_to_go_after_a_while_and_the_client_comes_again() -> None:
    async with served(options=replace(UNLIMITED, idle_seconds=0.05)) as listening, channel(listening) as calling:
        await calling.unary(ECHO, b"")
        await _until(listening, connections=0)
        await calling.unary(ECHO, b"")
        assert listening.statistics().accepted >= 2  # on a busy machine, a new one may be asked to go before its call
        assert listening.statistics().cut == 0


async def test_a_call_that_crosses_the_farewell_to_an_idle_client_may_be_sent_again() -> None:
    async with (
        served(options=replace(UNLIMITED, idle_seconds=0.05)) as listening,
        connected(listening.address) as raw,
    ):
        assert (await raw.goaway())[0] is ErrorCode.NO_ERROR
        await raw.send(frame(frames.HEADERS, 4, 1, request(ECHO.encode())) + frame(frames.DATA, 1, 1, MESSAGE))
        assert await raw.until(frames.RST_STREAM, 1) == (0, struct.pack(">L", ErrorCode.REFUSED_STREAM))


async def test_a_silent_client_is_pinged_and_disconnected_without_an_answer() -> None:
    options = replace(UNLIMITED, keepalive_seconds=0.05, keepalive_timeout=0.05)
    async with served(options=options) as listening, connected(listening.address) as raw:
        await raw.until(frames.PING)
        await raw.end()
        await _until(listening, connections=0)


async def test_a_client_that_gives_signs_of_life_stays() -> None:
    options = replace(UNLIMITED, keepalive_seconds=0.03, keepalive_timeout=60.0)
    async with served(options=options) as listening, connected(listening.address) as raw:
        for _ in range(5):
            _, payload = await raw.until(frames.PING)  # there is no second one before the answer to the first
            await raw.send(frame(frames.PING, frames.ACK, 0, payload))
        assert listening.statistics().connections == 1


@pytest.mark.covers("S10")
async def test_a_client_that_pings_too_often_gets_enhance_your_calm() -> None:
    async with served() as listening, connected(listening.address) as raw:
        for _ in range(4):
            await raw.send(frame(frames.PING, 0, 0, b"01234567"))
            assert await raw.until(frames.PING) == (frames.ACK, b"01234567")
        assert await raw.goaway() == (ErrorCode.ENHANCE_YOUR_CALM, "too many frames: ping")


async def test_pings_are_fine_while_calls_are_answered() -> None:
    async with served() as listening, connected(listening.address) as raw:
        for stream in range(1, 21, 2):
            await raw.send(
                frame(frames.HEADERS, 4, stream, request(ECHO.encode())) + frame(frames.DATA, 1, stream, MESSAGE)
            )
            await raw.until(frames.DATA, stream)
            await raw.send(frame(frames.PING, 0, 0, b"01234567"))
        assert listening.statistics().cut == 0


@pytest.mark.covers("S10")
async def test_a_message_that_is_too_large_is_refused_before_it_has_come() -> None:
    async with served(options=replace(UNLIMITED, message_bytes=1000)) as listening:
        async with channel(listening) as calling:
            await calling.unary(ECHO, bytes(1000))
            with pytest.raises(RPCError, match="1001 bytes, the limit is 1000") as caught:
                await calling.unary(ECHO, bytes(1001))
            assert caught.value.code is Code.RESOURCE_EXHAUSTED
        async with connected(listening.address) as raw:
            length = b"\x00\x00\x00\x03\xe9"
            await raw.send(frame(frames.HEADERS, 4, 1, request(ECHO.encode())) + frame(frames.DATA, 0, 1, length))
            assert b"grpc-status: 8" in (await raw.until(frames.HEADERS, 1))[1]
            assert await raw.until(frames.RST_STREAM, 1) == (0, bytes(4))


async def test_an_answer_that_is_too_large_is_reported() -> None:
    async with served(options=replace(UNLIMITED, reply_bytes=1000)) as listening, channel(listening) as calling:
        with pytest.raises(RPCError, match="request less") as caught:
            await calling.unary(LARGE, b"")
        assert caught.value.code is Code.RESOURCE_EXHAUSTED


async def test_a_call_whose_message_does_not_come_is_ended() -> None:
    async with (
        served(options=replace(UNLIMITED, request_seconds=0.05)) as listening,
        connected(listening.address) as raw,
    ):
        await raw.send(frame(frames.HEADERS, 4, 1, request(ECHO.encode())) + frame(frames.DATA, 0, 1, MESSAGE[:-1]))
        assert b"grpc-status: 4" in (await raw.until(frames.HEADERS, 1))[1]
        assert listening.statistics().streams == 0


async def test_metadata_that_are_too_large_end_the_connection() -> None:
    async with served() as listening, connected(listening.address) as raw:
        many = b"".join(b"\x00\x05x-%03d\x7f\x00" % number + b"v" * 127 for number in range(110))
        await raw.send(frame(frames.HEADERS, 5, 1, request(ECHO.encode(), many)[:16384]))
        assert (await raw.goaway())[0] is ErrorCode.ENHANCE_YOUR_CALM


@pytest.mark.covers("S10")
async def test_calls_beyond_the_limit_of_a_connection_are_refused_and_may_come_again() -> None:
    service = Service()
    async with (
        served(service.handlers(), replace(UNLIMITED, streams=2)) as listening,
        connected(listening.address) as raw,
    ):
        for stream in (1, 3, 5):
            await raw.send(
                frame(frames.HEADERS, 4, stream, request(HANG.encode())) + frame(frames.DATA, 1, stream, MESSAGE)
            )
        assert await raw.until(frames.RST_STREAM) == (0, struct.pack(">L", ErrorCode.REFUSED_STREAM))
        await service.until(hanging=2)
        await raw.send(frames.reset(1, ErrorCode.CANCEL))
        await service.until(cancelled=1)
        await raw.send(frame(frames.HEADERS, 4, 7, request(HANG.encode())) + frame(frames.DATA, 1, 7, MESSAGE))
        await service.until(hanging=3)


async def test_a_client_waits_until_the_server_takes_one_more_call() -> None:
    service = Service()
    async with served(service.handlers(), replace(UNLIMITED, streams=2)) as listening, channel(listening) as calling:
        hanging = [asyncio.ensure_future(calling.unary(HANG, b"")) for _ in range(2)]
        await service.until(hanging=2)
        third = asyncio.ensure_future(calling.unary(ECHO, b"third"))
        await asyncio.sleep(0)
        hanging[0].cancel()
        async with asyncio.timeout(60):
            assert (await third).message == b"third"
        hanging[1].cancel()
        await asyncio.wait(hanging)


@pytest.mark.covers("S10")
async def test_calls_of_one_user_wait_for_their_turn_and_those_too_many_are_refused() -> None:
    options = replace(UNLIMITED, requests_per_second=2.0, request_burst=5, request_patience=0.6)
    async with served(options=options) as listening, channel(listening) as calling:
        began = asyncio.get_running_loop().time()
        outcomes = await asyncio.gather(*(calling.unary(ECHO, b"") for _ in range(20)), return_exceptions=True)
        refused = [each for each in outcomes if isinstance(each, RPCError)]
        assert 1 <= len(refused) <= 14  # on a busy machine, the calls arrive within seconds, and more have their turn
        assert {each.code for each in refused} == {Code.RESOURCE_EXHAUSTED}
        assert "2 a second" in refused[0].message
        assert asyncio.get_running_loop().time() - began >= 0.4
        assert listening.statistics().calls[Code.RESOURCE_EXHAUSTED] == len(refused)


async def test_requests_half_sent_hold_only_so_much_memory() -> None:
    options = replace(UNLIMITED, buffer_bytes=200_000)
    async with served(options=options) as listening, connected(listening.address) as raw:
        half = b"\x00\x00\x01\x00\x00" + bytes(16379)
        for stream in (1, 3):
            await raw.send(
                frame(frames.HEADERS, 4, stream, request(ECHO.encode())) + frame(frames.DATA, 0, stream, half)
            )
        large = b"\x00\x00\x10\x00\x00" + bytes(16379)
        await raw.send(frame(frames.HEADERS, 4, 5, request(ECHO.encode())) + frame(frames.DATA, 0, 5, large))
        for _ in range(14):
            await raw.send(frame(frames.DATA, 0, 5, bytes(16384)))
        assert b"grpc-status: 8" in (await raw.until(frames.HEADERS, 5))[1]
        for stream in (1, 3):
            for _ in range(2):
                await raw.send(frame(frames.DATA, 0, stream, bytes(16384)))
        assert listening.statistics().streams == 2


async def test_stopping_lets_calls_finish_ends_streams_and_accepts_nothing_new() -> None:
    service = Service()
    release = asyncio.Event()

    async def slow(call: Call, message: bytes) -> Reply:
        service.hanging += 1
        await release.wait()
        return Reply(message)

    async with served(Handlers({ECHO: slow}, {WATCH: service.watch})) as listening, channel(listening) as calling:
        unary = asyncio.ensure_future(calling.unary(ECHO, b"late"))
        async with calling.stream(WATCH, b"") as incoming:
            await service.until(hanging=2)
            stopping = asyncio.ensure_future(listening.drain(5.0))
            with pytest.raises(RPCError, match="the server is shutting down") as caught:
                async for _ in incoming:
                    pass
            assert caught.value.code is Code.UNAVAILABLE
        with pytest.raises(ConnectionLost) as lost:
            await calling.unary(ECHO, b"")
        assert not lost.value.sent
        release.set()
        assert (await unary).message == b"late"
        await stopping
        assert listening.statistics().connections == 0


async def test_calls_that_do_not_finish_in_time_get_the_error_that_the_server_stops() -> None:
    service = Service()
    async with served(service.handlers()) as listening, channel(listening) as calling:
        hanging = asyncio.ensure_future(calling.unary(HANG, b""))
        await service.until(hanging=1)
        await listening.drain(0.05)
        with pytest.raises(RPCError, match="shutting down") as caught:
            await hanging
        assert caught.value.code is Code.UNAVAILABLE


@pytest.mark.covers("F33")
async def test_a_client_that_dies_mid_stream_leaves_nothing_behind() -> None:
    service = Service()
    before = set(asyncio.all_tasks())
    async with served(service.handlers()) as listening:
        descriptors = len(os.listdir("/proc/self/fd"))
        for number in range(1, 21):
            async with connected(listening.address) as raw:
                await raw.send(frame(frames.HEADERS, 4, 1, request(WATCH.encode())) + frame(frames.DATA, 1, 1, MESSAGE))
                await raw.until(frames.HEADERS, 1)
                raw.abort()
            await service.until(cancelled=number)
        await _until(listening, connections=0)
        assert listening.statistics().streams == 0
        assert len(os.listdir("/proc/self/fd")) == descriptors
        with pytest.raises(RPCError, match="disconnected") as caught:
            service.watchers[0].write([b"x"])
        assert caught.value.code is Code.CANCELLED
    assert set(asyncio.all_tasks()) == before


async def test_one_who_does_not_read_is_cut_and_does_not_hold_up_others() -> None:
    service = Service()
    options = replace(UNLIMITED, stall_seconds=0.1)
    async with served(service.handlers(), options) as listening, connected(listening.address) as raw:
        wide = frame(frames.SETTINGS, 0, 0, struct.pack(">HL", 4, 2**31 - 1)) + frames.window_update(0, 2**30)
        await raw.send(
            wide
            + frame(frames.HEADERS, 4, 1, request(COUNT.encode()))
            + frame(frames.DATA, 1, 1, b"\x00\x00\x00\x00\x0b100000:1000")
        )
        async with channel(listening) as other:
            for _ in range(20):
                await other.unary(ECHO, b"")
            await _until(listening, connections=1)
            assert listening.statistics().cut == 1
            await other.unary(ECHO, b"")


async def test_a_server_on_a_port_serves_until_the_block_ends() -> None:
    service = Service()
    async with serve(service.handlers(), options=UNLIMITED) as listening:
        calling = GRPCChannel(Address(host="127.0.0.1", port=port(listening)))
        assert (await calling.unary(ECHO, b"over TCP")).message == b"over TCP"
        assert service.calls[0].peer.uid == -1
        assert service.calls[0].peer.address.startswith("127.0.0.1:")
    with pytest.raises(ConnectionLost, match="no server listens"):
        await calling.unary(ECHO, b"")
    await calling.close()


async def test_the_given_socket_stays_its_owners() -> None:
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        for _ in range(2):
            async with serve(Service().handlers(), sock=listener, options=ServerOptions()), channel(path) as calling:
                await calling.unary(ECHO, b"")


async def _until(listening: Server, *, connections: int) -> None:
    for _ in range(2000):
        if listening.statistics().connections == connections:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"{listening.statistics().connections} connections, not {connections}")
