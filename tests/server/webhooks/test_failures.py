"""A webhook server that fails in each way: the failure policy decides, within the timeout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from pilotage.errors import BadRequest, InternalError, Timeout
from pilotage.http import messages as http
from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb, WriteOptions
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.registry import Registry
from pilotage.storage.interface import Put
from pilotage.storage.memory import MemoryStorage
from tests.server.registries import CONFIG_MAPS, Api

from .servers import WebhookServer, allowed, denied, raw_server, webhook_server

GROUP = "admissionregistration.k8s.io"
KINDS = {
    "Mutating": GroupVersionResource(GROUP, "v1", "mutatingwebhookconfigurations"),
    "Validating": GroupVersionResource(GROUP, "v1", "validatingwebhookconfigurations"),
}


@asynccontextmanager
async def cluster() -> AsyncIterator[Api]:
    async with Registry(cluster_context(MemoryStorage())) as registry:
        yield Api(registry)


def webhook(client_config: Document, **more: Any) -> Document:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    return {
        "name": "a.example.com.test",
        "clientConfig": client_config,
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    } | more


async def install(api: Api, kind: str, *webhooks: Document, name: str = "hooks") -> None:
    await api.create(KINDS[kind], {"metadata": {"name": name}, "webhooks": list(webhooks)})


@asynccontextmanager
async def _down() -> AsyncIterator[WebhookServer]:
    async with webhook_server() as server:
        url, bundle = server.url, server.ca_bundle
    server.url, server.ca_bundle = url, bundle
    yield server


@asynccontextmanager
async def _answering(behaviour: Callable[[Document], Any]) -> AsyncIterator[WebhookServer]:
    async with webhook_server() as server:
        server.behaviours["/x"] = behaviour
        yield server


def _half_closed() -> AbstractAsyncContextManager[WebhookServer]:
    return raw_server(*[b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"] * 2)


FAILURES: dict[str, Callable[[], AbstractAsyncContextManager[WebhookServer]]] = {
    "down": _down,
    "half closed": _half_closed,
    "closed": lambda: raw_server(b"", b""),
    "wrong uid": lambda: _answering(lambda review: allowed(review, uid="other")),
    "bad patch": lambda: _answering(lambda review: allowed(review, patch="e30=", patchType="JSONPatch")),
    "10 MB": lambda: _answering(lambda review: allowed(review) | {"more": "x" * 10_000_000}),
    "wrong kind": lambda: _answering(lambda review: allowed(review) | {"kind": "Other"}),
    "wrong version": lambda: _answering(lambda review: allowed(review) | {"apiVersion": "admission.k8s.io/v2"}),
    "impossible code": lambda: _answering(lambda review: denied(review, code=1000)),
    "no JSON": lambda: _answering(lambda review: b"hello"),
    "error": lambda: _answering(lambda review: (500, b"oops")),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_the_failure_policy_decides_about_a_server_that_fails(failure: str) -> None:
    async with cluster() as api, FAILURES[failure]() as server:
        config = server.client_config("/x")
        await install(api, "Mutating", webhook(config), name="fail")
        with pytest.raises(InternalError, match=r'failed calling webhook "a\.example'):
            await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        assert await api.names(CONFIG_MAPS, "default") == []
        await api.delete(KINDS["Mutating"], "fail")
        await install(api, "Mutating", webhook(config, failurePolicy="Ignore"), name="ignore")
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        assert await api.names(CONFIG_MAPS, "default") == ["a"]


@pytest.mark.virtual_time
@pytest.mark.parametrize("kind", KINDS)
async def test_a_slow_webhook_costs_no_more_than_its_timeout(kind: str) -> None:
    async def slow(review: Document) -> Document:
        await asyncio.sleep(60)
        return allowed(review)

    async with cluster() as api:
        api.registry.local_webhooks.add("https://slow.test/x", slow)
        config = {"url": "https://slow.test/x"}
        loop = asyncio.get_running_loop()
        await install(api, kind, webhook(config, timeoutSeconds=3), name="fail")
        begin = loop.time()
        with pytest.raises(InternalError, match=r"https://slow.test/x\?timeout=3s\": context deadline exceeded"):
            await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        assert loop.time() - begin == pytest.approx(3)
        await api.delete(KINDS[kind], "fail")
        await install(api, kind, webhook(config, timeoutSeconds=2, failurePolicy="Ignore"), name="ignore")
        begin = loop.time()
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        assert loop.time() - begin == pytest.approx(2)


@pytest.mark.virtual_time
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_all_webhooks_of_a_write_have_34_seconds_whatever_their_failure_policies_are(policy: str) -> None:
    asked: list[str] = []

    async def slow(review: Document) -> Document:
        asked.append(review["request"]["name"])
        await asyncio.sleep(15)
        return allowed(review)

    async with cluster() as api:
        api.registry.local_webhooks.add("https://slow.test/x", slow)
        each = webhook({"url": "https://slow.test/x"}, timeoutSeconds=30, failurePolicy=policy)
        await install(api, "Mutating", *[each | {"name": f"{name}.example.com.test"} for name in "abcd"])
        begin = asyncio.get_running_loop().time()
        with pytest.raises(Timeout, match="did not complete within requested timeout - context deadline exceeded"):
            await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        assert asyncio.get_running_loop().time() - begin == pytest.approx(34)
        assert asked == ["a"] * 3
        assert await api.names(CONFIG_MAPS, "default") == []


@pytest.mark.virtual_time
async def test_a_client_can_shorten_the_time_for_the_webhooks_of_its_request() -> None:
    async def slow(review: Document) -> Document:
        await asyncio.sleep(15)
        return allowed(review)

    async with cluster() as api:
        api.registry.local_webhooks.add("https://slow.test/x", slow)
        await install(api, "Validating", webhook({"url": "https://slow.test/x"}, timeoutSeconds=30))
        handler = HTTPHandler(api.registry, "token")
        begin = asyncio.get_running_loop().time()
        answers = [await post(handler, f"timeout={timeout}") for timeout in ("7s", "0s", "abc", "5")]
        assert [answer.status for answer in answers] == [504, 201, 400, 400]
        texts = [msgspec.json.decode(answer.body).get("message") for answer in answers]
        assert texts[0] == "Timeout: request did not complete within the allotted timeout"
        assert texts[2] == 'invalid timeout specified in the request URL - time: invalid duration "abc"'
        assert texts[3] == 'invalid timeout specified in the request URL - time: missing unit in duration "5"'
        assert asyncio.get_running_loop().time() - begin == pytest.approx(7 + 15)


async def post(handler: HTTPHandler, query: str) -> http.HTTPResponse:
    headers = http.Headers([("authorization", "Bearer token"), ("content-type", "application/json")])
    target = f"/api/v1/namespaces/default/configmaps?{query}"
    answer = await handler(http.HTTPRequest("POST", target, headers, b'{"metadata":{"name":"a"}}'))
    assert isinstance(answer, http.HTTPResponse)
    return answer


async def test_a_webhook_with_side_effects_refuses_dry_runs() -> None:
    """Such a webhook cannot be created any more; one from an older server may be stored."""
    async with cluster() as api:
        await install(api, "Validating", webhook({"url": "https://note.test/x"}))
        storage = api.registry.context.storage
        (entry,) = (await storage.list(f"/default/{GROUP}/validatingwebhookconfigurations/")).entries
        await storage.commit(Put(entry.key, entry.value.replace(b'"sideEffects":"None"', b'"sideEffects":"Some"')))
        body = b'{"metadata":{"name":"a"}}'
        create = APIRequest(Verb.CREATE, CONFIG_MAPS, namespace="default", body=body, write=WriteOptions(dry_run=True))
        with pytest.raises(BadRequest, match=r'admission webhook "a\.example.*" does not support dry run'):
            await api.registry.call(create)


@pytest.mark.virtual_time
async def test_validating_webhooks_are_called_at_the_same_time() -> None:
    async def slow(review: Document) -> Document:
        await asyncio.sleep(2)
        return allowed(review, warnings=["slow"])

    async with cluster() as api:
        api.registry.local_webhooks.add("https://slow.test/x", slow)
        hooks = [webhook({"url": "https://slow.test/x"}, name=f"h{number}.example.com.test") for number in range(5)]
        await install(api, "Validating", *hooks)
        begin = asyncio.get_running_loop().time()
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
        assert asyncio.get_running_loop().time() - begin == pytest.approx(2)


async def test_a_configuration_has_its_effect_at_once_and_no_longer_than_it_exists() -> None:
    calls: list[str] = []

    async def note(review: Document) -> Document:
        calls.append(review["request"]["name"])
        return allowed(review)

    async with cluster() as api:
        api.registry.local_webhooks.add("https://note.test/x", note)
        await api.create(CONFIG_MAPS, {"metadata": {"name": "before"}}, "default")
        await install(api, "Validating", webhook({"url": "https://note.test/x"}))
        await api.create(CONFIG_MAPS, {"metadata": {"name": "with"}}, "default")
        await api.delete(KINDS["Validating"], "hooks")
        await api.create(CONFIG_MAPS, {"metadata": {"name": "after"}}, "default")
    assert calls == ["with"]


async def test_a_request_of_the_program_itself_has_the_name_of_the_server() -> None:
    users: list[Document] = []

    async def note(review: Document) -> Document:
        users.append(review["request"]["userInfo"])
        return allowed(review)

    async with cluster() as api:
        api.registry.local_webhooks.add("https://note.test/x", note)
        await install(api, "Mutating", webhook({"url": "https://note.test/x"}))
        await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, "default")
    assert users == [{"username": "system:apiserver", "groups": ["system:authenticated", "system:masters"]}]
