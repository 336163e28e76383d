from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest

from pilotage.errors import ConnectionLost
from pilotage.http.client import HTTPClient
from pilotage.http.limits import Timeouts
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from pilotage.http.streams import Stream
from pilotage.testing.proxy import (
    Answer,
    Bandwidth,
    Cut,
    CutLine,
    Delay,
    DropLine,
    DuplicateLine,
    Fault,
    FaultProxy,
    HalfBody,
    Stall,
    SwapLines,
    all_of,
    chance,
    is_watch,
    method_is,
    path_contains,
)
from tests.http.raw import until

IMPATIENT = Timeouts(response=0.3)
"""For requests that are not answered; any other one may take longer than that."""
LINES = [b'{"n":%d}' % number for number in range(1, 6)]


async def handler(request: HTTPRequest) -> HTTPResponse | StreamingResponse:
    async def lines() -> AsyncIterator[bytes]:
        for line in LINES:
            yield line + b"\n"

    if is_watch(request):
        return StreamingResponse(200, (("Content-Type", "application/json"),), lines())
    return HTTPResponse(200, (("X-Kept", "yes"),), b"x" * 1000)


@asynccontextmanager
async def proxied(*, http: bool = True) -> AsyncIterator[tuple[FaultProxy, HTTPClient]]:
    async with (
        serve(handler) as server,
        FaultProxy(*server.address, http=http) as proxy,
        HTTPClient(*proxy.address) as client,
    ):
        yield proxy, client


async def collect(client: HTTPClient, received: list[bytes]) -> None:
    async with client.stream("GET", "/widgets?watch=true") as stream:
        async for lines in stream.lines():
            received += lines


async def gather(stream: Stream, received: list[bytes]) -> None:
    async for piece in stream:
        received.append(piece)  # what came before the cut is to be kept


async def watch(client: HTTPClient) -> list[bytes]:
    received: list[bytes] = []
    await collect(client, received)
    return received


@pytest.mark.parametrize("http", [True, False])
async def test_without_faults_everything_goes_through(http: bool) -> None:
    async with proxied(http=http) as (proxy, client):
        response = await client.request("PUT", "/a", (), b"y" * 100_000)
        assert response.headers.get("x-kept") == "yes"
        assert response.headers.get("content-length") == "1000"
        assert await watch(client) == LINES
        statistics = proxy.statistics()
        assert statistics.connections == 1
        assert statistics.requests == (2 if http else 0)
        assert statistics.bytes_up > 100_000
        assert statistics.faults == {}


async def test_it_answers_itself_as_often_as_configured() -> None:
    async with proxied() as (proxy, client):
        proxy.add(Answer(429, retry_after=1, when=path_contains("/widgets"), times=2))
        statuses = [
            (await client.request("GET", path)).status for path in ("/widgets", "/other", "/widgets", "/widgets")
        ]
        assert statuses == [429, 200, 429, 200]
        assert proxy.statistics().faults == {"Answer": 2}


async def test_its_answers_are_kubernetes_statuses() -> None:
    async with proxied() as (proxy, client):
        proxy.add(Answer(410))
        document = json.loads((await client.request("GET", "/widgets")).body)
        assert (document["kind"], document["code"], document["reason"]) == ("Status", 410, "Expired")
        proxy.add(Answer(503, retry_after=7))
        response = await client.request("GET", "/widgets")
        assert response.headers.get("retry-after") == "7"
        assert json.loads(response.body)["details"] == {"retryAfterSeconds": 7}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (DropLine(2), [1, 3, 4, 5]),
        (DuplicateLine(2), [1, 2, 2, 3, 4, 5]),
        (SwapLines(2), [1, 3, 2, 4, 5]),
    ],
)
async def test_lines_are_dropped_doubled_and_swapped(fault: Fault, expected: list[int]) -> None:
    async with proxied() as (proxy, client):
        proxy.add(fault)
        assert await watch(client) == [b'{"n":%d}' % number for number in expected]
        assert await watch(client) == LINES


@pytest.mark.parametrize("keep_bytes", [None, 0, 1, 7])
async def test_a_stream_is_cut_inside_a_line(keep_bytes: int | None) -> None:
    async with proxied() as (proxy, client):
        proxy.add(CutLine(3, keep_bytes, when=is_watch))
        received: list[bytes] = []
        with pytest.raises(ConnectionLost):
            await collect(client, received)
        assert received == LINES[:2]
        assert await watch(client) == LINES


