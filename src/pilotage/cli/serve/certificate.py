"""The TLS certificate of `pilotage serve`, issued at each start and renewed while the server runs."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from pilotage.cli.serve.credentials import Clock, ServerCredentials, utc_now
from pilotage.http import certificates, tls
from pilotage.tasks import cancel_all

RENEWAL_CHECK_SECONDS = 86400.0
"""How often a server checks whether its certificate must be renewed."""


class ServingCertificate:
    """The server's certificate in its TLS context. Clients trust its issuer, so it can be replaced at any time."""

    def __init__(self, credentials: ServerCredentials, host: str, clock: Clock = utc_now) -> None:
        self._credentials = credentials
        self._host = host
        self._clock = clock
        self._certificate = certificates.issue(credentials.authority, host, clock())
        self.context: ssl.SSLContext = tls.server_context()
        tls.load_pair(self.context, self._certificate.certificate, self._certificate.key)

    @asynccontextmanager
    async def renewal(self) -> AsyncIterator[None]:
        """Inside the block, replace the certificate when a third of its validity is left."""
        checking = asyncio.create_task(self._check_periodically(), name="serving certificate")
        try:
            yield
        finally:
            await cancel_all(checking)

    async def _check_periodically(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_CHECK_SECONDS)
            try:
                self._renew_if_due()
            except OSError as error:  # for example, no space for the temporary files
                print(f"pilotage: cannot renew the serving certificate, will retry: {error}", file=sys.stderr)

    def _renew_if_due(self) -> None:
        left = certificates.expiry(self._certificate) - self._clock()
        if left < timedelta(days=certificates.SERVING_DAYS) / 3:
            self._certificate = certificates.issue(self._credentials.authority, self._host, self._clock())
            tls.load_pair(self.context, self._certificate.certificate, self._certificate.key)
