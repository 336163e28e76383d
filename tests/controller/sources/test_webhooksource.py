from __future__ import annotations

import asyncio
import json

import pytest

import pilotage as pt
from pilotage.http import tls
from pilotage.http.client import HTTPClient
from pilotage.http.messages import HTTPRequest


async def pushed(call: HTTPRequest) -> list[pt.Request]:
    if call.headers.get("x-token") != "secret":
        raise pt.errors.Unauthorized("a wrong token")
    return [pt.Request(name) for name in json.loads(call.body)]


async def test_calls_of_another_system_become_requests_of_a_controller() -> None:
    seen: list[str] = []
    arrived = asyncio.Event()
    server = pt.webhook.WebhookServer(pt.webhook.WebhookServerOptions("127.0.0.1", 0))

    async def reconcile(request: pt.Request) -> None:
        seen.append(request.name)
        arrived.set()

    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(webhook_server=server)) as manager:
        source = pt.controller.WebhookSource(manager.webhook_server, "/hooks/push", pushed)
        controller = pt.ControllerBuilder(manager).named("builds").watches_raw_source(source).complete(reconcile)
        await manager.run_until_idle(30)
        async with HTTPClient(*server.address, ssl=tls.client_context(verify=False)) as client:

            async def post(body: bytes, token: str = "secret", method: str = "POST") -> tuple[int, str]:
                answer = await client.request(method, "/hooks/push?x=1", [("X-Token", token)], body)
                return answer.status, answer.body.decode()

            assert await post(b'["a", "b"]') == (202, "accepted: 2")
            await arrived.wait()
            await manager.run_until_idle(30)
            assert seen == ["a", "b"]
            assert await post(b'["c"]', token="wrong") == (401, "a wrong token")
            assert (await post(b"no JSON"))[0] == 400
            assert (await post(b"3"))[0] == 500
            assert (await post(b"", method="GET"))[0] == 405
            assert (await post(b" " * (1024 * 1024 + 1)))[0] == 413
            await controller.stop()
            assert (await post(b'["d"]'))[0] == 503
        assert seen == ["a", "b"]


@pytest.mark.virtual_time
async def test_a_call_before_the_controller_runs_is_to_be_repeated() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        source = pt.controller.WebhookSource(manager.webhook_server, "/hooks/push", pushed)
        answer = await source._answer(HTTPRequest("POST", "/hooks/push"))
        assert answer.status == 503
        assert ("Retry-After", "1") in answer.headers


@pytest.mark.virtual_time
async def test_a_path_is_used_once() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        pt.controller.WebhookSource(manager.webhook_server, "/hooks/push", pushed)
        with pytest.raises(pt.InvalidDefinition, match="can't register duplicate path: /hooks/push"):
            pt.controller.WebhookSource(manager.webhook_server, "/hooks/push", pushed)
        with pytest.raises(pt.InvalidDefinition, match="must start with '/'"):
            pt.controller.WebhookSource(manager.webhook_server, "hooks", pushed)
