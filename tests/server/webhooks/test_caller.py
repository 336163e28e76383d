"""Calls over TLS: connections, certificates, Services, and servers that fail in each way."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pilotage.errors import ConnectionLost
from pilotage.meta.documents import Document
from pilotage.server.webhooks import caller as caller_module
from pilotage.server.webhooks.caller import MAX_ANSWER, CallError, WebhookCaller
from pilotage.server.webhooks.endpoints import Services, WebhookTarget
from pilotage.server.webhooks.local import IN_PROCESS_HOST, LocalWebhooks
from pilotage.storage.interface import Put
from pilotage.storage.memory import MemoryStorage

from .servers import WebhookServer, allowed, raw_server, webhook_server

REVIEW: Document = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1"}}
ANSWER = allowed(REVIEW)


@asynccontextmanager
async def _calling(storage: MemoryStorage | None = None) -> AsyncIterator[WebhookCaller]:
    caller = WebhookCaller(LocalWebhooks(), Services(storage or MemoryStorage(), "/t/"))
    try:
        yield caller
    finally:
        await caller.close()


def _response(body: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (size, body)


async def _failure(server: WebhookServer, path: str = "/x", timeout: float = 5) -> str:
    async with _calling() as caller:
        with pytest.raises(CallError) as failed:
            await caller.call(WebhookTarget.of(server.client_config(path)), REVIEW, timeout)
    return str(failed.value)


async def test_a_connection_is_kept_for_the_next_call() -> None:
    async with webhook_server() as server, _calling() as caller:
        for _ in range(3):
            assert await caller.call(WebhookTarget.of(server.client_config("/x")), REVIEW, 5) == ANSWER
        assert server.listening.statistics().connections == 1
        assert [path for path, _ in server.reviews] == ["/x"] * 3


async def test_a_webhook_of_a_program_in_another_process_is_not_looked_up() -> None:
    endpoint = WebhookTarget.of({"url": f"https://{IN_PROCESS_HOST}/convert"})
    async with _calling() as caller:
        with pytest.raises(CallError, match="only in the process of its program, and this is another one: run the"):
            await caller.call(endpoint, REVIEW, 5)


async def test_a_kept_connection_that_the_server_closes_is_replaced() -> None:
    answer = _response(json.dumps(ANSWER).encode())
    async with raw_server(answer, None, answer, keep=True) as server, _calling() as caller:
        endpoint = WebhookTarget.of(server.client_config("/x"))
        assert await caller.call(endpoint, REVIEW, 5) == ANSWER
        assert await caller.call(endpoint, REVIEW, 5) == ANSWER  # on a second connection


async def test_a_closed_connection_is_replaced_although_another_call_opens_one() -> None:
    class Client:
        """Its first connection was kept, and is closed."""

        calls = 0

        async def request(self, *_: object) -> str:
            self.calls += 1
            if self.calls == 1:
                raise ConnectionLost("closed", reused=True)
            return "answer"

    client = Client()
    assert await caller_module._send(client, ()) == "answer"  # type: ignore[arg-type,comparison-overlap]
    assert client.calls == 2


@pytest.mark.parametrize("lost", [ConnectionLost("new"), ConnectionLost("slow", reused=True, timed_out=True)])
async def test_a_new_connection_and_a_timeout_are_not_tried_again(lost: ConnectionLost) -> None:
    class Client:
        async def request(self, *_: object) -> None:
            raise lost

    with pytest.raises(ConnectionLost):
        await caller_module._send(Client(), ())  # type: ignore[arg-type]


async def test_a_service_is_called_at_an_address_of_its_endpoints_by_its_own_name() -> None:
    storage = MemoryStorage()
    async with webhook_server("hooks.system.svc") as server, _calling(storage) as caller:
        await _service(storage, server.listening.port)
        service = {"namespace": "system", "name": "hooks", "path": "/x"}
        endpoint = WebhookTarget.of({"service": service, "caBundle": server.ca_bundle})
        assert await caller.call(endpoint, REVIEW, 5) == ANSWER
        assert server.hosts == ["hooks.system.svc:443"]


async def test_a_certificate_for_another_name_is_refused() -> None:
    storage = MemoryStorage()
    async with webhook_server("other.system.svc") as server, _calling(storage) as caller:
        await _service(storage, server.listening.port)
        service = {"namespace": "system", "name": "hooks"}
        with pytest.raises(CallError, match="tls: failed to verify certificate: x509: Hostname mismatch"):
            await caller.call(WebhookTarget.of({"service": service, "caBundle": server.ca_bundle}), REVIEW, 5)


async def test_a_certificate_of_another_authority_is_refused() -> None:
    async with webhook_server() as server, webhook_server() as other, _calling() as caller:
        config = {"url": f"{server.url}/x", "caBundle": other.ca_bundle}
        with pytest.raises(CallError, match="tls: failed to verify certificate: x509: "):
            await caller.call(WebhookTarget.of(config), REVIEW, 5)


async def test_a_bundle_that_has_no_certificate_fails_the_call() -> None:
    async with _calling() as caller:
        with pytest.raises(CallError, match="unable to load root certificates"):
            await caller.call(WebhookTarget.of({"url": "https://127.0.0.1:1/x", "caBundle": "bm90IFBFTQ=="}), REVIEW, 5)


async def test_a_server_that_is_down_refuses_the_connection() -> None:
    with socket.socket() as bound:  # bound, but it does not listen
        bound.bind(("127.0.0.1", 0))
        server = WebhookServer()
        server.url = f"https://127.0.0.1:{bound.getsockname()[1]}"
        address = server.url.removeprefix("https://")
        expected = f'Post "{server.url}/x?timeout=5s": dial tcp {address}: connect: connection refused'
        assert await _failure(server) == expected


async def test_a_url_with_a_port_that_does_not_exist_fails_the_call_alone() -> None:
    server = WebhookServer()
    server.url = "https://127.0.0.1:99999"
    assert (await _failure(server)).endswith("dial tcp: the port of https://127.0.0.1:99999/x is not a port")


async def test_a_server_that_does_not_answer_fails_within_the_timeout() -> None:
    async with webhook_server() as server:
        server.behaviours["/x"] = lambda review: None
        assert await _failure(server, timeout=0.1) == f'Post "{server.url}/x?timeout=1s": context deadline exceeded'


async def test_a_server_that_does_not_finish_the_handshake_fails_within_the_timeout() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = WebhookServer()
        server.url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        assert (await _failure(server, timeout=0.1)).endswith("context deadline exceeded")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", 'x?timeout=5s": EOF'),
        (_response(b"{}", 50), 'x?timeout=5s": unexpected EOF'),
        (_response(b"hello"), "couldn't get version/kind; json parse error"),
        (_response(b""), "0-length response with status code: 200 and content type: application/json"),
        (_response(b"[]"), "json: cannot unmarshal array into Go value of type struct"),
        (
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n",
            "the server could not find the requested resource",
        ),
        (b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", "the server responded with the status code 302"),
        (b"HTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\nx", 'an error on the server ("unknown") has prevented'),
        (
            b"HTTP/1.1 500 No\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\noops",
            'an error on the server ("oops") has prevented',
        ),
        (b"nonsense\r\n\r\n", "the response is malformed"),
    ],
)
async def test_a_server_that_answers_wrongly_fails_with_the_reason(answer: bytes, reason: str) -> None:
    async with raw_server(answer) as server:
        assert reason in await _failure(server)


async def test_an_answer_that_is_too_large_is_not_read() -> None:
    async with webhook_server() as server:
        server.behaviours["/x"] = lambda review: ANSWER | {"more": "x" * 10_000_000}
        assert str(MAX_ANSWER) in await _failure(server, timeout=30)


@pytest.mark.parametrize(
    ("service", "port", "reason"),
    [
        (None, 443, 'service "hooks" not found'),
        ({"ports": [{"port": 80}]}, 443, 'no service port 443 found for service "hooks"'),
        ({"type": "ExternalName", "externalName": "127.0.0.1"}, 1, "dial tcp 127.0.0.1:1: connect: connection refused"),
        ({"ports": [{"port": 443}]}, 443, "; the service system/hooks has no ready address in an EndpointSlice or an"),
    ],
)
async def test_a_service_that_leads_nowhere_fails_with_the_reason(
    service: dict[str, Any] | None, port: int, reason: str
) -> None:
    storage = MemoryStorage()
    if service is not None:
        await _put(storage, "core/services/system/hooks", {"spec": service})
    async with _calling(storage) as caller:
        reference = {"namespace": "system", "name": "hooks", "port": port}
        with pytest.raises(CallError) as failed:
            await caller.call(WebhookTarget.of({"service": reference}), REVIEW, 5)
    assert reason in str(failed.value)


async def test_a_webhook_of_the_same_program_that_raises_has_failed() -> None:
    async def broken(review: Document) -> Document:
        raise KeyError("x")

    local = LocalWebhooks()
    local.add("https://h/x", broken)
    caller = WebhookCaller(local, Services(MemoryStorage(), "/t/"))
    with pytest.raises(CallError) as failed:
        await caller.call(WebhookTarget.of({"url": "https://h/x"}), REVIEW, 5)
    assert str(failed.value) == ("Post \"https://h/x?timeout=5s\": the webhook of this program failed: KeyError: 'x'")


@pytest.mark.virtual_time
async def test_a_webhook_of_the_same_program_that_waits_is_cancelled() -> None:
    async def slow(review: Document) -> Document:
        await asyncio.Event().wait()
        return review

    local = LocalWebhooks()
    local.add("https://h/x", slow)
    caller = WebhookCaller(local, Services(MemoryStorage(), "/t/"))
    with pytest.raises(CallError, match="context deadline exceeded"):
        await caller.call(WebhookTarget.of({"url": "https://h/x"}), REVIEW, 10)


async def test_a_webhook_of_the_same_program_cannot_change_what_is_written() -> None:
    async def greedy(review: Document) -> Document:
        review["request"]["object"]["data"] = "mine"
        return allowed(review)

    local = LocalWebhooks()
    local.add("https://h/x", greedy)
    caller = WebhookCaller(local, Services(MemoryStorage(), "/t/"))
    review = REVIEW | {"request": {"uid": "1", "object": {}}}
    await caller.call(WebhookTarget.of({"url": "https://h/x"}), review, 5)
    assert review["request"] == {"uid": "1", "object": {}}


async def _service(storage: MemoryStorage, port: int) -> None:
    await _put(storage, "core/services/system/hooks", {"spec": {"ports": [{"name": "https", "port": 443}]}})
    metadata = {"labels": {"kubernetes.io/service-name": "hooks"}}
    endpoints = [
        {"addresses": ["127.0.0.9"], "conditions": {"ready": False}},
        {"addresses": ["127.0.0.1"], "conditions": {"ready": True}},
    ]
    ports = [{"name": "metrics", "port": 1}, {"name": "https", "port": port}]
    await _put(
        storage,
        "discovery.k8s.io/endpointslices/system/hooks-1",
        {"metadata": metadata, "endpoints": endpoints, "ports": ports},
    )


async def _put(storage: MemoryStorage, key: str, document: Document) -> None:
    await storage.commit(Put(f"/t/{key}", json.dumps(document).encode()))
