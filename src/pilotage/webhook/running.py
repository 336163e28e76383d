"""One run of the webhook server: listen, register, keep the certificate and the registrations current."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property

from pilotage.errors import ApiError, ConnectionLost
from pilotage.http.health import text_response
from pilotage.http.limits import MEBIBYTE
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.server.webhooks.local import IN_PROCESS_HOST, webhook_url
from pilotage.tasks import OwnedTasks
from pilotage.telemetry.logs import logger
from pilotage.webhook import addresses, probe
from pilotage.webhook.addresses import HostAddress, ServiceAddress, WebhookAddress, with_bundle
from pilotage.webhook.certificates.managed import ManagedCertificates
from pilotage.webhook.certificates.source import CertificateSource
from pilotage.webhook.conversion.declaration import ConversionDeclaration
from pilotage.webhook.declarations import Declaration
from pilotage.webhook.endpoint import WebhookEndpoint
from pilotage.webhook.environment import WebhookEnvironment
from pilotage.webhook.listener import Listener
from pilotage.webhook.options import WebhookServerOptions
from pilotage.webhook.registration import Registrable, WebhookRegistration
from pilotage.webhook.webhook import AdmissionWebhook, HandlerFailed

log = logger("controller-runtime.webhook")

REGISTER_SECONDS = 60.0
"""How often registrations are applied again, so that one that was deleted or changed by mistake comes back."""
HANDLER_BYTES = MEBIBYTE
"""The largest body of a request to a plain handler."""
RETRY_SECONDS = 5.0
"""How long to wait after registrations could not be applied."""


@dataclass(slots=True)
class Contents:
    """What a webhook server serves and registers. It may grow while the server runs."""

    endpoints: dict[str, WebhookEndpoint] = field(default_factory=dict)
    """By path."""
    handlers: dict[str, Handler] = field(default_factory=dict)
    """Plain HTTP handlers, by path."""
    declarations: dict[tuple[str, str], Registrable] = field(default_factory=dict)
    """By kind and name of the configuration."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    failed: BaseException | None = None
    """The error of a handler that must end the server."""

    def fail(self, error: BaseException) -> None:
        self.failed = error
        self.changed.set()

    async def answer(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        """Pass an HTTP request to the webhook or the handler of its path."""
        path = request.target.partition("?")[0]
        if (endpoint := self.endpoints.get(path)) is not None:
            return await endpoint(request)
        if (handler := self.handlers.get(path)) is None:
            return text_response(404, "404 page not found")
        if len(request.body) > HANDLER_BYTES:
            return text_response(413, f"the body has more than {HANDLER_BYTES} bytes")
        return await handler(request)


class Running:
    """Serves and registers for the length of `open`."""

    def __init__(self, options: WebhookServerOptions, contents: Contents, environment: WebhookEnvironment) -> None:
        self.address: tuple[str, int] | None = None
        """Where it listens; None: nowhere, the API server is in this process."""
        self._options = options
        self._contents = contents
        self._environment = environment
        self._reached_at: WebhookAddress = HostAddress(IN_PROCESS_HOST)
        self._source: CertificateSource | None = None
        self._listener: Listener | None = None
        self._local: list[str] = []
        self._left: list[Registrable] = []
        """Conversions of another program."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Inside the block webhooks are served and registered."""
        called_over_http = self._environment.local is None or bool(self._contents.handlers)
        serves = self._options.serve if self._options.serve is not None else called_over_http
        async with AsyncExitStack() as stack:
            if serves:
                await self._listen(stack)
            self._left = await self._registration.check(list(self._contents.declarations.values()))
            if serves:
                await self._certify()
            stack.callback(self._withdraw)
            stack.push_async_callback(self._unregister)
            await self._register()
            yield

    async def keep_current(self) -> None:
        """Renew the certificate and the registrations until cancelled. Raises the error of a handler that must end
        the server."""
        try:
            async with OwnedTasks() as tasks:
                if self._source is not None:
                    tasks.create_task(self._source.run(self._certificate_changed), name="webhook certificate")
                tasks.create_task(self._keep_registered(), name="webhook registration")
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _listen(self, stack: AsyncExitStack) -> None:
        largest = max((each.webhook.max_body_bytes for each in self._contents.endpoints.values()), default=0)
        self._listener = Listener(self._options, self._contents.answer, largest)
        # It is bound before there is a certificate: the port may be a free one, and is a part of the address.
        self.address = await stack.enter_async_context(self._listener.open())
        self._reached_at = reachable_address(self._options, self._environment, self.address[1])
        log.info("Serving webhook server", host=self._options.host, port=self.address[1])

    async def _certify(self) -> None:
        """Have a certificate: the Secret of another program is not written before the registrations were checked."""
        assert self._listener is not None
        self._source = self._options.certificates or self._managed_certificates()
        await self._source.open()
        self._listener.load(self._source.certificate)

    def _managed_certificates(self) -> ManagedCertificates:
        options, environment = self._options, self._environment
        return ManagedCertificates(
            environment.client,
            options.secret_name,
            options.secret_namespace or environment.namespace or "default",
            self._reached_at.hosts,
            environment.clock,
            validity=options.validity,
            check_seconds=options.certificate_check_seconds,
        )

    def _certificate_changed(self) -> None:
        assert self._listener is not None
        assert self._source is not None
        self._listener.load(self._source.certificate)
        self._contents.changed.set()

    async def _keep_registered(self) -> None:
        seconds = REGISTER_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._contents.changed.wait()
            if (failed := self._contents.failed) is not None:
                # Not SystemExit itself: out of a task it would end the loop without a shutdown in order.
                raise (
                    failed if isinstance(failed, Exception) else HandlerFailed(f"a webhook raised {failed!r}")
                ) from failed
            try:
                await self._register()
                seconds = REGISTER_SECONDS
            except (ApiError, ConnectionLost) as error:
                seconds = RETRY_SECONDS
                log.warning("Cannot register webhooks", error=error, retry_seconds=seconds)

    async def _register(self) -> None:
        """Bring registrations up to date, and wait until a remote API server uses them."""
        self._contents.changed.clear()
        self._offer_in_process()
        bundle = self._source.bundle if self._source is not None else b""
        declarations = list(self._contents.declarations.values())
        for each in declarations:
            if isinstance(each, ConversionDeclaration):
                client_config = with_bundle(self._reached_at.client_config(each.path), bundle)
                conversion = {} if each in self._left else each.conversion(client_config)
                self._environment.conversions[each.name] = conversion
        registered = [each for each in declarations if each not in self._left]
        changed = await self._registration.apply(registered, bundle)
        if self._environment.local is None and self._options.register:
            await self._wait_called([each for each in changed if isinstance(each, Declaration)], bundle)
        if isinstance(self._source, ManagedCertificates):
            self._source.record_trusted(bundle)

    async def _wait_called(self, changed: list[Declaration], bundle: bytes) -> None:
        if probe.PATH not in self._contents.endpoints:
            self._contents.endpoints[probe.PATH] = WebhookEndpoint(probe.PATH, AdmissionWebhook(probe.answer_probe))
        for mutating in (True, False):
            declaration = next((each for each in changed if each.mutating is mutating), None)
            if declaration is not None:
                await probe.wait_called(self._environment.client, declaration, self._reached_at, bundle)

    def _offer_in_process(self) -> None:
        local = self._environment.local
        if local is None:
            return
        for path, endpoint in self._contents.endpoints.items():
            url = webhook_url(self._reached_at.client_config(path))
            if url not in self._local:
                local.add(url, endpoint.local)
                self._local.append(url)

    def _withdraw(self) -> None:
        for each in self._contents.declarations.values():
            if isinstance(each, ConversionDeclaration):
                self._environment.conversions.pop(each.name, None)
        if self._environment.local is not None:
            for url in self._local:
                self._environment.local.remove(url)

    async def _unregister(self) -> None:
        """Delete the configurations where no other replica can serve the webhooks: each write would be refused."""
        remove = self._options.remove_on_stop
        if remove is None:
            remove = self._options.register and not isinstance(self._reached_at, ServiceAddress)
        if not remove:
            return
        declarations = [each for each in self._contents.declarations.values() if isinstance(each, Declaration)]
        try:
            await self._registration.remove(declarations)
        except (ApiError, ConnectionLost) as error:
            log.warning("Cannot delete the webhook configurations", error=error)

    @cached_property
    def _registration(self) -> WebhookRegistration:
        """Made when the address is known."""
        return WebhookRegistration(self._environment.client, self._reached_at, installed=not self._options.register)


def reachable_address(options: WebhookServerOptions, environment: WebhookEnvironment, port: int) -> WebhookAddress:
    """Where the API server reaches a server that listens on `port`."""
    if options.service is not None:
        return options.service
    if options.reachable_host:
        return HostAddress(options.reachable_host, port)
    if environment.local is not None:
        return HostAddress("127.0.0.1", port)
    if addresses.runs_in_cluster(environment.server_url):
        return ServiceAddress(options.service_name, environment.namespace or "default")
    return HostAddress(addresses.local_host(environment.server_url), port)
