"""The webhook server: serves webhooks over HTTPS or in process, registers them, and keeps their certificate current."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from pilotage.client.client import Client
from pilotage.errors import ApiError, ConnectionLost, InvalidDefinition, NotFound
from pilotage.http import tls
from pilotage.http.health import text_response
from pilotage.http.limits import MEBIBYTE, Limits
from pilotage.http.messages import Request, Response
from pilotage.http.server import serve
from pilotage.meta.documents import Document
from pilotage.net.sockets import address_text
from pilotage.telemetry.logs import logger
from pilotage.webhook import addresses, probe
from pilotage.webhook.addresses import Address, HostAddress, InProcess, ServiceAddress, with_bundle
from pilotage.webhook.certificates.managed import ManagedCertificates
from pilotage.webhook.certificates.source import CertificateSource
from pilotage.webhook.conversion.declaration import ConversionDeclaration
from pilotage.webhook.conversion.webhook import PATH as CONVERSION_PATH
from pilotage.webhook.conversion.webhook import ConversionWebhook
from pilotage.webhook.declarations import Declaration
from pilotage.webhook.endpoint import Endpoint
from pilotage.webhook.options import DISABLED, WebhookServerOptions
from pilotage.webhook.registration import Registrable, Registration
from pilotage.webhook.webhook import AdmissionWebhook, Webhook

log = logger("controller-runtime.webhook")

REGISTER_SECONDS = 300.0
"""How often registrations are applied again, so that one that was deleted or changed by mistake comes back."""

_CHECK_SECONDS = 10.0
_LIMITS = Limits(
    body_bytes=8 * MEBIBYTE,  # a webhook's own limit is lower, and refuses with a review
    body_budget_bytes=64 * MEBIBYTE,
    header_seconds=32.0,
    idle_seconds=90.0,
    grace_seconds=60.0,
)
_CONVERSION_LIMITS = replace(  # a list is converted in one request
    _LIMITS, body_bytes=65 * MEBIBYTE, body_budget_bytes=130 * MEBIBYTE
)


class LocalHandlers(Protocol):
    """The webhooks of an embedded API server that are called without a socket, by URL."""

    def add(self, url: str, handler: Callable[[Document], object]) -> None: ...
    def remove(self, url: str) -> None: ...


@dataclass(frozen=True, slots=True)
class WebhookEnvironment:
    """The API server that calls the webhooks."""

    client: Client
    clock: Callable[[], datetime]
    local: LocalHandlers | None = None
    """Of an embedded API server; None: it is remote."""
    server_url: str = ""
    namespace: str = ""
    """The namespace that the program runs in, or works in."""
    conversions: dict[str, Document] = field(default_factory=dict)
    """The `spec.conversion` of CRDs by their names, for those that are installed later."""


class WebhookServer:
    """Serves webhooks at paths; a runnable of the manager, which every replica runs.

    It serves before it registers, and registers before the manager is ready.
    """

    name = "webhook server"
    runnable_group = "webhooks"
    needs_leader_election = False

    def __init__(self, options: WebhookServerOptions | None = None) -> None:
        self.options = options or WebhookServerOptions()
        self._endpoints: dict[str, Endpoint] = {}
        self._declarations: dict[tuple[str, str], Registrable] = {}
        self._environment: Callable[[], WebhookEnvironment] | None = None
        self._started = asyncio.Event()
        self._changed = asyncio.Event()
        self._failed: BaseException | None = None
        self._conversions: ConversionWebhook | None = None
        self._address: tuple[str, int] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens, with the actual port."""
        if self._address is None:
            raise InvalidDefinition("the webhook server does not listen: it has not started, or is called in process")
        return self._address

    @property
    def ready(self) -> bool:
        """Whether all webhooks are served and registered."""
        return self._started.is_set()

    @property
    def declarations(self) -> Sequence[Registrable]:
        """The webhooks that are registered with the API server."""
        return tuple(self._declarations.values())

    def attach(self, environment: Callable[[], WebhookEnvironment]) -> None:
        """Set the API server; the manager does it. `environment` is called at the start."""
        self._environment = environment

    def register(self, path: str, webhook: Webhook) -> None:
        """Serve a webhook at a path. Raises InvalidDefinition if the path is in use."""
        if not path.startswith("/"):
            raise InvalidDefinition(f"the path of a webhook must start with '/', not {path!r}")
        if path in self._endpoints:
            raise InvalidDefinition(f"can't register duplicate path: {path}")
        self._endpoints[path] = Endpoint(path, webhook, self._panic)
        is_off = self.options.port == DISABLED
        log.info("Webhook is disabled" if is_off else "Registering webhook", path=path)
        self._changed.set()

    @property
    def conversions(self) -> ConversionWebhook:
        """The webhook that converts between versions, at `/convert`; served from its first use on."""
        if self._conversions is None:
            self._conversions = ConversionWebhook()
            self.register(CONVERSION_PATH, self._conversions)
        return self._conversions

    def handles(self, path: str) -> bool:
        """Whether a webhook is served at this path."""
        return path in self._endpoints

    def declare(self, declaration: Registrable) -> None:
        """Register a webhook with the API server, once the server runs."""
        key = (declaration.kind.kind, declaration.name)
        if key in self._declarations:
            raise InvalidDefinition(
                f"there are two webhooks {declaration.name}: give one of them another name with named(…)"
            )
        self._declarations[key] = declaration
        self._changed.set()

    async def wait_started(self) -> None:
        """Wait until all webhooks are served and registered."""
        await self._started.wait()

    async def started_check(self) -> None:
        """A health check: the server has started, and its port can be connected to."""
        if self.options.port == DISABLED:
            return
        if not self._started.is_set():
            raise RuntimeError("webhook server has not been started yet")
        if self._address is None:
            return
        context = tls.client_context(verify=False)
        host = self.options.host or "localhost"
        async with asyncio.timeout(_CHECK_SECONDS):
            _, writer = await asyncio.open_connection(host, self._address[1], ssl=context)
            writer.close()

    async def start(self) -> None:
        """Serve until cancelled."""
        if self.options.port == DISABLED:
            log.info("Webhook server is disabled")
            self._started.set()
            return
        if self._environment is None:
            raise InvalidDefinition("the webhook server has no API server: add it to a manager (ManagerOptions)")
        running = _Running(self, self._environment())
        try:
            await running.run()
        finally:
            self._started.clear()
            self._address = None

    def _panic(self, error: BaseException) -> None:
        """A handler without `recover_panic` failed: end the server, and with it the manager."""
        self._failed = error
        self._changed.set()

    async def _route(self, request: Request) -> Response:
        endpoint = self._endpoints.get(request.target.partition("?")[0])
        return text_response(404, "404 page not found") if endpoint is None else await endpoint(request)


