"""The CA and the certificate of a client as TLS contexts, which are created again when the files change."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pilotage.client.config import Config
from pilotage.client.credentials.credentials import REREAD_SECONDS, ClientCertificate, read_file
from pilotage.errors import NoCredentials
from pilotage.http.tls import client_context, load_pair
from pilotage.telemetry.logs import logger

_Sources = tuple[bytes, bytes, bytes]
"""The PEM of the CA, of the certificate and of the key; empty if there is none."""

_log = logger("pilotage.client")


class Trust:
    """Keeps a TLS context up to date with files that other programs renew.

    Files that cannot be used (a certificate without its new key yet, a missing file) are logged once, and the last good
    context is used.
    """

    def __init__(self, config: Config, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._due = float("-inf")
        self._certificate: ClientCertificate | None = None
        self._sources: _Sources | None = None
        self._complaint = ""
        if config.insecure_skip_tls_verify:
            _log.warning(
                "The server's certificate is not verified: any server that answers gets the credentials",
                url=config.url,
                source=config.source,
            )

    def renew(self, certificate: ClientCertificate | None) -> ssl.SSLContext | None:
        """Create a new context if the files have changed; None: the last one is still valid. Raises NoCredentials."""
        now = self._clock()
        if now < self._due and certificate == self._certificate:
            return None
        self._due = now + REREAD_SECONDS
        try:
            sources = self._read(certificate)
            if sources == self._sources:
                return None
            context = self._context(certificate, *sources)
        except (OSError, ValueError) as error:  # what files and TLS raise
            self._keep(certificate, error)
            return None
        self._sources, self._certificate, self._complaint = sources, certificate, ""
        return context

    def _read(self, certificate: ClientCertificate | None) -> _Sources:
        config = self._config
        with _about(self._ca_text()):
            ca = config.ca_data or (read_file(config.ca_file) if config.ca_file else b"")
            if config.ca_file and not ca.strip():  # without a CA the system's authorities would be trusted
                raise ValueError("the file is empty")
        if certificate is None:
            return ca, b"", b""
        with _about(_pair_text(certificate), _PAIR_ADVICE):
            return ca, *certificate.read()

    def _context(self, certificate: ClientCertificate | None, ca: bytes, cert: bytes, key: bytes) -> ssl.SSLContext:
        with _about(self._ca_text()):
            context = client_context(ca_data=ca.decode("ascii"), verify=not self._config.insecure_skip_tls_verify)
        if certificate is not None and cert:
            with _about(_pair_text(certificate), _PAIR_ADVICE):
                load_pair(context, cert, key)
        return context

    def _ca_text(self) -> str:
        return f"the certificate authority ({'in the configuration' if self._config.ca_data else self._config.ca_file})"

    def _keep(self, certificate: ClientCertificate | None, error: Exception) -> None:
        if self._sources is None or (certificate is not None and self._certificate is None):
            # There is no older one to use: without its certificate the server would refuse the client.
            where = f"{self._config.source}: " if self._config.source else ""
            raise NoCredentials(f"{where}{error}") from error
        if str(error) != self._complaint:
            self._complaint = str(error)
            _log.warning("New certificates cannot be used; using the last ones", error=str(error))


def _pair_text(certificate: ClientCertificate) -> str:
    files = [
        "" if certificate.cert_data else certificate.cert_file,
        "" if certificate.key_data else certificate.key_file,
    ]
    return f"the client certificate and its key ({', '.join(filter(None, files)) or 'in the configuration'})"


@contextmanager
def _about(what: str, advice: str = "it must be PEM") -> Iterator[None]:
    """Add to an error of the block what cannot be used, and what it must be."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise ValueError(f"{what} cannot be used: {error}; {advice}") from error


_PAIR_ADVICE = "both must be PEM, and the key must be the certificate's"
