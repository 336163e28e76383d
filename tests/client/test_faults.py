"""With any fault of the network, a call ends in time with a clear error, and no write is sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from pilotage.client import Client
from pilotage.client.retries import Retries
from pilotage.client.transport.http import HTTPTransport
from pilotage.cluster import Cluster
from pilotage.errors import (
    ApiError,
    ConnectionLost,
    DecodeError,
    Gone,
    InternalError,
    PilotageError,
    ServiceUnavailable,
    TooManyRequests,
)
from pilotage.http.limits import Timeouts
from pilotage.http.server import serve
from pilotage.meta.models import ObjectMeta
from pilotage.server.http.handler import HTTPHandler
from pilotage.testing.proxy import (
    Answer,
    CutLine,
    DropLine,
    DuplicateLine,
    FaultProxy,
    HalfBody,
    LoseAnswer,
    LoseRequest,
    Stall,
    is_watch,
)
from pilotage.types.core.v1 import ConfigMap

WITHIN = 100.0
SOON = Timeouts(response=0.2, body=0.2)


@dataclass(frozen=True)
class Faulty:
    """A client that reaches an API server through a fault proxy, and one that reaches it directly."""

    client: Client
    direct: Client
    proxy: FaultProxy

    @property
    def requests(self) -> int:
        return self.proxy.statistics().requests


@asynccontextmanager
async def faulty(timeouts: Timeouts | None = None) -> AsyncIterator[Faulty]:
    async with (
        asyncio.timeout(WITHIN),
        Cluster.embedded("memory:") as cluster,
        serve(HTTPHandler(cluster.registry, "secret")) as server,
        FaultProxy(*server.address) as proxy,
        HTTPTransport(
            f"http://127.0.0.1:{proxy.address[1]}", token="secret", timeouts=timeouts, retries=Retries(tries=0, lost=0)
        ) as transport,
    ):
        direct = Client(cluster.registry).with_namespace("default")
        await direct.create(_config_map("old"))
        client = Client(transport).with_namespace("default")
        if timeouts is None:  # else this request would have to be answered in time
            await client.get(ConfigMap, "old")  # a connection is in the pool from here on
        yield Faulty(client, direct, proxy)


def _config_map(name: str, value: str = "1") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data={"key": value})


async def _create(environment: Faulty) -> None:
    await environment.client.create(_config_map("new"))


async def _generate(environment: Faulty) -> None:
    await environment.client.create(ConfigMap(metadata=ObjectMeta(generate_name="new-")))


async def _update(environment: Faulty) -> None:
    found = await environment.direct.get(ConfigMap, "old")
    found.data["key"] = "2"
    await environment.client.update(found)


async def _patch(environment: Faulty) -> None:
    await environment.client.patch(await environment.direct.get(ConfigMap, "old"), {"data": {"key": "2"}})


async def _apply(environment: Faulty) -> None:
    await environment.client.apply(_config_map("new"), field_owner="test")


async def _delete(environment: Faulty) -> None:
    await environment.client.delete(await environment.direct.get(ConfigMap, "old"))


async def _delete_all(environment: Faulty) -> None:
    await environment.client.delete_all_of(ConfigMap)


async def _get(environment: Faulty) -> None:
    await environment.client.get(ConfigMap, "old")


async def _list(environment: Faulty) -> None:
    await environment.client.list(ConfigMap)


async def _watch(environment: Faulty) -> None:
    async with environment.client.watch(ConfigMap, timeout_seconds=1) as events:
        async for _ in events:
            return


Call = Callable[[Faulty], Awaitable[None]]
WRITES: list[Call] = [_create, _generate, _update, _patch, _apply, _delete, _delete_all]
READS: list[Call] = [_get, _list]
CALLS: list[Call] = [*WRITES, *READS, _watch]


def each(*calls: Call) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("call", calls, ids=lambda call: call.__name__.strip("_"))


async def _state(environment: Faulty) -> list[tuple[str, dict[str, str]]]:
    return sorted((found.metadata.name, dict(found.data)) for found in await environment.direct.list(ConfigMap))


@pytest.mark.covers("F27")
@each(*WRITES)
@pytest.mark.parametrize("fault", [LoseAnswer(), HalfBody()], ids=lambda fault: type(fault).__name__)
async def test_a_write_whose_answer_is_lost_has_taken_effect_once_and_is_not_sent_again(
    call: Call, fault: LoseAnswer | HalfBody
) -> None:
    async with faulty() as environment:
        before, sent = await _state(environment), environment.requests
        environment.proxy.add(fault)
        with pytest.raises(ConnectionLost) as caught:
            await call(environment)
        assert caught.value.sent
        assert environment.requests == sent + 1
        after = await _state(environment)
        assert after != before
        assert len(after) <= len(before) + 1


@pytest.mark.covers("F27")
@each(*WRITES)
async def test_a_write_that_is_lost_on_its_way_is_not_sent_again(call: Call) -> None:
    async with faulty() as environment:
        before, sent = await _state(environment), environment.requests
        environment.proxy.add(LoseRequest())
        with pytest.raises(ConnectionLost, match="whether it took effect is not known"):
            await call(environment)
        assert environment.requests == sent + 1
        assert await _state(environment) == before


@each(*READS, _watch)
@pytest.mark.parametrize("fault", [LoseRequest(), LoseAnswer()], ids=lambda fault: type(fault).__name__)
async def test_a_read_on_a_connection_that_is_lost_is_sent_once_more(
    call: Call, fault: LoseRequest | LoseAnswer
) -> None:
    async with faulty() as environment:
        sent = environment.requests
        environment.proxy.add(fault)
        await call(environment)
        assert environment.requests == sent + 2
        await _get(environment)  # a watch leaves none in the pool
        environment.proxy.add(type(fault)(times=2))
        with pytest.raises(ConnectionLost):
            await call(environment)
        assert environment.requests == sent + 5


@each(*READS)
async def test_half_an_object_is_never_returned(call: Call) -> None:
    async with faulty() as environment:
        sent = environment.requests
        environment.proxy.add(HalfBody())
        with pytest.raises(ConnectionLost, match="in the middle of the response"):
            await call(environment)
        assert environment.requests == sent + 1
        await call(environment)


@each(*CALLS)
@pytest.mark.parametrize(
    ("status", "error"), [(410, Gone), (429, TooManyRequests), (500, InternalError), (503, ServiceUnavailable)]
)
async def test_an_error_of_the_server_is_raised_as_what_it_is_and_nothing_is_sent_again(
    call: Call, status: int, error: type[ApiError]
) -> None:
    async with faulty() as environment:
        before, sent = await _state(environment), environment.requests
        environment.proxy.add(Answer(status, retry_after=7))
        with pytest.raises(error) as caught:
            await call(environment)
        assert caught.value.kind == "ConfigMap"
        assert caught.value.status.details is not None
        assert caught.value.status.details.retry_after_seconds == 7
        assert environment.requests == sent + 1
        assert await _state(environment) == before


@each(*WRITES, *READS)
@pytest.mark.parametrize("direction", ["up", "down"])
async def test_a_call_to_a_silent_server_times_out(call: Call, direction: str) -> None:
    async with faulty(SOON) as environment:
        environment.proxy.add(Stall(direction="up" if direction == "up" else "down"))
        with pytest.raises(ConnectionLost, match=r"no response within 0\.2 s"):
            await call(environment)


@each(*WRITES, *READS)
async def test_a_server_that_falls_silent_within_its_answer_is_given_up(call: Call) -> None:
    async with faulty(SOON) as environment:
        passed = environment.proxy.statistics().bytes_down
        environment.proxy.add(Stall(after_bytes=passed + 250))  # in the body, behind the head
        with pytest.raises(ConnectionLost, match=r"response within 0\.2 s"):
            await call(environment)


async def test_a_watch_that_is_refused_by_a_server_that_then_falls_silent_is_given_up() -> None:
    async with faulty(SOON) as environment:
        passed = environment.proxy.statistics().bytes_down
        environment.proxy.add(Answer(503))
        environment.proxy.add(Stall(after_bytes=passed + 150))
        with pytest.raises(ConnectionLost, match=r"response within 0\.2 s"):
            await _watch(environment)


async def _names(environment: Faulty, count: int) -> list[str]:
    """Watch until so many events have come, or the watch breaks; the names that came."""
    names: list[str] = []
    async with environment.client.watch(ConfigMap, resource_version="0") as events:
        try:
            async for event in events:
                names.append(event.object.metadata.name)
                if len(names) == count:
                    break
        except PilotageError as error:
            names.append(type(error).__name__)
    return names


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (DropLine(2, is_watch), ["a", "c", "old"]),
        (DuplicateLine(2, is_watch), ["a", "b", "b", "c", "old"]),
        (CutLine(2, 1, is_watch), ["a", "ConnectionLost"]),
        (CutLine(2, None, is_watch), ["a", "ConnectionLost"]),
        (CutLine(1, None, is_watch), ["ConnectionLost"]),
    ],
    ids=["drop", "duplicate", "cut early", "cut", "cut first"],
)
async def test_a_watch_gives_what_came_whole_and_then_the_error(
    fault: DropLine | DuplicateLine | CutLine, expected: list[str]
) -> None:
    async with faulty() as environment:
        for name in "abc":
            await environment.direct.create(_config_map(name))
        environment.proxy.add(fault)
        assert await _names(environment, len(expected)) == expected


LINES = [
    b'{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%d","resourceVersion":"%d"}}}\n'
    % (number, number)
    for number in range(3)
]


def _chunked(*pieces: bytes) -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


async def _watch_of(answer: bytes) -> tuple[list[str], str]:
    """The names that a watch gives for these bytes of a server, which then closes; and how the watch ends."""

    async def serve_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    names: list[str] = []
    async with await asyncio.start_server(serve_bytes, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with HTTPTransport(f"http://127.0.0.1:{port}") as transport:
            client = Client(transport)
            try:
                async with client.watch(ConfigMap) as events:
                    async for event in events:
                        names.append(event.object.metadata.name)
            except PilotageError as error:
                return names, type(error).__name__
    return names, "end"


@pytest.mark.covers("F28")
async def test_a_watch_cut_at_any_byte_gives_whole_objects_and_then_a_lost_connection() -> None:
    answer = _chunked(*LINES)
    ends = [answer.index(line) + len(line) for line in LINES]
    for cut in range(len(answer)):
        names, end = await _watch_of(answer[:cut])
        assert names == [str(number) for number, at in enumerate(ends) if at <= cut]
        assert end == "ConnectionLost", cut
    assert await _watch_of(answer) == (["0", "1", "2"], "end")


@pytest.mark.covers("F28")
@pytest.mark.parametrize(
    "garbage",
    [
        b"<html>gateway time-out</html>\n",
        b"\xff\xfe\n",
        b'{"type":"ADDED"}\n',
        b'{"type":"ADDED","object":5}\n',
        b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n',
        b'{"type":"SURPRISE","object":{}}\n',
        b'{"type":"ERROR","object":{"message":"\xff"}}\n',
        b'{"type":"ERROR","object":7}\n',
        b"[" * 100_000 + b"\n",
    ],
)
async def test_garbage_in_a_watch_is_an_error_after_what_came_before_it(garbage: bytes) -> None:
    assert await _watch_of(_chunked(LINES[0], garbage, LINES[1])) == (["0"], DecodeError.__name__)
