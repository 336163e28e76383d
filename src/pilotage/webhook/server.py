"""The webhook server: serves webhooks over HTTPS or in process, and registers them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pilotage.errors import InvalidDefinition
from pilotage.http import tls
from pilotage.http.messages import Handler
from pilotage.meta.documents import Document
from pilotage.server.webhooks.local import IN_PROCESS_HOST
from pilotage.telemetry.logs import logger
from pilotage.webhook.addresses import HostAddress
from pilotage.webhook.conversion.declaration import ConversionDeclaration
from pilotage.webhook.conversion.webhook import PATH as CONVERSION_PATH
from pilotage.webhook.conversion.webhook import ConversionWebhook
from pilotage.webhook.endpoint import WebhookEndpoint
from pilotage.webhook.environment import WebhookEnvironment
from pilotage.webhook.options import DISABLED, WebhookServerOptions
from pilotage.webhook.registration import Registrable
from pilotage.webhook.running import Contents, Running
from pilotage.webhook.webhook import Webhook

log = logger("controller-runtime.webhook")

_CHECK_SECONDS = 10.0


class WebhookServer:
    """Serves webhooks at paths; a runnable of the manager, which every replica runs.

    It serves before it registers, and registers before the manager is ready.
    """

    name = "webhook server"
    runnable_group = "webhooks"
    needs_leader_election = False

    def __init__(self, options: WebhookServerOptions | None = None) -> None:
        self.options = options or WebhookServerOptions()
        self._contents = Contents()
        self._environment: Callable[[], WebhookEnvironment] | None = None
        self._started = asyncio.Event()
        self._running: Running | None = None
        self._conversions: ConversionWebhook | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens, with the actual port."""
        address = self._running.address if self._running is not None else None
        if address is None:
            raise InvalidDefinition("the webhook server does not listen: it has not started, or is called in process")
        return address

    @property
    def ready(self) -> bool:
        """Whether all webhooks are served and registered."""
        return self._started.is_set()

    @property
    def declarations(self) -> Sequence[Registrable]:
        """The webhooks that are registered with the API server."""
        return tuple(self._contents.declarations.values())

    @property
    def paths(self) -> Sequence[str]:
        """The paths of the webhooks."""
        return tuple(self._contents.endpoints)

    def attach(self, environment: Callable[[], WebhookEnvironment]) -> None:
        """Set the API server; the manager does it. `environment` is called at the start."""
        self._environment = environment

    def register(self, path: str, webhook: Webhook) -> None:
        """Serve a webhook at a path. Raises InvalidDefinition if the path is in use."""
        self._check_path(path)
        self._contents.endpoints[path] = WebhookEndpoint(path, webhook, self._contents.fail)
        log.info("Webhook is disabled" if self.options.port == DISABLED else "Registering webhook", path=path)
        self._contents.changed.set()

    def handle(self, path: str, handler: Handler) -> None:
        """Serve a plain HTTP handler at a path, beside the webhooks, for calls of other systems.

        Bodies have at most 1 MiB. On an embedded API server, which calls webhooks in process, the server listens if
        there is a handler at its start. Raises InvalidDefinition if the path is in use.
        """
        self._check_path(path)
        self._contents.handlers[path] = handler

    @property
    def conversions(self) -> ConversionWebhook:
        """The webhook that converts between versions, at `/convert`; served from its first use on."""
        if self._conversions is None:
            self._conversions = ConversionWebhook()
            self.register(CONVERSION_PATH, self._conversions)
        return self._conversions

    def handles(self, path: str) -> bool:
        """Whether a webhook is served at this path."""
        return path in self._contents.endpoints

    def endpoint(self, path: str) -> WebhookEndpoint:
        """The webhook at a path, to call it without a server. Raises InvalidDefinition if there is none."""
        if path not in self._contents.endpoints:
            known = ", ".join(sorted(self._contents.endpoints)) or "none"
            raise InvalidDefinition(f"no webhook is served at {path}; there are: {known}")
        return self._contents.endpoints[path]

    def declare(self, declaration: Registrable) -> None:
        """Register a webhook with the API server, once the server runs."""
        key = (declaration.kind.kind, declaration.name)
        if key in self._contents.declarations:
            raise InvalidDefinition(
                f"there are two webhooks {declaration.name}: give one of them another name with named(…)"
            )
        self._contents.declarations[key] = declaration
        self._contents.changed.set()

    @property
    def in_process_conversions(self) -> dict[str, Document]:
        """The `spec.conversion` of the CRDs whose versions are converted here, by their names, for an API server in the
        process that this server runs in."""
        declared = [each for each in self._contents.declarations.values() if isinstance(each, ConversionDeclaration)]
        address = HostAddress(IN_PROCESS_HOST)
        return {each.name: each.conversion(address.client_config(each.path)) for each in declared}

    def _check_path(self, path: str) -> None:
        if not path.startswith("/"):
            raise InvalidDefinition(f"the path of a webhook must start with '/', not {path!r}")
        if path in self._contents.endpoints or path in self._contents.handlers:
            raise InvalidDefinition(f"can't register duplicate path: {path}")

    async def wait_started(self) -> None:
        """Wait until all webhooks are served and registered."""
        await self._started.wait()

    async def started_check(self) -> None:
        """A health check: the server has started, and its port can be connected to."""
        if self.options.port == DISABLED:
            return
        if not self._started.is_set():
            raise RuntimeError("webhook server has not been started yet")
        address = self._running.address if self._running is not None else None
        if address is None:  # called in process
            return
        async with asyncio.timeout(_CHECK_SECONDS):
            _, writer = await asyncio.open_connection(
                self.options.host or "localhost", address[1], ssl=tls.client_context(verify=False)
            )
            writer.close()

    async def start(self) -> None:
        """Serve until cancelled."""
        if self.options.port == DISABLED:
            log.info("Webhook server is disabled")
            if self._environment is not None:
                self._environment().conversions.update({name: {} for name in self.in_process_conversions})
            self._started.set()
            return
        if self._environment is None:
            raise InvalidDefinition(
                "the webhook server has no API server: use manager.webhook_server, or ManagerOptions(webhook_server=…)"
            )
        self._running = Running(self.options, self._contents, self._environment())
        try:
            async with self._running.open():
                self._started.set()
                await self._running.keep_current()
        finally:
            self._started.clear()
            self._running = None
