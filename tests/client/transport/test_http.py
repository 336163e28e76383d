"""The HTTP transport against a server on loopback with configured answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from pilotage.client.retries import Retries
from pilotage.client.transport.http import HTTPTransport
from pilotage.errors import ConnectionLost, DecodeError, InvalidDefinition, NotFound, TooManyRequests
from pilotage.http.limits import HTTPLimits, Timeouts
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.rest import APIRequest, ListOptions, Verb, WatchEvent

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
GET = APIRequest(Verb.GET, CONFIG_MAPS, "a", "one", user_agent="tests/1")
LIST = APIRequest(Verb.LIST, CONFIG_MAPS, "a", options=ListOptions(label_selector="x=y"))
WATCH = APIRequest(Verb.WATCH, CONFIG_MAPS, "a")
JSON = ("content-type", "application/json")

Answer = HTTPResponse | StreamingResponse
Handler = Callable[[HTTPRequest], Answer]


@asynccontextmanager
async def answering(
    handler: Handler,
    *,
    prefix: str = "",
    token: str = "",
    timeouts: Timeouts | None = None,
    limits: HTTPLimits | None = None,
) -> AsyncIterator[HTTPTransport]:
    async def answer(request: HTTPRequest) -> Answer:
        return handler(request)

    async with serve(answer) as server:
        url = f"http://127.0.0.1:{server.port}{prefix}"
        transport = HTTPTransport(url, token=token, timeouts=timeouts, limits=limits, retries=Retries(tries=0, lost=0))
        try:
            yield transport
        finally:
            await transport.close()


@asynccontextmanager
async def watching(chunks: AsyncIterator[bytes]) -> AsyncIterator[AsyncIterator[WatchEvent]]:
    async with (
        answering(lambda request: StreamingResponse(200, [JSON], chunks)) as transport,
        transport.watch(WATCH) as events,
    ):
        yield events


async def test_a_call_is_sent_with_token_and_agent() -> None:
    seen: list[HTTPRequest] = []

    def handler(request: HTTPRequest) -> HTTPResponse:
        seen.append(request)
        return HTTPResponse(200, [JSON, ("warning", '299 - "old"'), ("warning", '299 - "older"')], b"{}")

    async with answering(handler, token="secret") as transport:
        response = await transport.call(GET)
    assert (response.body, response.code, response.warnings) == (b"{}", 200, ("old", "older"))
    (request,) = seen
    assert (request.method, request.target) == ("GET", "/api/v1/namespaces/a/configmaps/one")
    assert request.headers.get("authorization") == "Bearer secret"
    assert request.headers.get("user-agent") == "tests/1"
    assert request.headers.get("accept") == "application/json"


async def test_without_a_token_none_is_sent() -> None:
    seen: list[str] = []

    def handler(request: HTTPRequest) -> HTTPResponse:
        seen.append(request.headers.get("authorization"))
        return HTTPResponse(200, [JSON], b"{}")

    async with answering(handler) as transport:
        await transport.call(GET)
    assert seen == [""]


async def test_a_server_behind_a_proxy_has_a_path_of_its_own() -> None:
    seen: list[str] = []

    def handler(request: HTTPRequest) -> HTTPResponse:
        seen.append(request.target)
        return HTTPResponse(200, [JSON], b'{"kind":"ConfigMapList","items":[]}')

    async with answering(handler, prefix="/clusters/one/") as transport:
        await transport.list(LIST)
    assert seen == ["/clusters/one/api/v1/namespaces/a/configmaps?labelSelector=x%3Dy"]


async def test_what_is_no_status_is_still_an_error_of_the_right_kind() -> None:
    async with answering(lambda request: HTTPResponse(404, [], b"404 page not found\n")) as transport:
        with pytest.raises(NotFound, match="404 to GET /api/v1/namespaces/a/configmaps/one: 404 page not found"):
            await transport.call(GET)
        with pytest.raises(NotFound):
            async with transport.watch(WATCH):
                pytest.fail("the watch has begun")


async def test_the_query_is_not_in_messages_since_it_may_have_secrets() -> None:
    async with answering(lambda request: HTTPResponse(500, [], b"no")) as transport:
        with pytest.raises(Exception, match="500") as caught:
            await transport.list(LIST)
    assert "x%3Dy" not in str(caught.value)


async def test_how_long_to_wait_comes_from_the_header() -> None:
    answer = HTTPResponse(429, [("retry-after", "7")], b"Too many requests, please try again later.\n")
    async with answering(lambda request: answer) as transport:
        with pytest.raises(TooManyRequests) as caught:
            await transport.call(GET)
    assert caught.value.retry_after_seconds == 7


async def test_a_redirect_is_not_followed() -> None:
    async with answering(lambda request: HTTPResponse(302, [("location", "http://x/")])) as transport:
        with pytest.raises(Exception, match="302"):
            await transport.call(GET)


async def test_an_answer_that_is_too_large_is_refused() -> None:
    limits = HTTPLimits(response_bytes=1000)
    async with answering(lambda request: HTTPResponse(200, [JSON], b"x" * 1001), limits=limits) as transport:
        with pytest.raises(DecodeError, match="larger than 1000 bytes"):
            await transport.call(GET)


async def test_a_silent_server_is_given_up_on() -> None:
    forever = asyncio.Event()

    async def never(request: HTTPRequest) -> HTTPResponse:
        await forever.wait()
        return HTTPResponse(200)

    async with serve(never, limits=HTTPLimits(grace_seconds=0.0)) as server:
        transport = HTTPTransport(f"http://127.0.0.1:{server.port}", timeouts=Timeouts(response=0.05))
        with pytest.raises(ConnectionLost):
            await transport.call(GET)
        await transport.close()


async def test_a_missing_server_is_a_lost_connection_that_sent_nothing() -> None:
    async with answering(lambda request: HTTPResponse(200)) as gone:
        pass
    with pytest.raises(ConnectionLost) as caught:
        await gone.call(GET)
    assert caught.value.sent is False


async def test_a_watch_gives_events_as_they_come() -> None:
    more = asyncio.Event()

    async def lines() -> AsyncIterator[bytes]:
        yield b'{"type":"ADDED","object":{"a":1}}\n{"type":"MODI'
        yield b'FIED","object":{"a":2}}\n'
        await more.wait()
        yield b'{"type":"DELETED","object":{"a":3}}\n'

    async with watching(lines()) as events:
        assert (await anext(events)).type == "ADDED"
        assert bytes((await anext(events)).object) == b'{"a":2}'
        more.set()
        assert [event.type async for event in events] == ["DELETED"]


async def test_half_a_line_is_no_event() -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b'{"type":"ADDED","object":{"a":1}}\n{"type":"ADDED","object":{"a'

    async with watching(lines()) as events:
        assert [event.type async for event in events] == ["ADDED"]


async def test_a_watch_that_breaks_off_is_a_lost_connection() -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b'{"type":"ADDED","object":{"a":1}}\n'
        raise ConnectionResetError

    async with watching(lines()) as events:
        assert (await anext(events)).type == "ADDED"
        with pytest.raises(ConnectionLost):
            await anext(events)


async def test_leaving_a_watch_ends_it_at_the_server() -> None:
    ended = asyncio.Event()

    async def lines() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b'{"type":"ADDED","object":{}}\n'
                await asyncio.sleep(0)
        finally:
            ended.set()

    async with answering(lambda request: StreamingResponse(200, [JSON], lines())) as transport:
        async with transport.watch(WATCH) as events:
            await anext(events)
        async with asyncio.timeout(60):
            await ended.wait()


def legacy(request: HTTPRequest) -> HTTPResponse:
    documents = {
        "/api": b'{"kind":"APIVersions","versions":["v1"]}',
        "/apis": b'{"groups":[{"name":"gone","versions":[{"version":"v1"}]},'
        b'{"name":"demo","versions":[{"version":"v1"}]}]}',
        "/api/v1": b'{"resources":[{"name":"pods","kind":"Pod","namespaced":true}]}',
        "/apis/demo/v1": b'{"resources":[{"name":"things","kind":"Thing"}]}',
    }
    if request.target == "/apis/gone/v1":
        return HTTPResponse(503, [], b"no endpoints available")
    return HTTPResponse(200, [JSON], documents[request.target])


async def test_discovery_of_a_server_without_the_aggregated_form() -> None:
    async with answering(legacy) as transport:
        found = await transport.resources()
    assert [mapping.gvk for mapping in found] == [
        GroupVersionKind("", "v1", "Pod"),
        GroupVersionKind("demo", "v1", "Thing"),
    ]


async def test_discovery_of_a_server_that_refuses_what_it_does_not_know() -> None:
    def picky(request: HTTPRequest) -> HTTPResponse:
        if request.headers.get("accept") != "application/json":
            return HTTPResponse(406, [], b"not acceptable")
        return legacy(request)

    async with answering(picky) as transport:
        assert len(await transport.resources()) == 2


async def test_discovery_of_a_server_with_no_core_group() -> None:
    def without(request: HTTPRequest) -> HTTPResponse:
        return HTTPResponse(404) if request.target == "/api" else legacy(request)

    async with answering(without) as transport:
        assert [mapping.gvk.kind for mapping in await transport.resources()] == ["Thing"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("127.0.0.1:6443", "must begin with https://"),
        ("ftp://host", "must begin with https://"),
        ("https://", "names no host"),
        ("https://host:port", "port"),
        ("https://host:99999", "[Pp]ort"),
        ("https://user:hunter2@host", "neither user, query nor fragment"),
        ("https://host?token=hunter2", "neither user, query nor fragment"),
    ],
)
def test_a_malformed_url_is_reported_without_its_secrets(url: str, why: str) -> None:
    with pytest.raises(InvalidDefinition, match=why) as caught:
        HTTPTransport(url)
    assert "hunter2" not in str(caught.value)
