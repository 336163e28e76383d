"""The HTTP endpoints of a manager: its checks, the handlers beside its metrics, and the servers of both."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from pilotage.cluster.cluster import Cluster
from pilotage.errors import InvalidDefinition
from pilotage.http.health import Check, HealthHandler, ping
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse
from pilotage.manager.endpoints.origins import without_foreign_pages
from pilotage.manager.endpoints.readiness import readiness
from pilotage.manager.endpoints.server import METRICS_LOGGER, Routes, Server, ServingCertificate, metrics_handler
from pilotage.manager.lifecycle import Lifecycle
from pilotage.manager.options import ManagerOptions
from pilotage.manager.permissions import Permissions
from pilotage.manager.supervision.liveness import EVENT_LOOP
from pilotage.manager.supervision.probes import add_probe
from pilotage.manager.supervision.tasks import Supervision
from pilotage.net.sockets import parse_bind_address
from pilotage.telemetry.metrics import METRICS_PATH

if TYPE_CHECKING:
    from pilotage.manager.endpoints.explainer import Explainer

METRICS = "metrics server"
DEBUG = "debug server"
HEALTH = "health probe server"
WHY = "/debug/why"
"""What `pilotage why` asks: the stories of an object, and why it is not reconciled."""


class Endpoints:
    """Which checks and handlers there are; `open` serves them at the addresses of the options."""

    def __init__(
        self,
        options: ManagerOptions,
        lifecycle: Lifecycle,
        cluster: Cluster,
        permissions: Permissions,
        explainer: Callable[[], Explainer],
    ) -> None:
        self.healthz: dict[str, Check] = {}
        """The checks of users: whether the process should be restarted."""
        self.readyz: dict[str, Check] = {}
        """The checks of users: whether the process can do its work."""
        self.members: dict[str, Check] = {}
        """The checks of further clusters."""
        self._options = options
        self._lifecycle = lifecycle
        self._cluster = cluster
        self._permissions = permissions
        self._explainer = explainer
        self._handlers: dict[str, Handler] = {**options.metrics_extra_handlers, METRICS_PATH: metrics_handler()}
        self._servers: dict[str, Server] = {}

    def address(self, name: str) -> tuple[str, int]:
        """Where a server listens. Raises InvalidDefinition."""
        if name not in self._servers:
            raise InvalidDefinition(f"there is no {name}: its bind address is not set, or the manager is not open")
        return self._servers[name].address

    def add_handler(self, path: str, handler: Handler) -> None:
        """Serve a path beside the metrics. Raises InvalidDefinition."""
        if not path.startswith("/") or path in self._handlers:
            raise InvalidDefinition(f"{path!r} must start with '/' and not be in use")
        self._handlers[path] = handler

    def debug_handler(self) -> Handler:
        """The pages of the debug server, and what `pilotage why` asks."""
        from pilotage.manager.endpoints.debug import debug_handlers

        async def why(request: HTTPRequest) -> HTTPResponse:
            from pilotage.manager.endpoints.why import respond

            return await respond(self._explainer(), request)

        return Routes(debug_handlers({WHY: why}))

    def healthz_checks(self) -> dict[str, Check]:
        elector = self._lifecycle.elector
        own: dict[str, Check] = {} if elector is None else {"leaderElection": elector.check}
        return {**(self.healthz or {"ping": ping}), **own, EVENT_LOOP: ping}  # always passes: it runs on the loop

    def readyz_checks(self) -> dict[str, Check]:
        needs_permissions = self._options.readiness_needs_permissions
        return {
            **readiness(self._lifecycle, self.readyz),
            "cluster": self._cluster.check,
            **({"permissions": self._permissions.check} if needs_permissions else {}),
            **self.members,
            EVENT_LOOP: ping,
        }

    async def open(self, supervision: Supervision | None, add: Callable[[Server], None], exits: AsyncExitStack) -> None:
        """Bind now, so that an address in use is an error at the start of the program. `add` is given each server."""
        options = self._options
        servers: list[Server] = []
        if parse_bind_address(options.metrics_bind_address) is not None:
            servers.append(self._metrics_server())
        if supervision is not None:  # a loop without threads has no sockets either
            live, ready = options.liveness_endpoint_name.rstrip("/"), options.readiness_endpoint_name.rstrip("/")
            healthz = supervision.liveness(HealthHandler(live, self.healthz_checks))
            readyz = supervision.readiness(HealthHandler(ready, self.readyz_checks))
            exits.callback(add_probe(supervision.probe({"healthz": (live, healthz), "readyz": (ready, readyz)})))
            if parse_bind_address(options.debug_bind_address) is not None:
                servers.append(Server(DEBUG, without_foreign_pages(self.debug_handler()), options.debug_bind_address))
            if parse_bind_address(options.health_probe_bind_address) is not None:
                routes = Routes({live: healthz, f"{live}/": healthz, ready: readyz, f"{ready}/": readyz})
                address, supervisor = options.health_probe_bind_address, supervision.supervisor
                servers.append(Server(HEALTH, routes, address, supervisor=supervisor))
        for server in servers:
            await server.open()
            exits.push_async_callback(server.close)
            self._servers[server.name] = server
            add(server)

    def _metrics_server(self) -> Server:
        options = self._options
        handler: Handler = Routes(self._handlers)
        if options.metrics_filter is not None:
            handler = options.metrics_filter(self._cluster.client, handler)
        certificate = ServingCertificate(options.metrics_certificates) if options.metrics_secure_serving else None
        address = options.metrics_bind_address
        return Server(METRICS, handler, address, log_name=METRICS_LOGGER, certificate=certificate)
