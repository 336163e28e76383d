from __future__ import annotations

import json

import pytest

from pilotage.device.server.endpoints import endpoints, handler
from pilotage.device.server.services.health import HealthService
from pilotage.errors import InvalidDefinition
from pilotage.http.client import HTTPClient
from pilotage.http.messages import HTTPRequest, HTTPResponse

PATHS = ("/metrics", "/version", "/healthz", "/livez", "/readyz")


async def ask(health: HealthService, target: str, method: str = "GET") -> HTTPResponse:
    answer = await handler(health, PATHS)(HTTPRequest(method, target))
    assert isinstance(answer, HTTPResponse)
    return answer


async def test_ready_is_who_lets_readers_in_and_alive_is_who_answers() -> None:
    health = HealthService(["a.B"])
    assert (await ask(health, "/readyz")).status == 503
    assert (await ask(health, "/livez")).status == 200
    health.serve()
    assert (await ask(health, "/readyz?verbose")).status == 200
    health.shut_down()
    assert (await ask(health, "/readyz")).status == 503
    assert (await ask(health, "/healthz/")).status == 200


async def test_metrics_and_version_are_served() -> None:
    health = HealthService(["a.B"])
    text = (await ask(health, "/metrics")).body.decode()
    for name in (
        "grpc_server_started_total",
        "grpc_server_handled_total",
        "grpc_server_handling_seconds",
        "device_apiserver_service_status",
        "device_api_server_cache_gpus_total",
        "device_api_server_watch_streams_active",
        "device_api_server_watch_events_dropped_total",
        "device_api_server_provider_heartbeat_total",
    ):
        assert f"# TYPE {name} " in text
    assert json.loads((await ask(health, "/version")).body)["name"] == "pilotage"


async def test_nothing_else_is_there() -> None:
    health = HealthService(["a.B"])
    assert (await ask(health, "/")).status == 404
    assert (await ask(health, "/metrics", "POST")).status == 405


async def test_one_address_may_serve_both_and_each_serves_its_own() -> None:
    health = HealthService(["a.B"])
    async with endpoints(health, metrics_address="127.0.0.1:0", health_address="0") as servers:
        (server,) = servers
        async with HTTPClient(*server.address) as client:
            assert (await client.request("GET", "/metrics")).status == 200
            assert (await client.request("GET", "/readyz")).status == 404
        async with endpoints(health, metrics_address="", health_address="") as none:
            assert none == []
        taken = f"127.0.0.1:{server.port}"
        with pytest.raises(InvalidDefinition, match="choose another"):
            async with endpoints(health, metrics_address=taken):
                pass
