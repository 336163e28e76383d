from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from pilotage.errors import ConnectionLost, DecodeError
from pilotage.http.client import HTTPClient
from pilotage.http.limits import HTTPLimits, Timeouts
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from tests.http.raw import until
from tests.http.scripted import CLOSE, HOLD, scripted

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def echo(request: HTTPRequest) -> HTTPResponse:
    headers = (("X-Method", request.method), ("X-Host", request.headers.get("host")))
    return HTTPResponse(200, headers, request.target.encode() + b" " + request.body)


async def test_requests_and_answers_go_through_whole() -> None:
    async with serve(echo) as server, HTTPClient("127.0.0.1", server.port) as client:
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            response = await client.request(method, "/a?b=c", (("Accept", "*/*"),), b"x" * 100_000)
            assert response.status == 200
            assert response.headers.get("x-method") == method
            assert response.headers.get("x-host") == f"127.0.0.1:{server.port}"
            assert response.body == b"/a?b=c " + b"x" * 100_000
        assert (await client.request("HEAD", "/")).body == b""
        assert client.statistics().opened == 1


async def test_many_requests_at_once_share_a_bounded_pool() -> None:
    limits = HTTPLimits(concurrent_requests=5, pool_connections=3)
    async with serve(echo) as server, HTTPClient("127.0.0.1", server.port, limits=limits) as client:
        responses = await asyncio.gather(*(client.request("GET", f"/{number}") for number in range(40)))
        assert [response.body for response in responses] == [f"/{number} ".encode() for number in range(40)]
        statistics = client.statistics()
        assert statistics.opened <= 40
        assert statistics.busy == 0
        assert 1 <= statistics.idle <= 3


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    async with serve(echo) as server, HTTPClient("127.0.0.1", server.port, timeouts=Timeouts(idle=0.03)) as client:
        await client.request("GET", "/")
        assert client.statistics().idle == 1
        await until(lambda: client.statistics().idle == server.statistics().connections == 0)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_read_on_a_dead_pooled_connection_is_sent_again(method: str) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    async with scripted([answer, CLOSE], [answer]) as server, HTTPClient("127.0.0.1", server.port) as client:
        await client.request(method, "/1")
        assert (await client.request(method, "/2")).status == 200
        assert server.seen == [[f"{method} /1", f"{method} /2"], [f"{method} /2"]]


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
async def test_a_request_that_is_not_idempotent_is_not_sent_again_and_its_outcome_is_unknown(method: str) -> None:
    async with scripted([OK, CLOSE], [OK]) as server, HTTPClient("127.0.0.1", server.port) as client:
        await client.request(method, "/1")
        with pytest.raises(ConnectionLost, match="whether it took effect is not known") as lost:
            await client.request(method, "/2")
        assert lost.value.sent
        assert len(server.seen) == 1


async def test_a_connection_that_the_server_has_closed_is_not_used_even_for_a_write() -> None:
    async with scripted([OK], [OK]) as server, HTTPClient("127.0.0.1", server.port) as client:
        await client.request("POST", "/1")
        await until(lambda: server.ended)
        assert (await client.request("POST", "/2")).status == 200


async def test_a_request_is_not_sent_again_once_a_part_of_the_answer_came() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Le"
    async with scripted([OK, half], [OK]) as server, HTTPClient("127.0.0.1", server.port) as client:
        await client.request("GET", "/1")
        with pytest.raises(ConnectionLost, match="in the middle of the response"):
            await client.request("GET", "/2")
        assert len(server.seen) == 1


