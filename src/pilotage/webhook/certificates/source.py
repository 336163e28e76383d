"""Where the webhook server gets its certificate from, and API servers the authority to trust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pilotage.http.certificates import Certificate

Changed = Callable[[], None]
"""Called after the certificate or the bundle has changed."""


class CertificateSource(Protocol):
    """A certificate for the server, kept current. The same object may not serve two servers."""

    async def open(self) -> None:
        """Load the first certificate. Raises if there is none."""

    @property
    def certificate(self) -> Certificate:
        """The certificate (chain) and key to serve now; after `open`."""

    @property
    def bundle(self) -> bytes:
        """PEM of the authorities that clients must trust; empty if it is not known, and injected by another program."""

    async def run(self, changed: Changed) -> None:
        """Keep it current until cancelled."""
