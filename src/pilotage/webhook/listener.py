"""HTTPS for the webhook server, with a certificate that can be replaced while it serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from pilotage.http import tls
from pilotage.http.certificates import Certificate
from pilotage.http.limits import MEBIBYTE, HTTPLimits
from pilotage.http.messages import Handler
from pilotage.http.server import serve
from pilotage.net.sockets import address_text
from pilotage.webhook.options import WebhookServerOptions

LIMITS = HTTPLimits(
    body_bytes=8 * MEBIBYTE,
    body_budget_bytes=64 * MEBIBYTE,
    header_seconds=32.0,
    idle_seconds=90.0,
    grace_seconds=60.0,
)
"""controller-runtime's, where it has them."""


class Listener:
    """Listens for the length of `open`. Handshakes fail until the first certificate is loaded."""

    def __init__(self, options: WebhookServerOptions, handler: Handler, max_body_bytes: int = 0) -> None:
        """`max_body_bytes` is the largest body of a webhook. One that is a little larger is refused by its webhook,
        with a review."""
        self._options = options
        largest = max(LIMITS.body_bytes, max_body_bytes + MEBIBYTE)
        self._limits = replace(LIMITS, body_bytes=largest, body_budget_bytes=max(LIMITS.body_budget_bytes, 2 * largest))
        self._handler = handler
        self._context = tls.server_context(client_ca_file=options.client_ca_file)
        self._context.minimum_version = options.minimum_tls_version
        if options.ciphers:
            self._context.set_ciphers(options.ciphers)
        if options.tls_options is not None:
            options.tls_options(self._context)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[str, int]]:
        """The address, with the actual port. At the end, running requests are answered first."""
        host, port = self._options.host, self._options.port
        async with AsyncExitStack() as stack:
            listening = serve(self._handler, host, port, ssl=self._context, limits=self._limits)
            try:
                server = await stack.enter_async_context(listening)
            except OSError as error:
                place = address_text(host, port)
                raise OSError(
                    error.errno,
                    f"the webhook server cannot listen on {place}: {error.strerror}; choose another port "
                    "(WebhookServerOptions.port)",
                ) from error
            yield server.address

    def load(self, certificate: Certificate) -> None:
        """Serve this certificate from now on. Open connections are not affected."""
        tls.load_pair(self._context, certificate.certificate, certificate.key)
