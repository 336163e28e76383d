"""Clients that are slow or silent on purpose: each is closed at its deadline, and other clients are not affected."""

from __future__ import annotations

import asyncio
import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from math import inf

import pytest

from pilotage.http.connection import Phase
from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import Server, serve
from tests.http import raw
from tests.http.raw import until

HEAD = b"POST / HTTP/1.1\r\nHost: h\r\n"
WITHIN = 60.0  # seconds: many times the limit in question, and less than the other limits of each test


async def answer(request: HTTPRequest) -> HTTPResponse:
    return HTTPResponse(200, body=b"%d" % len(request.body))


async def drip(client: raw.Raw, data: bytes) -> None:
    """Send a byte now and then, for as long as the other side listens."""
    for byte in data:
        client.send(bytes((byte,)))
        await asyncio.sleep(0.01)


async def assert_others_are_served(server: Server) -> None:
    async with asyncio.timeout(WITHIN):
        assert raw.statuses(await raw.exchange(server.port, HEAD + b"\r\n")) == [200]


@pytest.mark.parametrize(
    ("start", "limits"),
    [
        (b"", HTTPLimits(header_seconds=0.1, body_seconds=1000)),
        (HEAD + b"Content-Length: 1000\r\n\r\n", HTTPLimits(header_seconds=1000, body_seconds=0.1)),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", HTTPLimits(header_seconds=1000, body_seconds=0.1)),
    ],
    ids=["head", "body", "chunks"],
)
async def test_a_request_that_drips_is_cut_by_its_deadline(start: bytes, limits: HTTPLimits) -> None:
    drips = HEAD * 100 if not start else b"1\r\nx\r\n" * 1000
    async with serve(answer, limits=limits) as server, raw.connect(server.port) as client, asyncio.TaskGroup() as group:
        client.send(start)
        dripping = group.create_task(drip(client, drips))
        async with asyncio.timeout(WITHIN):
            assert raw.statuses(await client.receive()) == [408]
        dripping.cancel()
        assert server.statistics().cut == 1
        await assert_others_are_served(server)


async def test_hundreds_of_half_sent_requests_do_not_hinder_others() -> None:
    async with serve(answer, limits=HTTPLimits(header_seconds=1000.0)) as server, AsyncExitStack() as stack:
        clients = []
        for _ in range(200):
            client = await stack.enter_async_context(raw.connect(server.port))
            client.send(b"GET / HTTP/1.1\r\nHos")
            clients.append(client)
        await assert_others_are_served(server)
        await until(lambda: [each.phase for each in server._connections] == [Phase.HEAD] * 200)
        server._sweep(asyncio.get_running_loop().time() + 1000.0)
        async with asyncio.timeout(WITHIN):
            received = await asyncio.gather(*(client.receive() for client in clients))
        assert {tuple(raw.statuses(each)) for each in received} == {(408,)}


async def test_a_connection_that_never_sends_is_closed() -> None:
    limits = HTTPLimits(header_seconds=0.05, idle_seconds=1000)
    async with serve(answer, limits=limits) as server, raw.connect(server.port) as client:
        async with asyncio.timeout(WITHIN):
            assert await client.receive() == b""


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    limits = HTTPLimits(idle_seconds=0.05, header_seconds=1000)
    async with serve(answer, limits=limits) as server, raw.connect(server.port) as client:
        client.send(HEAD + b"\r\n")
        await client.response()
        async with asyncio.timeout(WITHIN):
            assert await client.receive() == b""


async def flood() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 65536


async def streams(request: HTTPRequest) -> HTTPResponse | StreamingResponse:
    return StreamingResponse(200, (), flood()) if request.target == "/watch" else await answer(request)