@pytest.mark.parametrize("http", [True, False])
@pytest.mark.parametrize("reset", [True, False])
async def test_a_connection_is_cut_after_so_many_bytes(http: bool, reset: bool) -> None:
    async with proxied(http=http) as (proxy, client):
        proxy.add(Cut(after_bytes=600, reset=reset))
        with pytest.raises(ConnectionLost):
            await client.request("GET", "/")
        assert proxy.statistics().bytes_down == 600
        assert (await client.request("GET", "/")).status == 200


async def test_a_connection_is_cut_before_its_request_arrives() -> None:
    async with proxied() as (proxy, client):
        proxy.add(Cut(direction="up", after_bytes=10, times=2))
        for _ in range(2):
            with pytest.raises(ConnectionLost):
                await client.request("POST", "/")
        assert proxy.statistics().requests == 0


async def test_half_of_a_body_comes() -> None:
    async with proxied() as (proxy, client):
        proxy.add(HalfBody())
        async with client.stream("GET", "/") as stream:
            received: list[bytes] = []
            with pytest.raises(ConnectionLost):
                await gather(stream, received)
        assert b"".join(received) == b"x" * 500
        assert len((await client.request("GET", "/")).body) == 1000


@pytest.mark.parametrize("direction", ["up", "down"])
async def test_a_stalled_connection_goes_on_when_the_fault_is_removed(direction: str) -> None:
    async with proxied() as (proxy, client), asyncio.TaskGroup() as group:
        stall = proxy.add(Stall(direction="up" if direction == "up" else "down"))
        waiting = group.create_task(client.request("GET", "/"))
        await until(lambda: proxy.statistics().faults == {"Stall": 1})
        assert not waiting.done()
        proxy.remove(stall)
        assert (await waiting).status == 200


async def test_a_stalled_server_is_given_up_by_the_client() -> None:
    async with proxied() as (proxy, client), HTTPClient(*proxy.address, timeouts=IMPATIENT) as impatient:
        proxy.add(Stall())
        with pytest.raises(ConnectionLost, match=r"within 0\.3 s"):
            await impatient.request("GET", "/")
        proxy.clear()
        assert (await client.request("GET", "/")).status == 200


async def test_delay_and_bandwidth_take_their_time() -> None:
    loop = asyncio.get_running_loop()
    async with proxied() as (proxy, client):
        proxy.add(Delay(seconds=0.05, direction="down", times=1))
        began = loop.time()
        await client.request("GET", "/")
        assert loop.time() - began >= 0.045
        slow = proxy.add(Bandwidth(bytes_per_second=10_000, direction="down"))
        began = loop.time()
        await client.request("GET", "/")
        assert loop.time() - began >= 0.08
        proxy.remove(slow)


async def test_every_open_connection_can_be_cut_at_once() -> None:
    async with proxied(http=False) as (proxy, client):
        await client.request("GET", "/")
        assert proxy.statistics().open == 1
        proxy.cut_all()
        await until(lambda: proxy.statistics().open == 0)
        assert (await client.request("POST", "/")).status == 200


async def test_a_lost_server_is_a_lost_connection_for_the_client() -> None:
    async with serve(handler) as server, FaultProxy("127.0.0.1", 1) as proxy, HTTPClient(*proxy.address) as client:
        assert server.port != 1
        with pytest.raises(ConnectionLost):
            await client.request("GET", "/")


async def test_http_faults_need_a_proxy_that_understands_http() -> None:
    async with proxied(http=False) as (proxy, _):
        with pytest.raises(ValueError, match="Answer needs a proxy that understands HTTP"):
            proxy.add(Answer(503))


def test_conditions_pick_requests() -> None:
    get, post = HTTPRequest("GET", "/a/widgets?watch=true"), HTTPRequest("POST", "/a/widgets?x=watch=true")
    assert [is_watch(get), is_watch(post)] == [True, False]
    assert [method_is("POST", "PUT")(each) for each in (get, post)] == [False, True]
    assert all_of(method_is("GET"), path_contains("/widgets"))(get)
    assert not path_contains("watch")(get)
    some = [chance(0.5, Random(1))(get) for _ in range(3)]
    assert some == [chance(0.5, Random(1))(get) for _ in range(3)]


async def test_nothing_is_left_running() -> None:
    before = asyncio.all_tasks()
    async with proxied() as (proxy, _), HTTPClient(*proxy.address, timeouts=IMPATIENT) as client:
        proxy.add(Stall())
        with pytest.raises(ConnectionLost):
            await client.request("GET", "/")
    assert asyncio.all_tasks() == before
