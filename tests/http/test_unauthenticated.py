"""Clients that have not authenticated: they can neither exhaust the memory nor block other clients."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, Peer, StreamingResponse
from pilotage.http.server import serve
from tests.http import raw
from tests.http.certificates import Authority
from tests.http.raw import until

KNOWN = b"Authorization: Bearer secret\r\n"
GET = b"GET / HTTP/1.1\r\nHost: h\r\n%b\r\n"
HALF = b"POST / HTTP/1.1\r\nHost: h\r\n%bContent-Length: 1000\r\n\r\nhalf"
FEW = HTTPLimits(unauthenticated=4)


def authenticate(headers: Headers, peer: Peer) -> bool:
    return headers.get("authorization") == "Bearer secret"


async def answer(request: HTTPRequest) -> HTTPResponse:
    return HTTPResponse(200, body=b"ok")


async def test_the_oldest_unauthenticated_connection_is_closed_for_a_new_one() -> None:
    async with serve(answer, limits=FEW, authenticate=authenticate) as server, AsyncExitStack() as stack:
        clients = []
        for number in range(6):
            clients.append(await stack.enter_async_context(raw.connect(server.port)))
            await until(lambda: server.statistics().unauthenticated == min(number + 1, 4))  # noqa: B023  # awaited at once
        assert [await client.receive() for client in clients[:2]] == [b"", b""]
        for client in clients[2:]:
            client.send(GET % b"")
            assert raw.statuses(await client.response()) == [200]  # these still have their turn
        assert server.statistics().cut == 2


@pytest.mark.parametrize("request_", [GET % KNOWN, HALF % KNOWN], ids=["a request", "a head"])
async def test_a_client_that_authenticates_is_no_longer_counted_as_unauthenticated(request_: bytes) -> None:
    async with serve(answer, limits=FEW, authenticate=authenticate) as server, AsyncExitStack() as stack:
        known = await stack.enter_async_context(raw.connect(server.port))
        known.send(request_)
        await until(lambda: server.statistics().connections == 1 and not server.statistics().unauthenticated)
        for _ in range(20):
            await stack.enter_async_context(raw.connect(server.port))
        await until(lambda: server.statistics().cut == 16)
        known.send(b"x" * 996 if b"half" in request_ else GET % KNOWN)
        assert raw.statuses(await known.response()) == [200]


async def test_a_wrong_token_leaves_a_client_unauthenticated() -> None:
    async with serve(answer, limits=FEW, authenticate=authenticate) as server, raw.connect(server.port) as client:
        client.send(GET % b"Authorization: Bearer wrong\r\n")
        await client.response()
        assert server.statistics().unauthenticated == 1


async def test_without_authentication_a_whole_request_makes_a_client_known() -> None:
    async with serve(answer, limits=FEW) as server, AsyncExitStack() as stack:
        known = await stack.enter_async_context(raw.connect(server.port))
        known.send(GET % b"")
        await known.response()
        assert server.statistics().unauthenticated == 0
        half = await stack.enter_async_context(raw.connect(server.port))
        half.send(HALF % b"")
        await until(lambda: server.statistics().body_bytes)
        assert server.statistics().unauthenticated == 1


async def test_bodies_of_unauthenticated_clients_have_their_own_budget() -> None:
    limits = HTTPLimits(unauthenticated_body_bytes=100)
    body = b"Content-Length: 1000\r\n\r\n" + b"x" * 60
    async with serve(answer, limits=limits, authenticate=authenticate) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(raw.connect(server.port)) for _ in range(3)]
        first, second, known = clients
        first.send(b"POST / HTTP/1.1\r\nHost: h\r\n" + body)
        await until(lambda: server.statistics().body_bytes == 60)
        second.send(b"POST / HTTP/1.1\r\nHost: h\r\n" + body)
        assert raw.statuses(await second.receive()) == [401]
        known.send(b"POST / HTTP/1.1\r\nHost: h\r\n" + KNOWN + body + b"x" * 940)
        assert raw.statuses(await known.response()) == [200]
        first.writer.close()
        await until(lambda: server.statistics().body_bytes == 0)


async def test_a_watch_outlives_a_flood_of_unauthenticated_connections() -> None:
    go_on = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"open\n"
        await go_on.wait()
        yield b"still here\n"

    async def watch(request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(200, [], chunks())

    async with serve(watch, limits=FEW, authenticate=authenticate) as server, AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(raw.connect(server.port))
        watcher.send(GET % KNOWN)
        await watcher.reader.readuntil(b"open\n")
        for _ in range(20):
            await stack.enter_async_context(raw.connect(server.port))
        await until(lambda: server.statistics().cut == 16)
        go_on.set()
        await watcher.reader.readuntil(b"still here\n")


PROGRAM = Path(__file__).with_name("unauthenticated_server.py")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    authority = Authority(tmp_path)
    pair = authority.issue("server")
    return {"cert": pair.cert_file, "key": pair.key_file, "ca": authority.ca_file}


def run(scenario: str, total: int, files: dict[str, str]) -> dict[str, float]:
    """What the program found, which serves and attacks in two processes of its own."""
    command = [sys.executable, str(PROGRAM), scenario, str(total), files["cert"], files["key"], files["ca"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("total", [400, pytest.param(1000, marks=pytest.mark.long)])
def test_half_sent_bodies_over_tls_cost_little_and_newcomers_are_served(files: dict[str, str], total: int) -> None:
    found = run("half-bodies", total, files)
    assert found["attacked"] == total
    assert found["served"] == found["asked"]
    assert found["grown_mib"] < 200  # 256 connections at 0.3 MiB, and what the allocator keeps


def test_with_few_descriptors_connections_do_not_lock_everybody_out(files: dict[str, str]) -> None:
    found = run("descriptors", 300, files)
    assert found["attacked"] == 300
    assert found["served"] == found["asked"]