def small_window(port: int) -> socket.socket:
    """A connection with small kernel buffers, from which nothing is read."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", port))
    return sock


async def test_watchers_that_never_read_are_cut_and_cost_little() -> None:
    limits = HTTPLimits(write_stall_seconds=0.3)
    async with serve(streams, limits=limits) as server:
        tracemalloc.start()
        stuck = [small_window(server.port) for _ in range(20)]
        for sock in stuck:
            sock.sendall(b"GET /watch HTTP/1.1\r\nHost: h\r\n\r\n")
        await assert_others_are_served(server)
        await until(lambda: server.statistics().cut == 20)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        for sock in stuck:
            sock.close()
        assert peak < 20 * 1024 * 1024 / 2
        await assert_others_are_served(server)


async def test_a_slow_reader_of_an_answer_is_not_cut_while_it_takes_enough() -> None:
    size, piece = 64 * 1024, 8 * 1024

    async def handler(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(200, body=b"x" * size)

    limits = HTTPLimits(write_stall_seconds=1000.0, write_buffer_bytes=1024, idle_seconds=10_000_000)
    async with serve(handler, limits=limits) as server:
        reader, writer = await asyncio.open_connection(sock=small_window(server.port), limit=1024)
        writer.write(HEAD + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")
        (connection,) = server._connections

        def has_sent(unsent: int) -> bool:
            return connection._unsent_bytes() <= max(0, unsent - piece // 2)

        now = asyncio.get_running_loop().time()
        for _ in range(size // piece):
            unsent = connection._unsent_bytes()
            await reader.readexactly(piece)
            await until(partial(has_sent, unsent))
            now += 1000.0
            server._sweep(now)  # a window has passed, in which the client has read this piece
            assert server.statistics().cut == 0
        writer.close()


async def test_a_large_answer_is_written_as_the_client_reads_it() -> None:
    body = bytes(range(256)) * 16 * 1024

    async def handler(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(200, body=body)

    limits = HTTPLimits(write_stall_seconds=1000.0, idle_seconds=10_000)
    async with serve(handler, limits=limits) as server:
        reader, writer = await asyncio.open_connection(sock=small_window(server.port))
        writer.write(HEAD + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")
        (connection,) = server._connections

        def is_renewed(window: float) -> bool:
            return connection.deadline > window

        received = b""
        while len(received) < len(body):
            await until(lambda: connection.deadline < inf)
            assert connection._unsent_bytes() < 2 * limits.write_buffer_bytes
            window = connection.deadline
            received += await reader.readexactly(len(body) // 8)
            await until(partial(is_renewed, window))  # it has read enough for another one
        assert received == body
        writer.close()


async def test_bodies_over_the_budget_are_refused_with_a_time_to_come_back() -> None:
    limits = HTTPLimits(body_budget_bytes=1000, small_body_bytes=0)
    async with serve(answer, limits=limits) as server, raw.connect(server.port) as first:
        first.send(HEAD + b"Content-Length: 900\r\n\r\n" + b"x" * 800)
        await until(lambda: server.statistics().body_bytes == 800)
        second = await raw.exchange(server.port, HEAD + b"Content-Length: 300\r\n\r\n" + b"x" * 300)
        assert raw.statuses(second) == [503]
        assert b"Retry-After: 1\r\n" in second
        first.send(b"x" * 100)
        assert (await first.response()).endswith(b"900")
        assert server.statistics().body_bytes == 0
        third = await raw.exchange(server.port, HEAD + b"Content-Length: 300\r\n\r\n" + b"x" * 300)
        assert raw.statuses(third) == [200]


async def test_slow_bodies_that_hold_the_budget_do_not_keep_small_ones_out() -> None:
    limits = HTTPLimits(body_budget_bytes=100_000, small_body_bytes=10_000)
    async with serve(answer, limits=limits) as server, raw.connect(server.port) as slow:
        slow.send(HEAD + b"Content-Length: 100000\r\n\r\n" + b"x" * 99_999)
        await until(lambda: server.statistics().body_bytes == 99_999)
        small = await raw.exchange(server.port, HEAD + b"Content-Length: 10000\r\n\r\n" + b"x" * 10_000)
        assert raw.statuses(small) == [200]
        large = await raw.exchange(server.port, HEAD + b"Content-Length: 10001\r\n\r\n" + b"x" * 10_001)
        assert raw.statuses(large) == [503]


async def test_a_body_is_counted_until_its_request_is_answered() -> None:
    go = asyncio.Event()

    async def handler(request: HTTPRequest) -> HTTPResponse:
        await go.wait()
        return HTTPResponse(200)

    async with (
        serve(handler, limits=HTTPLimits(body_budget_bytes=1000, small_body_bytes=0)) as server,
        raw.connect(server.port) as first,
    ):
        first.send(HEAD + b"Content-Length: 900\r\n\r\n" + b"x" * 900)
        await until(lambda: server.statistics().requests == 1)
        second = await raw.exchange(server.port, HEAD + b"Content-Length: 300\r\n\r\n" + b"x" * 300)
        assert raw.statuses(second) == [503]
        go.set()


async def test_idle_connections_do_not_hold_on_to_their_last_bodies() -> None:
    size = 1024 * 1024
    async with serve(answer) as server, AsyncExitStack() as stack:
        tracemalloc.start()
        for _ in range(20):
            client = await stack.enter_async_context(raw.connect(server.port))
            client.send(HEAD + b"Content-Length: %d\r\n\r\n" % size + b"x" * size)
            assert (await client.response()).endswith(b"%d" % size)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept < 5 * size
