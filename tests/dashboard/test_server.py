"""The page of a running program, over HTTP."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

import pilotage as pt
from pilotage.dashboard import page
from pilotage.dashboard.beside import Beside
from pilotage.dashboard.server import PageServer
from pilotage.http.client import HTTPClient
from pilotage.http.messages import ClientResponse, Handler, HTTPRequest, HTTPResponse
from pilotage.http.server import serve
from pilotage.types.core.v1 import ConfigMap

from .pages import PLACEHOLDER

LOCAL = pt.ManagerOptions(ui_bind_address="127.0.0.1:0", handle_signals=False)
PATHS = ("overview", "objects", "reconciles", "timeline", "gpus", "stream")


@pytest.fixture(autouse=True)
def _placeholder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "FILE", PLACEHOLDER)


class Client:
    """A client of a page."""

    def __init__(self, http: HTTPClient, token: str) -> None:
        self.http = http
        self.token = token

    async def get(self, path: str, *headers: tuple[str, str], method: str = "GET") -> ClientResponse:
        """Ask for a view, with the token."""
        return await self.http.request(method, f"/ui/api/{path}", [("Authorization", f"Bearer {self.token}"), *headers])


@asynccontextmanager
async def served(options: pt.ManagerOptions = LOCAL) -> AsyncIterator[Client]:
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        pt.ControllerBuilder(manager).for_(ConfigMap).complete(_nothing)
        meta = pt.ObjectMeta(name="a", namespace="default")
        await manager.cluster.client.create(ConfigMap(metadata=meta, data={"x": "</script>"}))
        await manager.run_until_idle()
        url = urlsplit(manager.ui_url)
        assert url.hostname is not None
        assert url.port is not None
        context = None
        if url.scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        async with HTTPClient(url.hostname, url.port, ssl=context) as http:
            yield Client(http, url.fragment.removeprefix("token="))


async def _nothing(request: pt.Request) -> None:
    pass


async def test_the_page_itself_needs_no_token_and_has_no_data() -> None:
    async with served() as client:
        answer = await client.http.request("GET", "/ui/")
        assert (answer.status, answer.body) == (200, PLACEHOLDER.read_bytes())
        assert answer.headers.get("content-type") == "text/html; charset=utf-8"
        assert "script-src 'sha256-" in answer.headers.get("content-security-policy")
        assert (await client.http.request("GET", "/ui")).headers.get("location") == "/ui/"
        assert (await client.http.request("GET", "/")).headers.get("location") == "/ui/"


@pytest.mark.parametrize("path", [*PATHS, "", "none", "reconciles/1", "object"])
async def test_no_view_is_shown_without_the_token(path: str) -> None:
    async with served() as client:
        for headers in ([], [("Authorization", "Bearer wrong")], [("Cookie", f"token={client.token}")]):
            answer = await client.http.request("GET", f"/ui/api/{path}", headers)
            assert answer.status == 401
            assert b"default" not in answer.body
        assert (await client.http.request("GET", f"/ui/api/{path}?token={client.token}")).status == 401


async def test_each_view_is_shown_with_the_token() -> None:
    async with served() as client:
        for path in (*PATHS[:-1], "reconciles/1", "object?kind=ConfigMap&namespace=default&name=a"):
            answer = await client.get(path)
            assert answer.status == 200, answer
            assert answer.headers.get("content-type") == "application/json"
            assert msgspec.json.decode(answer.body)
        test = await client.get("test?kind=ConfigMap&namespace=default&name=a")
        assert test.headers.get("content-type").startswith("text/plain")
        assert b"async def test_configmap_a" in test.body


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("overview?x=1", 400),
        ("objects?limit=-1", 400),
        ("objects?search=" + "x" * 600, 400),
        ("objects?" + "&".join(f"a{number}=1" for number in range(100)), 400),
        ("object?kind=ConfigMap", 400),
        ("object?kind=ConfigMap&name=z", 404),
        ("reconciles/999999", 404),
        ("reconciles/-1", 404),
        ("reconciles/1/2", 404),
        ("../../etc/passwd", 404),
        ("%2e%2e/%2e%2e/etc/passwd", 404),
        ("stream?x=1", 400),
        ("timeline?from=" + "9" * 500, 400),
        ("overview?at=9999-12-31T23:59:59Z", 200),
        ("overview?at=0001-01-01T00:00:00Z", 200),
    ],
)
async def test_a_request_that_cannot_be_answered_gets_a_reason(path: str, status: int) -> None:
    async with served() as client:
        answer = await client.get(path)
        assert answer.status == status
        if status != 200:
            assert msgspec.json.decode(answer.body)["error"]


async def test_a_huge_query_is_refused() -> None:
    async with served() as client:
        assert (await client.get("objects?search=" + "x" * 100_000)).status in (400, 414, 431)


@pytest.mark.parametrize("path", ["overview", "stream", "../"])
async def test_other_origins_names_and_methods_are_refused(path: str) -> None:
    async with served() as client:
        assert (await client.get(path, ("Origin", "http://attacker.example"))).status == 403
        assert (await client.get(path, ("Sec-Fetch-Site", "cross-site"))).status == 403
        assert (await client.get(path, method="POST")).status == 405
        assert (await client.get(path, method="OPTIONS")).status == 405


async def test_every_answer_forbids_frames_caches_and_other_origins() -> None:
    async with served() as client:
        answers = [await client.http.request("GET", "/ui/"), await client.get("overview"), await client.get("none")]
        answers += [await client.http.request("GET", "/ui/api/overview"), await client.get("overview", method="POST")]
        for answer in answers:
            assert answer.headers.get("cache-control") == "no-store"
            assert answer.headers.get("x-content-type-options") == "nosniff"
            assert answer.headers.get("referrer-policy") == "no-referrer"
            assert "frame-ancestors 'none'" in answer.headers.get("content-security-policy")
            assert not any(name.startswith("access-control") for name, _ in answer.headers)


async def test_a_head_request_has_no_body() -> None:
    async with served() as client:
        for path in ("overview", "stream"):
            answer = await client.get(path, method="HEAD")
            assert (answer.status, answer.body) == (200, b"")


async def test_the_stream_is_sent_piece_by_piece() -> None:
    async with served() as client:
        headers = [("Authorization", f"Bearer {client.token}")]
        async with client.http.stream("GET", "/ui/api/stream", headers) as stream:
            assert stream.headers.get("content-type") == "text/event-stream"
            received = b""
            async for chunk in stream:
                received += chunk
                if b"event: overview" in received:
                    break


async def test_there_is_a_bound_for_open_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pilotage.dashboard.stream.MOST_VIEWERS", 0)
    async with served() as client:
        answer = await client.get("stream")
        assert (answer.status, answer.headers.get("retry-after")) == (503, "10")


async def test_each_program_has_a_token_of_its_own() -> None:
    async with served() as first, served() as second:
        assert first.token != second.token
        assert len(first.token) >= 32


async def test_the_page_is_off_by_default() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        with pytest.raises(pt.InvalidDefinition, match="there is no live page"):
            manager.ui_url  # noqa: B018 - raises


@pytest.mark.parametrize("address", [":8080", "0.0.0.0:8080", "192.0.2.1:8080", "[::]:8080", "example.com:80"])
def test_another_address_than_loopback_needs_tls_and_a_filter(address: str) -> None:
    with pytest.raises(pt.InvalidDefinition, match="set metrics_secure_serving=True and metrics_filter="):
        pt.ManagerOptions(ui_bind_address=address)
    with pytest.raises(pt.InvalidDefinition, match="is reached from other machines"):
        pt.ManagerOptions(ui_bind_address=address, metrics_secure_serving=True)


@pytest.mark.parametrize("address", ["127.0.0.1:0", "127.1.2.3:0", "[::1]:0", "localhost:0", "", "0"])
def test_a_loopback_address_needs_nothing(address: str) -> None:
    assert pt.ManagerOptions(ui_bind_address=address).ui_bind_address == address


async def test_on_another_address_the_filter_of_the_metrics_admits_and_tls_is_used() -> None:
    asked: list[str] = []

    def admits(client: pt.Client, handler: Handler) -> Handler:
        async def answer(request: HTTPRequest) -> Any:
            asked.append(request.target)
            if request.headers.get("authorization") != "Bearer of-kubernetes":
                return HTTPResponse(401)
            return await handler(request)

        return answer

    options = pt.ManagerOptions(
        ui_bind_address="0.0.0.0:0", metrics_secure_serving=True, metrics_filter=admits, handle_signals=False
    )
    async with served(options) as client:
        assert client.token == ""
        assert (await client.http.request("GET", "/ui/")).status == 200
        assert (await client.get("overview")).status == 401
        client.token = "of-kubernetes"
        assert (await client.get("overview")).status == 200
        assert (await client.get("overview", ("Origin", "http://attacker.example"))).status == 403
        assert asked == ["/ui/api/overview"] * 2


async def test_the_page_is_served_while_the_program_runs() -> None:
    async with pt.Manager(pt.Cluster.embedded(), LOCAL) as manager:
        running = asyncio.create_task(manager.start())
        await manager.ready()
        url = urlsplit(manager.ui_url)
        async with HTTPClient("127.0.0.1", url.port or 0) as http:
            client = Client(http, url.fragment.removeprefix("token="))
            assert (await client.get("overview")).status == 200
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


@asynccontextmanager
async def beside(data: Handler) -> AsyncIterator[Client]:
    """A page beside a program whose data is served by a handler."""
    async with serve(data) as program, HTTPClient(*program.address) as upstream:
        server = PageServer(Beside(upstream), "127.0.0.1:0")
        await server.open()
        async with HTTPClient(*server.address) as http:
            yield Client(http, server.token)
        await server.close()


async def test_a_page_beside_a_program_has_the_data_of_the_program() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager, beside(manager.page_handler) as client:
        assert (await client.http.request("GET", "/ui/")).status == 200
        assert (await client.http.request("GET", "/ui/api/overview")).status == 401
        answer = await client.get("overview")
        assert msgspec.json.decode(answer.body)["leader"] == {"state": "off", "holder": ""}
        assert (await client.get("objects?limit=x")).status == 400
        async with client.http.stream("GET", "/ui/api/stream", [("Authorization", f"Bearer {client.token}")]) as stream:
            async for chunk in stream:
                assert chunk == b"retry: 1000\n\n"
                break


async def test_a_page_beside_a_program_passes_no_headers_on() -> None:
    async def hostile(request: HTTPRequest) -> HTTPResponse:
        assert not request.headers.get("authorization")
        return HTTPResponse(200, (("Content-Type", "text/html"), ("Access-Control-Allow-Origin", "*")), b"<script>")

    async with beside(hostile) as client:
        answer = await client.get("overview")
        assert answer.headers.get("content-type") == "text/plain; charset=utf-8"
        assert not answer.headers.get("access-control-allow-origin")


async def test_a_page_beside_a_program_that_has_ended_says_so() -> None:
    async with HTTPClient("127.0.0.1", 1) as upstream:
        server = PageServer(Beside(upstream), "127.0.0.1:0")
        await server.open()
        async with HTTPClient(*server.address) as http:
            client = Client(http, server.token)
            assert (await client.get("overview")).status == 502
            assert (await client.get("stream")).status == 502
        await server.close()
