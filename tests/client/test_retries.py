"""When a request is sent again: as a table, and seen from the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import pytest
from msgspec.structs import replace

from pilotage.client.retries import Retries
from pilotage.client.transport.http import HTTPTransport
from pilotage.errors import ApiError, ConnectionLost, InternalError, ServiceUnavailable, TooManyRequests
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.http.server import serve
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import APIRequest, Fence, Verb
from pilotage.telemetry.metrics import REGISTRY, Registry

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
GET = APIRequest(Verb.GET, CONFIG_MAPS, "a", "one")
CREATE = APIRequest(Verb.CREATE, CONFIG_MAPS, "a", body=b"{}")
JSON = ("content-type", "application/json")
OK = HTTPResponse(200, [JSON], b"{}")
QUICK = Retries(first=0.001, jitter=0.0)


def pause(method: str, code: int, retry_after: int, attempt: int = 0) -> float | None:
    return Retries(jitter=0.0).after_answer(method, code, retry_after, attempt, Random(1))


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("code", [429, 503])
def test_a_refused_request_is_sent_again_after_the_delay_of_the_server(method: str, code: int) -> None:
    assert pause(method, code, 7) == 7
    assert pause(method, code, 0) is None
    assert pause(method, code, 1, attempt=10) is None


@pytest.mark.parametrize("code", [500, 502, 504])
def test_what_may_have_been_done_is_sent_again_only_if_it_only_reads(code: int) -> None:
    assert pause("GET", code, 1) == 1
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert pause(method, code, 1) is None


@pytest.mark.parametrize("code", [200, 400, 404, 409, 410, 422])
def test_other_answers_are_final(code: int) -> None:
    assert pause("GET", code, 1) is None


def test_waits_grow_and_are_spread() -> None:
    assert [pause("GET", 429, 1, attempt) for attempt in range(6)] == [1, 1, 2, 4, 8, 16]
    spread = [Retries().after_answer("GET", 429, 10, 0, Random(seed)) or 0 for seed in range(50)]
    assert all(10 <= wait <= 12 for wait in spread)
    assert len(set(spread)) > 40


def test_a_lost_connection_is_tried_again_for_reads_alone() -> None:
    retries, lost = Retries(jitter=0.0), ConnectionLost("x")
    assert [retries.after_loss("GET", lost, attempt, Random(1)) for attempt in range(4)] == [0.1, 0.2, 0.4, None]
    assert retries.after_loss("PUT", lost, 0, Random(1)) is None
    assert retries.after_loss("GET", ConnectionLost("x", sent=False), 0, Random(1)) is None
    assert retries.after_loss("GET", ConnectionLost("x", timed_out=True), 0, Random(1)) is None


@asynccontextmanager
async def answering(
    *answers: HTTPResponse, retries: Retries | None = None
) -> AsyncIterator[tuple[HTTPTransport, list[HTTPRequest]]]:
    """A server that gives these answers in turn, the last one for ever."""
    left, seen = list(answers), list[HTTPRequest]()

    async def handler(request: HTTPRequest) -> HTTPResponse:
        seen.append(request)
        return left.pop(0) if len(left) > 1 else left[0]

    async with serve(handler) as server:
        transport = HTTPTransport(f"http://127.0.0.1:{server.port}", token="secret", retries=retries)
        async with transport:
            yield transport, seen


def busy(code: int = 429, seconds: str = "1") -> HTTPResponse:
    return HTTPResponse(code, [("retry-after", seconds)], b"busy")


@pytest.mark.parametrize("request_", [GET, CREATE], ids=["get", "create"])
@pytest.mark.parametrize("code", [429, 503])
async def test_a_busy_server_is_asked_again(request_: APIRequest, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = _no_waiting(monkeypatch)
    async with answering(busy(code), busy(code, "3"), OK) as (transport, seen):
        assert (await transport.call(request_)).body == b"{}"
    assert [request.body for request in seen] == [request_.body] * 3
    assert [int(wait) for wait in waits] == [1, 3]


async def test_a_server_that_stays_busy_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    _no_waiting(monkeypatch)
    async with answering(busy()) as (transport, seen):
        with pytest.raises(TooManyRequests):
            await transport.call(GET)
    assert len(seen) == 11


async def test_a_wait_that_would_be_too_long_is_not_begun() -> None:
    async with answering(busy(503, "3600")) as (transport, seen), asyncio.timeout(60):
        with pytest.raises(ServiceUnavailable) as caught:
            await transport.call(GET)
    assert caught.value.retry_after_seconds == 3600
    assert len(seen) == 1


async def test_the_callers_deadline_ends_the_waiting() -> None:
    async with answering(busy(429, "30")) as (transport, _):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await transport.call(GET)


@pytest.mark.parametrize(("answer", "error"), [(busy(500), InternalError), (busy(409), ApiError)])
async def test_a_write_that_may_have_been_done_is_sent_once(answer: HTTPResponse, error: type[ApiError]) -> None:
    async with answering(answer, OK) as (transport, seen):
        with pytest.raises(error):
            await transport.call(CREATE)
    assert len(seen) == 1


async def test_every_try_is_counted_by_code_method_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    _no_waiting(monkeypatch)
    assert "rest_client_requests_total" in REGISTRY.render()
    registry = Registry()  # the process's own is full of the hosts of other tests
    counter = registry.counter("rest_client_requests_total", "x", ("code", "method", "host"))
    monkeypatch.setattr("pilotage.client.transport.sending.REQUESTS", counter)
    async with answering(busy(), OK) as (transport, seen):
        await transport.call(GET)
        host = seen[0].headers.get("host")
    text = registry.render()
    for code in ("429", "200"):
        assert f'rest_client_requests_total{{code="{code}",method="GET",host="{host}"}} 1' in text
    with pytest.raises(ConnectionLost):
        await transport.call(GET)  # no server listens any more
    assert f'rest_client_requests_total{{code="<error>",method="GET",host="{host}"}} 1' in registry.render()


async def test_a_redirect_carries_the_token_nowhere() -> None:
    async with answering(OK) as (_, elsewhere):
        answer = HTTPResponse(307, [("location", "http://127.0.0.1:1/")])
        async with answering(answer) as (transport, seen):
            with pytest.raises(ApiError, match="307"):
                await transport.call(GET)
    assert len(seen) == 1
    assert elsewhere == []


def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("pilotage.client.transport.sending.asyncio", _Quick(sleep))
    return waits


class _Quick:
    """asyncio without sleeping: no time passes."""

    def __init__(self, sleep: object) -> None:
        self.sleep = sleep

    def get_running_loop(self) -> _Quick:
        return self

    def time(self) -> float:
        return 0.0


@pytest.mark.covers("F13")
async def test_a_write_of_a_leader_is_not_sent_again_after_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = _no_waiting(monkeypatch)

    def check() -> None:
        if waits:
            raise PermissionError("the deadline has passed")

    async with answering(busy(), OK) as (transport, seen):
        with pytest.raises(PermissionError):
            await transport.call(replace(CREATE, fences=(Fence(None, check),)))
    assert len(seen) == 1
