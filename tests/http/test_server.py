from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress

import pytest

from pilotage.http.connection import ServerConnection
from pilotage.http.dates import DateLine
from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from tests.http import raw
from tests.http.raw import until

GET = b"GET /%b HTTP/1.1\r\nHost: h\r\n\r\n"


async def echo(request: HTTPRequest) -> HTTPResponse:
    return HTTPResponse(
        200, (("Content-Type", "text/plain"),), f"{request.method} {request.target} ".encode() + request.body
    )


async def test_requests_on_one_connection_are_answered_one_after_the_other() -> None:
    async with serve(echo) as server, raw.connect(server.port) as client:
        for number in (b"1", b"2"):
            client.send(GET % number)
            assert (await client.response()).endswith(b"\r\n\r\nGET /" + number + b" ")
        assert server.statistics().connections == 1


async def test_requests_sent_ahead_are_answered_in_order() -> None:
    async def handler(request: HTTPRequest) -> HTTPResponse:
        await asyncio.sleep(0 if request.target == "/2" else 0.01)
        return await echo(request)

    async with serve(handler) as server:
        received = await raw.exchange(server.port, GET % b"1" + GET % b"2" + GET % b"3")
    bodies = [part.partition(b"\r\n\r\n")[2] for part in received.split(b"HTTP/1.1 200 OK")[1:]]
    assert bodies == [b"GET /1 ", b"GET /2 ", b"GET /3 "]


async def test_a_client_that_sends_far_ahead_is_not_read_until_its_request_is_answered() -> None:
    go = asyncio.Event()

    async def handler(request: HTTPRequest) -> HTTPResponse:
        await go.wait()
        return HTTPResponse(200)

    async with serve(handler, limits=HTTPLimits(pipelined_bytes=1000)) as server, raw.connect(server.port) as client:
        count = 1_000_000  # more than the kernel holds
        client.send(GET % b"" * count)
        await until(lambda: server.statistics().requests == 1)
        for _ in range(50):
            await asyncio.sleep(0)
        unsent = client.writer.transport.get_write_buffer_size()
        assert unsent > 0
        assert server.statistics().requests == 1
        go.set()


async def test_a_chunked_body_arrives_whole() -> None:
    async with serve(echo) as server, raw.connect(server.port) as client:
        client.send(
            b"POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
        )
        assert (await client.response()).endswith(b"POST /p abcde")
        client.send(GET % b"next")
        assert (await client.response()).endswith(b"GET /next ")


async def test_a_head_request_gets_the_length_and_no_body() -> None:
    async with serve(echo) as server:
        received = await raw.exchange(server.port, b"HEAD /p HTTP/1.1\r\nHost: h\r\n\r\n")
    assert b"Content-Length: 8\r\n" in received
    assert received.endswith(b"\r\n\r\n")