async def test_when_there_is_no_server_nothing_was_sent() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with HTTPClient("127.0.0.1", unused.getsockname()[1]) as client:
            with pytest.raises(
                ConnectionLost, match=r"cannot connect to 127\.0\.0\.1:\d+: Connection refused;"
            ) as lost:
                await client.request("POST", "/")
    assert not lost.value.sent


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    ],
)
async def test_a_broken_answer_is_a_lost_connection(answer: bytes) -> None:
    async with scripted([answer]) as server, HTTPClient("127.0.0.1", server.port) as client:
        with pytest.raises(ConnectionLost):
            await client.request("GET", "/")
        assert client.statistics().idle == client.statistics().busy == 0


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
)
async def test_a_connection_with_anything_odd_about_it_is_not_used_again(answer: bytes) -> None:
    async with scripted([answer], [OK]) as server, HTTPClient("127.0.0.1", server.port) as client:
        assert (await client.request("GET", "/1")).body == b"ok"
        assert client.statistics().idle == 0
        assert (await client.request("GET", "/2")).body == b"ok"


async def test_interim_answers_are_skipped() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    async with scripted([interim + OK]) as server, HTTPClient("127.0.0.1", server.port) as client:
        assert (await client.request("GET", "/")).body == b"ok"


async def test_an_answer_over_the_limit_is_refused() -> None:
    async with (
        serve(echo) as server,
        HTTPClient("127.0.0.1", server.port, limits=HTTPLimits(response_bytes=1000)) as client,
    ):
        assert len((await client.request("PUT", "/", body=b"x" * 998)).body) == 1000
        with pytest.raises(DecodeError, match="larger than 1000 bytes"):
            await client.request("PUT", "/", body=b"x" * 999)


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"])
async def test_a_request_to_a_silent_server_fails(start: bytes) -> None:
    timeouts = Timeouts(response=0.05, body=0.05)
    script = [start, HOLD] if start else [HOLD]
    async with scripted(script) as server, HTTPClient("127.0.0.1", server.port, timeouts=timeouts) as client:
        with pytest.raises(ConnectionLost, match=r"within 0\.05 s"):
            await client.request("GET", "/")


async def test_a_cancelled_request_leaves_no_connection_behind() -> None:
    async with scripted([HOLD]) as server, HTTPClient("127.0.0.1", server.port) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.request("GET", "/")
        assert client.statistics().busy == client.statistics().idle == 0


async def test_closing_the_client_ends_what_is_under_way() -> None:
    async with scripted([HOLD]) as server:
        client = HTTPClient("127.0.0.1", server.port)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_lost(client))
            await until(lambda: server.seen)
            await client.close()
        assert "closed" in waiting.result()
        assert "the client is closed" in await _lost(client)


async def _lost(client: HTTPClient) -> str:
    with pytest.raises(ConnectionLost) as lost:
        await client.request("GET", "/")
    return str(lost.value)


async def test_secrets_of_the_query_are_not_in_errors() -> None:
    async with scripted([CLOSE]) as server, HTTPClient("127.0.0.1", server.port) as client:
        with pytest.raises(ConnectionLost) as lost:
            await client.request("GET", "/path?token=hidden")
    assert "GET /path to 127.0.0.1" in str(lost.value)
    assert "hidden" not in str(lost.value)


async def watch(request: HTTPRequest) -> StreamingResponse:
    async def lines() -> AsyncIterator[bytes]:
        for number in range(int(request.target[1:])):
            yield b'{"n":%d}\n' % number

    return StreamingResponse(200, (), lines())


async def test_lines_of_a_stream_come_whole_and_in_order_and_the_connection_is_used_again() -> None:
    async with serve(watch) as server, HTTPClient("127.0.0.1", server.port) as client:
        for _ in range(2):
            received: list[bytes] = []
            async with client.stream("GET", "/5000") as stream:
                assert stream.status == 200
                async for lines in stream.lines():
                    received += lines
            assert received == [b'{"n":%d}' % number for number in range(5000)]
        assert client.statistics().opened == 1


