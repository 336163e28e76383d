"""The servers of a manager: metrics, probes, debugging, the live page, webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pilotage.errors import InvalidDefinition
from pilotage.manager.errors import AlreadyStarted

if TYPE_CHECKING:
    from pilotage.cluster.cluster import Cluster
    from pilotage.http.health import Check
    from pilotage.http.messages import Handler
    from pilotage.manager.endpoints.endpoints import Endpoints
    from pilotage.manager.lifecycle import Lifecycle
    from pilotage.manager.options import ManagerOptions
    from pilotage.manager.runnables import AnyRunnable
    from pilotage.webhook.environment import WebhookEnvironment
    from pilotage.webhook.server import WebhookServer


class Servers:
    """The part of a manager that is about its servers."""

    cluster: Cluster
    options: ManagerOptions
    _lifecycle: Lifecycle
    _endpoints: Endpoints
    _webhook_server: WebhookServer | None = None

    def add(self, runnable: AnyRunnable) -> None:
        """Add a runnable. After `start` it starts at once; during a shutdown it is refused (ManagerStopped)."""
        self._lifecycle.add(runnable)

    @property
    def metrics_address(self) -> tuple[str, int]:
        """The address of the metrics server."""
        return self._endpoints.address("metrics server")

    @property
    def health_probe_address(self) -> tuple[str, int]:
        """The address of the health probe server."""
        return self._endpoints.address("health probe server")

    @property
    def debug_address(self) -> tuple[str, int]:
        """The address of the debug server."""
        return self._endpoints.address("debug server")

    @property
    def debug_handler(self) -> Handler:
        """The handler of the debug server, to serve it elsewhere: it shows names and values of objects, and reads
        only."""
        return self._endpoints.debug_handler()

    @property
    def webhook_server(self) -> WebhookServer:
        """The server of the program's webhooks: that of the options, else one that is made on first use."""
        if self._webhook_server is None:
            from pilotage.webhook.server import WebhookServer

            server = self.options.webhook_server or WebhookServer(self.options.webhook_server_options)
            server.attach(self._webhook_environment)
            self.add(server)
            self._webhook_server = server
        return self._webhook_server

    def _webhook_environment(self) -> WebhookEnvironment:
        """Where webhooks are registered: a remote API server, or the embedded one, which calls them in process."""
        from pilotage.webhook.environment import WebhookEnvironment

        cluster = self.cluster
        local = None if cluster.server_url else cluster.registry.local_webhooks
        return WebhookEnvironment(
            cluster.client, cluster.clock, local, cluster.server_url, cluster.namespace, cluster.conversions
        )

    def add_healthz_check(self, name: str, check: Check) -> None:
        """Add a check to `/healthz`: whether the process should be restarted. Call it before the start."""
        self._add_check(self._endpoints.healthz, name, check)

    def add_readyz_check(self, name: str, check: Check) -> None:
        """Add a check to `/readyz`: whether the process can do its work. Call it before the start."""
        self._add_check(self._endpoints.readyz, name, check)

    def add_metrics_server_extra_handler(self, path: str, handler: Handler) -> None:
        """Serve a path beside the metrics; a path that ends in `/` includes all paths below. Call it before the
        start."""
        self._check_not_started(f"the handler of {path}")
        self._endpoints.add_handler(path, handler)

    def _add_check(self, checks: dict[str, Check], name: str, check: Check) -> None:
        self._check_not_started(f"the check {name}")
        if name in checks or not name or "/" in name:
            raise InvalidDefinition(f"{name!r} is not a valid name for a check: it is in use, empty or has a '/'")
        checks[name] = check

    def _check_not_started(self, what: str) -> None:
        if self._lifecycle.launched:
            raise AlreadyStarted(f"{what} cannot be added: the manager has started")
