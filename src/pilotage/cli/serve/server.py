"""What `pilotage serve` runs: an embedded cluster with an HTTPS face, and the kubeconfig that leads to it."""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from pilotage.cli.errors import CommandError
from pilotage.cli.serve.credentials import Clock, Credentials, default_path, kept, utc_now
from pilotage.cli.stop import Stop
from pilotage.cluster import Cluster
from pilotage.http import server, tls
from pilotage.server.http import certificates, kubeconfigs
from pilotage.server.http.handler import HTTPHandler
from pilotage.storage import open_served_storage

_T = TypeVar("_T")

_MARK = b"# Written by `pilotage serve`"
"""How each kubeconfig begins: a file that begins so may be replaced."""
HEADING = f"{_MARK.decode()}, at each start.\n"

RENEWAL_CHECK_SECONDS = 86400.0
"""How often a server looks whether its certificate has to be renewed."""


@dataclass(frozen=True)
class Serving:
    """What to serve, and where."""

    storage: str
    tenant: str
    host: str
    port: int
    kubeconfig: Path
    credentials: Path | None = None
    """The file with the certificate authority and the token, where not the one of the storage."""


async def serve(what: Serving) -> None:
    """Serve until SIGINT or SIGTERM. The line that begins with `serving` is printed once requests are answered.

    Watches end at once, other requests have ten seconds; a second signal ends those too.
    """
    check_kubeconfig(what.kubeconfig)  # before a storage is made that nobody gets to use
    certificates.check_available()
    with Stop.on_signals() as stop:
        async with AsyncExitStack() as exits:
            storage = await open_served_storage(what.storage)
            exits.push_async_callback(storage.close)
            cluster = await exits.enter_async_context(Cluster.embedded(storage, tenant=what.tenant))
            credentials = kept(what.credentials or default_path(what.storage, what.tenant))
            running = await _listening(what, HTTPHandler(cluster.registry, credentials.token), credentials, exits)
            url = f"https://{bracketed(what.host)}:{running.port}"
            authority = credentials.authority.certificate
            write_private(what.kubeconfig, HEADING + kubeconfigs.document(url, authority, credentials.token))
            print(f"serving {what.storage} at {url}; Ctrl-C stops it", flush=True)
            print(f"try: kubectl --kubeconfig {what.kubeconfig} get namespaces", flush=True)
            await stop.asked.wait()
            print("stopping", flush=True)


async def _listening(
    what: Serving, face: HTTPHandler, credentials: Credentials, exits: AsyncExitStack
) -> server.Server:
    """A server at the address, whose certificate is kept valid until `exits` are closed."""
    certificate = ServingCertificate(credentials, what.host)
    await exits.enter_async_context(certificate.kept_valid())
    listening = server.serve(face, what.host, what.port, ssl=certificate.context, authenticate=face.authenticate)
    try:
        return await exits.enter_async_context(listening)
    except OSError as error:
        raise CommandError(cannot_listen(what, error)) from error


class ServingCertificate:
    """The server's certificate in its TLS context. Clients trust its issuer, so it can be replaced at any time."""

    def __init__(self, credentials: Credentials, host: str, clock: Clock = utc_now) -> None:
        self._credentials = credentials
        self._host = host
        self._clock = clock
        self._certificate = certificates.issue(credentials.authority, host, clock())
        self.context: ssl.SSLContext = _loaded(self._certificate, tls.server_context)

    @asynccontextmanager
    async def kept_valid(self) -> AsyncIterator[None]:
        """Replace it, for the length of the block, whenever two thirds of its time are over."""
        checking = asyncio.create_task(self._check_for_ever(), name="serving certificate")
        try:
            yield
        finally:
            checking.cancel()
            await asyncio.wait([checking])

    async def _check_for_ever(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_CHECK_SECONDS)
            try:
                self._renew_if_due()
            except OSError as error:  # no room for the temporary files, for example
                print(f"pilotage: cannot renew the serving certificate, will try again: {error}", file=sys.stderr)

    def _renew_if_due(self) -> None:
        left = certificates.expiry(self._certificate) - self._clock()
        if left < timedelta(days=certificates.SERVING_DAYS) / 3:
            self._certificate = certificates.issue(self._credentials.authority, self._host, self._clock())
            _loaded(self._certificate, self.context.load_cert_chain)


def cannot_listen(what: Serving, error: OSError) -> str:
    """Why nothing can be served at the address, and what to do."""
    reason = (error.strerror or str(error)).partition(" (while")[0]
    text = f"cannot listen on {bracketed(what.host)}:{what.port}: {reason}"
    if error.errno == errno.EADDRINUSE:
        text += "; stop what uses it, or give another address with --bind (port 0 takes a free one)"
    return text


def bracketed(host: str) -> str:
    """The host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def _loaded(certificate: certificates.Certificate, load: Callable[[str, str], _T]) -> _T:
    """What `load` makes of the files of a certificate in memory: it is on the disk only for the moment of loading."""
    with tempfile.TemporaryDirectory() as folder:  # mode 0700
        cert, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        cert.write_bytes(certificate.certificate)
        key.write_bytes(certificate.key)
        return load(str(cert), str(key))


def check_kubeconfig(path: Path) -> None:
    """Refuse a place where the kubeconfig cannot be written, or where it would replace another file."""
    if not path.parent.is_dir():
        raise CommandError(
            f"the kubeconfig cannot be written to {path}: there is no folder {path.parent}; make it first"
        )
    if path.is_dir():
        raise CommandError(f"the kubeconfig cannot be written to {path}: it is a folder; name a file")
    try:
        ours = not path.exists() or _begins_as_ours(path)
    except OSError as error:
        raise CommandError(f"the kubeconfig cannot be written to {path}: {error.strerror}") from error
    if not ours:
        raise CommandError(
            f"{path} is there already and `pilotage serve` did not write it; name another file with --kubeconfig"
        )


def _begins_as_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK


def write_private(path: Path, text: str) -> None:
    """Write a file that holds a secret: readable by its owner alone, replaced in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise CommandError(f"the kubeconfig cannot be written to {path}: {error.strerror}") from error