async def test_no_content_has_neither_length_nor_body() -> None:
    async def handler(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(204, body=b"ignored")

    async with serve(handler) as server:
        received = await raw.exchange(server.port, GET % b"")
    assert b"Content-Length" not in received
    assert received.endswith(b"\r\n\r\n")


async def test_a_client_that_waits_for_leave_to_send_its_body_gets_it() -> None:
    async with serve(echo) as server, raw.connect(server.port) as client:
        client.send(b"PUT /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(b"body")
        assert (await client.response()).endswith(b"PUT /p body")


async def test_a_client_that_announces_too_large_a_body_is_refused_before_it_sends_it() -> None:
    async with serve(echo, limits=HTTPLimits(body_bytes=10)) as server, raw.connect(server.port) as client:
        client.send(b"PUT /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
        received = await client.receive()
    assert raw.statuses(received) == [413]
    assert b"Connection: close\r\n" in received
    assert b"Content-Type: text/plain" in received


async def test_a_refusal_reaches_a_client_that_is_still_sending() -> None:
    async with serve(echo, limits=HTTPLimits(body_bytes=10)) as server, raw.connect(server.port) as client:
        client.send(b"PUT /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3_000_000)
        assert raw.statuses(await client.receive()) == [413]


@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Length: 3000000\r\n\r\n" + b"x" * 3_000_000,
        b"Transfer-Encoding: chunked\r\n\r\n" + b"5\r\n12345\r\n" * 3 + b"2dc6c0\r\n" + b"x" * 3_000_000,
        b"Expect: 100-continue\r\nContent-Length: 11\r\n\r\n",
    ],
)
async def test_a_handler_can_answer_a_request_with_too_large_a_body_which_is_not_read(sent: bytes) -> None:
    async def handler(request: HTTPRequest) -> HTTPResponse:
        await asyncio.sleep(0)  # the rest of the body arrives meanwhile
        return HTTPResponse(413, body=f"{request.target} {request.too_large} {len(request.body)}".encode())

    limits = HTTPLimits(body_bytes=10, pipelined_bytes=1000)
    async with serve(handler, limits=limits, answers_too_large=True) as server, raw.connect(server.port) as client:
        client.send(b"PUT /p HTTP/1.1\r\nHost: h\r\n" + sent)
        received = await client.receive()
        assert server.statistics().body_bytes == 0
    assert raw.statuses(received) == [413]
    assert b"Connection: close\r\n" in received
    assert received.endswith(b"/p True 0")


@pytest.mark.parametrize("keep", [b"", b"Connection: keep-alive\r\n"])
async def test_an_old_client_is_answered_without_chunks(keep: bytes) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one "
        yield b"two"

    async def handler(request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(200, (), pieces())

    async with serve(handler) as server:
        received = await raw.exchange(server.port, b"GET / HTTP/1.0\r\n" + keep + b"\r\n")
    assert received.endswith(b"\r\n\r\none two")
    assert b"chunked" not in received


async def test_a_failing_handler_gives_a_plain_500_and_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(request: HTTPRequest) -> HTTPResponse:
        raise RuntimeError("the secret inside")

    async with serve(handler) as server:
        received = await raw.exchange(server.port, GET % b"broken?token=hidden")
    assert raw.statuses(received) == [500]
    assert b"secret" not in received
    assert [(record.name, record.levelno) for record in caplog.records] == [("pilotage.http", logging.ERROR)]
    assert "Request handler failed method=GET path=/broken" in caplog.text
    assert "hidden" not in caplog.text


@pytest.mark.parametrize("headers", [(("X", "a\r\nSet-Cookie: b"),), (("Content-Length", "3"),)])
async def test_a_handler_cannot_break_the_framing_of_its_answer(
    headers: tuple[tuple[str, str], ...], caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(200, headers)

    async with serve(handler) as server:
        received = await raw.exchange(server.port, GET % b"")
    assert raw.statuses(received) == [500]
    assert b"Set-Cookie" not in received


async def test_a_cancellation_inside_a_handler_is_a_failure_of_that_request_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(request: HTTPRequest) -> HTTPResponse:
        if request.target == "/bad":
            raise asyncio.CancelledError
        return HTTPResponse(200)

    async with serve(handler) as server:
        assert raw.statuses(await raw.exchange(server.port, GET % b"bad")) == [500]
        assert raw.statuses(await raw.exchange(server.port, GET % b"good")) == [200]


async def test_the_handler_is_cancelled_when_its_client_is_gone() -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(request: HTTPRequest) -> HTTPResponse:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return HTTPResponse(200)

    async with serve(handler) as server:
        async with raw.connect(server.port) as client:
            client.send(GET % b"")
            await started.wait()
            raw.reset(client)
        async with asyncio.timeout(60):
            await cancelled.wait()
        await until(lambda: server.statistics().connections == 0)


async def test_nothing_is_left_running_after_the_block() -> None:
    before = asyncio.all_tasks()

    async def forever() -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(0.001)

    async def handler(request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(200, (), forever())

    async with AsyncExitStack() as clients:
        async with serve(handler, limits=HTTPLimits(grace_seconds=0.02)) as server:
            idle, half, watch = [await clients.enter_async_context(raw.connect(server.port)) for _ in range(3)]
            half.send(b"GET / HT")
            watch.send(GET % b"")
            await until(lambda: server.statistics().requests == 1 and server.statistics().connections == 3)
        assert asyncio.all_tasks() == before
        assert await idle.receive() == await half.receive() == b""
        assert not (await watch.receive()).endswith(b"0\r\n\r\n")  # it was cut, and must not look complete
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.port)


async def test_a_running_request_is_finished_when_the_server_closes() -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def handler(request: HTTPRequest) -> HTTPResponse:
        started.set()
        await go.wait()
        return HTTPResponse(200, body=b"done")

    async def serving() -> None:
        async with serve(handler) as server:
            ports.append(server.port)
            opened.set()
            await started.wait()

    ports: list[int] = []
    opened = asyncio.Event()
    task = asyncio.create_task(serving())
    await opened.wait()
    async with raw.connect(ports[0]) as client:
        client.send(GET % b"")
        await started.wait()
        await _refused(ports[0])  # the server is closing
        go.set()
        received = await client.receive()
        await task
    assert received.endswith(b"done")
    assert b"Connection: close\r\n" in received


async def _refused(port: int) -> None:
    """Wait until no server listens on `port` any more."""
    with suppress(ConnectionRefusedError):
        while True:
            (await asyncio.open_connection("127.0.0.1", port))[1].close()


async def test_a_client_that_has_nothing_more_to_say_still_gets_its_answer() -> None:
    go = asyncio.Event()

    async def handler(request: HTTPRequest) -> HTTPResponse:
        if request.target == "/late":
            await go.wait()
        return HTTPResponse(200, body=b"late")

    async with serve(handler) as server, raw.connect(server.port) as client:
        client.send(GET % b"late")
        client.writer.write_eof()
        await raw.exchange(server.port, GET % b"other")  # by its answer, the server has read the end of the first one
        go.set()
        assert (await client.receive()).endswith(b"late")


async def test_a_stream_is_open_before_its_first_chunk_and_ends_cleanly() -> None:
    go = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        await go.wait()
        yield b"one"
        yield b""
        yield b"three"

    async def handler(request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(200, (("Content-Type", "x/y"),), pieces())

    async with serve(handler) as server, raw.connect(server.port) as client:
        client.send(GET % b"" + GET % b"")
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert b"Transfer-Encoding: chunked\r\n" in head
        go.set()
        expected = b"3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"
        assert await client.reader.readexactly(len(expected)) == expected
        assert (await client.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_chunks_that_are_ready_together_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = ServerConnection._write

    def record(connection: ServerConnection, data: bytes) -> None:
        written.append(data)
        write(connection, data)

    monkeypatch.setattr(ServerConnection, "_write", record)
    go = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x"
        await go.wait()
        yield b"y"
        yield b"z"

    async def handler(request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(200, (), chunks())

    async with serve(handler) as server, raw.connect(server.port) as client:
        client.send(GET % b"")
        await client.reader.readuntil(b"x\r\n" + b"1\r\nx\r\n" * 2)
        go.set()
        await client.reader.readuntil(b"0\r\n\r\n")
    assert written[1:] == [b"1\r\nx\r\n" * 3, b"1\r\ny\r\n1\r\nz\r\n", b"0\r\n\r\n"]


async def test_the_iterator_of_a_stream_is_closed_when_the_client_goes_away() -> None:
    closed = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        try:
            yield b"one"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def handler(request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(200, (), pieces())

    async with serve(handler) as server:
        async with raw.connect(server.port) as client:
            client.send(GET % b"")
            await client.reader.readuntil(b"one")
        async with asyncio.timeout(60):
            await closed.wait()
        await until(lambda: server.statistics().connections == 0)


async def test_a_stream_that_fails_is_cut_so_that_it_cannot_look_complete(caplog: pytest.LogCaptureFixture) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"one"
        raise RuntimeError("inside")

    async def handler(request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(200, (), pieces())

    async with serve(handler) as server, raw.connect(server.port) as client:
        client.send(GET % b"")
        received = await client.receive()
    assert not received.endswith(b"0\r\n\r\n")
    assert len(caplog.records) == 1


async def test_at_the_bound_of_connections_the_longest_idle_makes_room() -> None:
    async with serve(echo, limits=HTTPLimits(connections=3)) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(raw.connect(server.port)) for _ in range(2)]
        for client in clients:
            client.send(GET % b"")
            await client.response()
        for client in [await stack.enter_async_context(raw.connect(server.port)) for _ in range(2)]:
            client.send(GET % b"new")
            assert (await client.response()).endswith(b"GET /new ")
        assert await clients[0].receive() == b""


async def test_the_date_is_that_of_the_clock() -> None:
    assert DateLine(lambda: 784111777.5)() == b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"


async def test_a_producer_that_never_waits_does_not_keep_others_from_being_served() -> None:
    async def flood() -> AsyncIterator[bytes]:
        while True:
            yield b"x"

    async def handler(request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        return StreamingResponse(200, (), flood()) if request.target == "/flood" else await echo(request)

    async def swallow(client: raw.Raw) -> None:
        while await client.reader.read(65536):
            pass

    async with serve(handler) as server, raw.connect(server.port) as greedy, asyncio.TaskGroup() as group:
        greedy.send(GET % b"flood")
        swallowing = group.create_task(swallow(greedy))
        for _ in range(10):
            assert (await raw.exchange(server.port, GET % b"other")).endswith(b"GET /other ")
        swallowing.cancel()
        raw.reset(greedy)


async def test_running_out_of_file_descriptors_is_survived_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with serve(echo) as server, AsyncExitStack() as stack:
        clients = [stack.enter_context(socket.socket()) for _ in range(30)]
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        highest = max(client.fileno() for client in clients)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 4, before[1]))
            for client in clients:
                client.connect(server.address)
                client.sendall(GET % b"x")
            await until(lambda: caplog.records)
            await asyncio.sleep(0.25)  # two more tries to accept
            assert len(caplog.records) == 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        await until(lambda: server.statistics().requests == 30)
        for client in clients:
            assert client.recv(1000).startswith(b"HTTP/1.1 200 OK")
