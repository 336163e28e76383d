"""The manager's HTTP endpoints: metrics and health probes."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from pilotage.errors import InvalidDefinition
from pilotage.http import certificates, tls
from pilotage.http.health import text_response
from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.manager.errors import AddressUnavailable
from pilotage.manager.runnables import Group
from pilotage.manager.supervision.supervisor import Supervisor
from pilotage.net.sockets import address_text, parse_bind_address
from pilotage.telemetry import process
from pilotage.telemetry.logs import logger
from pilotage.telemetry.metrics import CONTENT_TYPE, REGISTRY

if TYPE_CHECKING:
    from pilotage.webhook.certificates.source import CertificateSource

METRICS_LOGGER = "controller-runtime.metrics"
"""The name under which controller-runtime logs that its metrics server starts."""

_LIMITS = HTTPLimits(connections=256, body_bytes=64 * 1024, grace_seconds=5.0)


class Server:
    """An HTTP server as a runnable, for the manager's endpoints and for users' own.

    `bind_address` is `HOST:PORT`, as in `127.0.0.1:8080`, `[::1]:8080`, `:8080` (every address) or `127.0.0.1:0` (any
    free port). With `only_serve_when_leader` it is served only in the leader. `log_name` names its logger.
    With a `supervisor`, the server and its handler run on the supervisor's loop. With a `certificate`, it is HTTPS.
    """

    def __init__(
        self,
        name: str,
        handler: Handler,
        bind_address: str,
        *,
        only_serve_when_leader: bool = False,
        log_name: str = "pilotage.manager",
        supervisor: Supervisor | None = None,
        certificate: ServingCertificate | None = None,
    ) -> None:
        address = parse_bind_address(bind_address)
        if address is None:
            raise InvalidDefinition(f"{name} needs a bind address, not {bind_address!r}")
        self.name = name
        self.bind_address = bind_address
        self.runnable_group = Group.LEADER_ELECTION if only_serve_when_leader else Group.HTTP_SERVERS
        self._handler = handler
        self._log = logger(log_name)
        self._supervisor = supervisor
        self._certificate = certificate
        self._bind = address
        self._opened: AsyncExitStack | None = None
        self._address: tuple[str, int] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens, with the actual port."""
        if self._address is None:
            raise InvalidDefinition(f"{self.name} is not served yet")
        return self._address

    async def open(self) -> None:
        """Bind and start to serve. Raises AddressUnavailable; a second call does nothing."""
        if self._opened is None:
            await self._run(self._open())

    async def _open(self) -> None:
        from pilotage.http.server import serve  # loaded on use: few command-line tools serve anything

        async with AsyncExitStack() as stack:
            try:
                context = None if self._certificate is None else await self._certificate.open(self._bind[0])
                server = await stack.enter_async_context(serve(self._handler, *self._bind, ssl=context, limits=_LIMITS))
            except (OSError, OverflowError) as error:
                reason = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]  # asyncio's addition
                raise AddressUnavailable(
                    f"the {self.name} cannot listen on {address_text(*self._bind)}: {reason}; choose another address"
                ) from error
            self._address = server.address
            self._opened = stack.pop_all()

    async def start(self) -> None:
        """Serve until cancelled."""
        await self.open()
        self._log.info(f"Starting {self.name}", bind_address=address_text(*self.address))
        try:
            await (asyncio.Event().wait() if self._certificate is None else self._certificate.run())
        finally:
            await self.close()

    async def close(self) -> None:
        """Stop serving, after the active requests."""
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await self._run(opened.aclose())

    async def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        await (coroutine if self._supervisor is None else self._supervisor.run(coroutine))


class ServingCertificate:
    """The certificate of a server: made in memory, or of a source that keeps it current."""

    def __init__(self, source: CertificateSource | None = None) -> None:
        self._source = source
        self._context: ssl.SSLContext | None = None

    async def open(self, host: str) -> ssl.SSLContext:
        """The context to serve with. Raises if there is no certificate."""
        self._context = tls.server_context()
        if self._source is None:
            made = certificates.self_signed(host or "localhost")
            tls.load_pair(self._context, made.certificate, made.key)
        else:
            await self._source.open()
            self._load()
        return self._context

    async def run(self) -> None:
        """Keep it current until cancelled."""
        await (asyncio.Event().wait() if self._source is None else self._source.run(self._load))

    def _load(self) -> None:
        assert self._source is not None
        assert self._context is not None
        tls.load_pair(self._context, self._source.certificate.certificate, self._source.certificate.key)


class Routes:
    """Passes a request to the handler of its path, or of the longest path above it that ends in `/`; else 404.

    The map is read for each request, so it may change.
    """

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        path = request.target.partition("?")[0]
        handler = self._handlers.get(path)
        if handler is None:
            above = [known for known in self._handlers if known.endswith("/") and path.startswith(known)]
            if not above:
                return text_response(404, "404 page not found")
            handler = self._handlers[max(above, key=len)]
        return await handler(request)


def metrics_handler() -> Handler:
    """Serves all metrics in Prometheus' text format, with metrics of the process and of Python."""
    process.register()

    async def answer(request: HTTPRequest) -> HTTPResponse:
        if request.method not in ("GET", "HEAD"):
            return text_response(405, "method not allowed", ("Allow", "GET, HEAD"))
        return HTTPResponse(200, (("Content-Type", CONTENT_TYPE),), REGISTRY.render().encode())

    return answer
