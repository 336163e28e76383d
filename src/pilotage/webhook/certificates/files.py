"""A certificate in files that another program renews, as cert-manager does in a mounted Secret."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from pathlib import Path

from pilotage.errors import NoCredentials
from pilotage.http import tls
from pilotage.http.certificates import Certificate
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.telemetry.logs import logger
from pilotage.telemetry.metrics import REGISTRY
from pilotage.webhook.certificates.source import Changed

log = logger("controller-runtime.certwatcher")

REREAD_SECONDS = 10.0
"""How often the files are read: controller-runtime's interval, too."""

DEFAULT_DIRECTORY = "k8s-webhook-server/serving-certs"
"""Where controller-runtime looks, below the folder for temporary files."""

READS = REGISTRY.counter("certwatcher_read_certificate_total", "Total number of certificate reads")
ERRORS = REGISTRY.counter("certwatcher_read_certificate_errors_total", "Total number of certificate read errors")


class CertificateFiles:
    """`tls.crt` and `tls.key` in a folder, read again every 10 seconds.

    A pair that does not match, or is missing for a while, is not used: the one before stays. `ca.crt`, if it is there,
    is the bundle for webhook configurations; without it another program injects the bundle (cert-manager does).
    """

    def __init__(
        self,
        directory: str | Path = "",
        *,
        cert_name: str = "tls.crt",
        key_name: str = "tls.key",
        ca_name: str = "ca.crt",
        reread_seconds: Seconds = REREAD_SECONDS,
    ) -> None:
        """`cert_name`, `key_name` and `ca_name` are files in `directory`, which are read each `reread_seconds`."""
        self.directory = Path(directory or Path(tempfile.gettempdir()) / DEFAULT_DIRECTORY)
        self._names = cert_name, key_name, ca_name
        self._reread_seconds = seconds(reread_seconds, "reread_seconds", zero=False)
        self._certificate: Certificate | None = None
        self._bundle = b""
        self._failing = False

    async def open(self) -> None:
        """Read the files. Raises NoCredentials if they are missing or do not belong together."""
        READS.labels().inc()
        try:
            self._certificate, self._bundle = self._read()
        except (OSError, ValueError) as error:
            ERRORS.labels().inc()
            cert, key, _ = self._names
            raise NoCredentials(
                f"the certificate of the webhook server cannot be read from {self.directory / cert} and "
                f"{self.directory / key}: {error}; mount the Secret there, or let the certificate be managed "
                "(WebhookServerOptions without certificates)"
            ) from error

    @property
    def certificate(self) -> Certificate:
        assert self._certificate is not None, "open() was not called"
        return self._certificate

    @property
    def bundle(self) -> bytes:
        return self._bundle

    async def run(self, changed: Changed) -> None:
        while True:
            await asyncio.sleep(self._reread_seconds)
            if self.reread():
                changed()

    def reread(self) -> bool:
        """Read the files again; whether they have changed. What cannot be used is logged, and does not count."""
        READS.labels().inc()
        try:
            found = self._read()
        except (OSError, ValueError) as error:
            ERRORS.labels().inc()
            if not self._failing:
                log.warning("Certificate cannot be read; using the last one", path=str(self.directory), error=error)
            self._failing = True
            return False
        self._failing = False
        if found == (self._certificate, self._bundle):
            return False
        self._certificate, self._bundle = found
        log.info("Updated current TLS certificate", path=str(self.directory))
        return True

    def _read(self) -> tuple[Certificate, bytes]:
        cert, key, authority = (self.directory / name for name in self._names)
        pair = Certificate(cert.read_bytes(), key.read_bytes())
        if pair != self._certificate:
            tls.load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pair.certificate, pair.key)
        return pair, authority.read_bytes() if authority.exists() else b""