async def test_pieces_of_a_stream_make_up_its_body() -> None:
    async with serve(watch) as server, HTTPClient("127.0.0.1", server.port) as client:
        async with client.stream("GET", "/3") as stream:
            assert b"".join([piece async for piece in stream]) == b'{"n":0}\n{"n":1}\n{"n":2}\n'
        async with client.stream("GET", "/3") as stream:
            assert await stream.read() == b'{"n":0}\n{"n":1}\n{"n":2}\n'


async def test_a_stream_left_early_is_closed_and_the_server_notices() -> None:
    async with serve(watch) as server, HTTPClient("127.0.0.1", server.port) as client:
        async with client.stream("GET", "/100000000") as stream:
            async for _ in stream.lines():
                break
        assert client.statistics().busy == client.statistics().idle == 0
        await until(lambda: server.statistics().connections == 0)


async def test_a_slow_consumer_stops_the_socket_and_not_the_memory() -> None:
    produced = 0

    async def flood() -> AsyncIterator[bytes]:
        nonlocal produced
        while True:
            produced += 65536
            yield b"x" * 65536

    async def handler(request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(200, (), flood())

    async with (
        serve(handler) as server,
        HTTPClient("127.0.0.1", server.port) as client,
        client.stream("GET", "/") as stream,
    ):
        pieces = aiter(stream)
        await anext(pieces)
        before = -1
        while produced != before:
            before = produced
            await asyncio.sleep(0.05)
        assert produced < 32 * 1024 * 1024  # what the kernel holds, not more
        await anext(pieces)


async def test_a_silent_stream_fails_on_request() -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabc\n\r\n"
    timeouts = Timeouts(silence=0.05)
    async with (
        scripted([answer, HOLD]) as server,
        HTTPClient("127.0.0.1", server.port, timeouts=timeouts) as client,
        client.stream("GET", "/") as stream,
    ):
        lines = stream.lines()
        assert await anext(lines) == [b"abc"]
        with pytest.raises(ConnectionLost, match=r"within 0\.05 s"):
            await anext(lines)


async def test_every_place_to_cut_a_stream_gives_whole_lines_and_then_a_lost_connection() -> None:
    body = b'8\r\n{"n":1}\n\r\n8\r\n{"n":2}\n\r\n0\r\n\r\n'
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for cut in range(len(body)):
        async with scripted([head + body[:cut]]) as server, HTTPClient("127.0.0.1", server.port) as client:
            received: list[bytes] = []
            with pytest.raises(ConnectionLost):
                await _collect(client, received)
            assert received == [b'{"n":1}', b'{"n":2}'][: len(received)]
            assert len(received) == (cut >= 11) + (cut >= 24)


async def _collect(client: HTTPClient, received: list[bytes]) -> None:
    async with client.stream("GET", "/") as stream:
        async for lines in stream.lines():
            received += lines


async def test_a_dead_peer_is_watched_for() -> None:
    async with (
        serve(echo) as server,
        HTTPClient("127.0.0.1", server.port) as client,
        client.stream("GET", "/") as stream,
    ):
        sock = stream._connection._transport.get_extra_info("socket")  # type: ignore[union-attr]
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 43_500


async def test_before_send_is_called_on_an_open_connection_and_refuses_by_raising() -> None:
    connections: list[int] = []

    def refuse() -> None:
        connections.append(client.statistics().opened)
        raise PermissionError

    async with scripted([OK], [OK]) as server, HTTPClient("127.0.0.1", server.port) as client:
        with pytest.raises(PermissionError):
            await client.request("POST", "/1", before_send=refuse)
        assert connections == [1]  # it is open, and nothing was sent
        await client.request("POST", "/2")
        assert server.seen == [[], ["POST /2"]]


async def test_before_send_is_called_again_when_a_request_is_sent_again() -> None:
    calls: list[int] = []
    async with scripted([OK, CLOSE], [OK]) as server, HTTPClient("127.0.0.1", server.port) as client:
        await client.request("GET", "/1")
        await client.request("GET", "/2", before_send=lambda: calls.append(len(server.seen)))
        assert calls == [1, 2]
