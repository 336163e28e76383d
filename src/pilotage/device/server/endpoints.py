"""The HTTP endpoints of the server: metrics for Prometheus, probes for the kubelet, and the version."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from pilotage.device.server.services.health import HealthService
from pilotage.errors import InvalidDefinition
from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse
from pilotage.http.server import Server, serve
from pilotage.net.sockets import parse_bind_address
from pilotage.telemetry import process
from pilotage.telemetry.metrics import CONTENT_TYPE, REGISTRY, Registry
from pilotage.version import installed_version

_LIMITS = HTTPLimits(connections=64, body_bytes=64 * 1024, grace_seconds=1.0)
_METRICS = ("/metrics", "/version")
_PROBES = ("/healthz", "/livez", "/readyz", "/version")


@asynccontextmanager
async def endpoints(
    health: HealthService, *, metrics_address: str = "", health_address: str = "", registry: Registry = REGISTRY
) -> AsyncIterator[list[Server]]:
    """Serve metrics and health at their addresses (`HOST:PORT`; empty or 0: not served) for the length of the block.

    Both may have the same address.
    """
    paths: dict[tuple[str, int], tuple[str, ...]] = {}
    for address, wanted in ((metrics_address, _METRICS), (health_address, _PROBES)):
        if place := parse_bind_address(address):
            paths[place] = (*paths.get(place, ()), *wanted)
    async with AsyncExitStack() as stack:
        servers = []
        for (host, port), served in paths.items():
            try:
                server = await stack.enter_async_context(
                    serve(handler(health, served, registry), host, port, limits=_LIMITS)
                )
            except (OSError, OverflowError) as error:
                raise InvalidDefinition(f"cannot listen at {host}:{port}: {error}; choose another address") from error
            servers.append(server)
        yield servers


def handler(health: HealthService, paths: Iterable[str], registry: Registry = REGISTRY) -> Handler:
    """An HTTP handler of these paths."""
    served = frozenset(paths)
    process.register(registry)

    async def answer(request: HTTPRequest) -> HTTPResponse:
        path = request.target.partition("?")[0].rstrip("/")
        if path not in served:
            return _text(404, "404 page not found")
        if request.method not in ("GET", "HEAD"):
            return HTTPResponse(405, [("content-type", "text/plain"), ("allow", "GET, HEAD")], b"method not allowed\n")
        match path:
            case "/metrics":
                return HTTPResponse(200, [("content-type", CONTENT_TYPE)], registry.render().encode())
            case "/version":
                return HTTPResponse(200, [("content-type", "application/json")], msgspec.json.encode(build()))
            case "/readyz":
                return (
                    _text(200, "ok")
                    if health.is_ready
                    else _text(503, "not ready: no provider has reported its GPUs yet")
                )
        return _text(200, "ok")

    return answer


def build() -> dict[str, str]:
    """Name and version of the server."""
    return {"name": "pilotage", "version": installed_version("0")}


def _text(status: int, text: str) -> HTTPResponse:
    return HTTPResponse(status, [("content-type", "text/plain; charset=utf-8")], f"{text}\n".encode())
