"""The HTTP endpoints of the server: metrics for Prometheus, probes for the kubelet, and the version."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from pilotage.device.server.services.health import HealthService
from pilotage.errors import InvalidDefinition
from pilotage.http.health import text_response
from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse
from pilotage.http.server import Server, serve
from pilotage.net.sockets import parse_bind_address
from pilotage.telemetry import process
from pilotage.telemetry.metrics import CONTENT_TYPE, REGISTRY
from pilotage.version import installed_version

_LIMITS = HTTPLimits(connections=64, body_bytes=64 * 1024, grace_seconds=1.0)
_METRICS = ("/metrics", "/version")
_PROBES = ("/healthz", "/livez", "/readyz", "/version")


@asynccontextmanager
async def endpoints(
    health: HealthService, *, metrics_address: str = "", health_address: str = ""
) -> AsyncIterator[list[Server]]:
    """Serve metrics and health at their addresses (`HOST:PORT`; empty or 0: not served) for the length of the block.

    Both may have the same address.
    """
    paths: dict[tuple[str, int], tuple[str, ...]] = {}
    for address, wanted in ((metrics_address, _METRICS), (health_address, _PROBES)):
        if bound := parse_bind_address(address):
            paths[bound] = (*paths.get(bound, ()), *wanted)
    async with AsyncExitStack() as stack:
        servers = []
        for (host, port), served in paths.items():
            try:
                server = await stack.enter_async_context(serve(handler(health, served), host, port, limits=_LIMITS))
            except (OSError, OverflowError) as error:
                raise InvalidDefinition(f"cannot listen at {host}:{port}: {error}; choose another address") from error
            servers.append(server)
        yield servers


def handler(health: HealthService, paths: Iterable[str]) -> Handler:
    """An HTTP handler of these paths."""
    served = frozenset(paths)
    process.register()

    async def answer(request: HTTPRequest) -> HTTPResponse:
        path = request.target.partition("?")[0].rstrip("/")
        if path not in served:
            return text_response(404, "404 page not found\n")
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "method not allowed\n", ("allow", "GET, HEAD"))
        match path:
            case "/metrics":
                return HTTPResponse(200, [("content-type", CONTENT_TYPE)], REGISTRY.render().encode())
            case "/version":
                return HTTPResponse(200, [("content-type", "application/json")], msgspec.json.encode(build()))
            case "/readyz":
                if not health.is_ready:
                    return text_response(503, "not ready: no provider has reported its GPUs yet\n")
        return text_response(200, "ok\n")

    return answer


def build() -> dict[str, str]:
    """Name and version of the server."""
    return {"name": "pilotage", "version": installed_version("0")}