class _Running:
    """One run of the server."""

    def __init__(self, server: WebhookServer, environment: WebhookEnvironment) -> None:
        self._server = server
        self._options = server.options
        self._environment = environment
        self._source: CertificateSource | None = None
        self._context: ssl.SSLContext | None = None
        self._local: list[str] = []
        self._registered: list[Registrable] = []

    async def run(self) -> None:
        options, environment = self._options, self._environment
        serves = options.serve if options.serve is not None else environment.local is None
        async with AsyncExitStack() as stack:
            address = await self._listen(stack) if serves else InProcess()
            stack.callback(self._withdraw)
            registration = Registration(environment.client, address, installed=not options.register)
            stack.push_async_callback(self._unregister, registration, address)
            await self._register(registration, address)
            self._server._started.set()
            await self._keep_current(registration, address)

    async def _keep_current(self, registration: Registration, address: Address) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                if self._source is not None:
                    tasks.create_task(self._source.run(self._certificate_changed), name="webhook certificate")
                tasks.create_task(self._keep_registered(registration, address), name="webhook registration")
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _listen(self, stack: AsyncExitStack) -> Address:
        options = self._options
        context = self._context = tls.server_context(client_ca_file=options.client_ca_file)
        context.minimum_version = options.minimum_tls_version
        if options.ciphers:
            context.set_ciphers(options.ciphers)
        if options.tls_options is not None:
            options.tls_options(context)
        limits = _CONVERSION_LIMITS if self._server.handles(CONVERSION_PATH) else _LIMITS
        listening = serve(self._server._route, options.host, options.port, ssl=context, limits=limits)
        # The address is part of the certificate, so it is bound first. Handshakes fail until the certificate is there.
        try:
            server = await stack.enter_async_context(listening)
        except OSError as error:
            raise OSError(
                error.errno,
                f"the webhook server cannot listen on {address_text(options.host, options.port)}: {error.strerror}; "
                "choose another port (WebhookServerOptions.port)",
            ) from error
        self._server._address = server.address
        address = self._reachable(server.port)
        self._source = options.certificates or self._managed(address)
        await self._source.open()
        self._load()
        log.info("Serving webhook server", host=options.host, port=server.port)
        return address

    def _reachable(self, port: int) -> Address:
        options, environment = self._options, self._environment
        if options.service is not None:
            return options.service
        if not options.reachable_host and addresses.runs_in_cluster(environment.server_url):
            return ServiceAddress(addresses.DEFAULT_SERVICE, environment.namespace or "default")
        if options.reachable_host:
            return HostAddress(options.reachable_host, port)
        return HostAddress(
            addresses.local_host(environment.server_url) if environment.server_url else "127.0.0.1", port
        )

    def _managed(self, address: Address) -> ManagedCertificates:
        options, environment = self._options, self._environment
        return ManagedCertificates(
            environment.client,
            options.secret_name,
            options.secret_namespace or environment.namespace or "default",
            address.hosts,
            environment.clock,
            validity=options.validity,
            check_seconds=options.certificate_check_seconds,
        )

    def _load(self) -> None:
        assert self._source is not None
        assert self._context is not None
        certificate = self._source.certificate
        tls.load_pair(self._context, certificate.certificate, certificate.key)

    def _certificate_changed(self) -> None:
        self._load()
        self._server._changed.set()

    async def _register(self, registration: Registration, address: Address) -> None:
        """Bring registrations up to date, and wait until a remote API server uses them."""
        server, environment = self._server, self._environment
        server._changed.clear()
        self._offer_locally(address)
        bundle = self._source.bundle if self._source is not None else b""
        declarations = server.declarations
        for each in declarations:
            if isinstance(each, ConversionDeclaration):
                client_config = with_bundle(address.client_config(each.path), bundle)
                environment.conversions[each.name] = each.conversion(client_config)
        changed = await registration.apply(declarations, bundle)
        self._registered = list(declarations)
        if environment.local is None and self._options.register:
            if not server.handles(probe.PATH):
                server._endpoints[probe.PATH] = Endpoint(probe.PATH, AdmissionWebhook(probe.answer_probe))
            for mutating in (True, False):
                new = [each for each in changed if isinstance(each, Declaration) and each.mutating is mutating]
                if new:
                    await probe.wait_called(environment.client, new[0], address, bundle)
        if isinstance(self._source, ManagedCertificates):
            self._source.trusted(bundle)

    def _offer_locally(self, address: Address) -> None:
        local = self._environment.local
        if local is None:
            return
        for path, endpoint in self._server._endpoints.items():
            url = local_url(address, path)
            if url not in self._local:
                local.add(url, endpoint.local)
                self._local.append(url)

    def _withdraw(self) -> None:
        for url in self._local:
            assert self._environment.local is not None
            self._environment.local.remove(url)

    async def _keep_registered(self, registration: Registration, address: Address) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(REGISTER_SECONDS):
                    await self._server._changed.wait()
            if self._server._failed is not None:
                raise self._server._failed
            try:
                await self._register(registration, address)
            except (ApiError, ConnectionLost) as error:
                log.warning("Cannot register webhooks, will retry", error=error)

    async def _unregister(self, registration: Registration, address: Address) -> None:
        remove = self._options.remove_on_stop
        if remove is None:
            remove = not isinstance(address, ServiceAddress) and self._options.register
        if not remove:
            return
        try:
            await registration.remove([each for each in self._registered if isinstance(each, Declaration)])
        except (ApiError, ConnectionLost, NotFound) as error:
            log.warning("Cannot remove the webhook configurations", error=error)


def local_url(address: Address, path: str) -> str:
    """The URL under which an embedded API server looks up a webhook."""
    client_config = address.client_config(path)
    if "url" in client_config:
        return str(client_config["url"])
    service = client_config["service"]
    return f"https://{service['name']}.{service['namespace']}.svc:{service['port']}{service['path']}"
