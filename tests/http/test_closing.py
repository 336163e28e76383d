"""How a server closes: watches end at once and properly, and only requests are waited for."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from tests.http import raw
from tests.http.certificates import Authority
from tests.http.raw import until
from tests.http.test_tls import server_side

GET = b"GET /%b HTTP/1.1\r\nHost: h\r\n\r\n"
PATIENT = HTTPLimits(grace_seconds=3600)
"""A server that waits for a request waits longer than any test does."""


async def silence() -> AsyncIterator[bytes]:
    yield b"first"
    await asyncio.Event().wait()


async def flood() -> AsyncIterator[bytes]:
    while True:
        yield b"x" * 65536


async def watch(request: HTTPRequest) -> StreamingResponse:
    return StreamingResponse(200, (), flood() if request.target == "/flood" else silence(), endless=True)


async def test_an_endless_stream_ends_properly_when_the_server_closes() -> None:
    async with AsyncExitStack() as clients, asyncio.timeout(60):
        async with serve(watch, limits=PATIENT) as server:
            client = await clients.enter_async_context(raw.connect(server.port))
            client.send(GET % b"")
            await client.reader.readuntil(b"first\r\n")
        assert await client.receive() == b"0\r\n\r\n"


async def test_an_endless_stream_that_begins_while_the_server_closes_ends_at_once() -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def late(request: HTTPRequest) -> StreamingResponse:
        asked.set()
        await go.wait()
        return await watch(request)

    async with AsyncExitStack() as exits, asyncio.timeout(60):
        server = await exits.enter_async_context(serve(late, limits=PATIENT))
        async with raw.connect(server.port) as client:
            client.send(GET % b"")
            await asked.wait()
            closing = asyncio.create_task(exits.aclose())
            await until(lambda: server._shared.closing)
            go.set()
            assert (await client.receive()).endswith(b"\r\n\r\n0\r\n\r\n")
            await closing


async def test_an_endless_stream_whose_client_does_not_read_is_cut() -> None:
    async with AsyncExitStack() as clients, asyncio.timeout(60):
        async with serve(watch, limits=PATIENT) as server:
            client = await clients.enter_async_context(raw.connect(server.port))
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a stream's transport can read
            client.send(GET % b"flood")
            await until(lambda: any(each._drained for each in server._connections))
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert not (await client.receive()).endswith(b"0\r\n\r\n")


async def test_what_is_no_request_is_not_waited_for(tmp_path: Path) -> None:
    pair = Authority(tmp_path).issue("server")
    async with asyncio.timeout(60):
        async with serve(watch, ssl=server_side(pair), limits=PATIENT) as server:
            mute = socket.create_connection(("127.0.0.1", server.port))  # it never begins its handshake
            await until(lambda: server.statistics().connections == 1)
        mute.close()
        async with serve(watch, limits=PATIENT) as server, raw.connect(server.port) as half:
            half.send(b"GET / HT")
            await until(lambda: server.statistics().connections == 1)


async def test_who_cancels_a_server_that_closes_does_not_wait_for_its_requests() -> None:
    asked = asyncio.Event()

    async def never(request: HTTPRequest) -> StreamingResponse:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def closing(turns: int) -> None:
        """Close a server with a request that never ends, and be cancelled so many turns of the loop later."""
        exits = AsyncExitStack()
        server = await exits.enter_async_context(serve(never, limits=PATIENT))
        async with raw.connect(server.port) as client:
            client.send(GET % b"")
            await asked.wait()
            task = asyncio.create_task(exits.aclose())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        asked.clear()

    async with asyncio.timeout(60):
        for turns in range(1, 6):
            await closing(turns)


async def test_a_client_that_disconnects_during_a_large_body_causes_no_warnings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def large(request: HTTPRequest) -> HTTPResponse:
        asked.set()
        await closed.wait()
        return HTTPResponse(200, [], b"x" * (16 << 20))

    async with serve(large) as server:
        client = socket.create_connection(("127.0.0.1", server.port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with a reset
        client.sendall(GET % b"")
        await asked.wait()
        client.close()
        closed.set()
        await until(lambda: server.statistics().connections == 0)
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
