"""What `pilotage serve` runs: an embedded cluster with an HTTPS face, and the kubeconfig that leads to it."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import signal
import ssl
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from pilotage.cli.failure import CommandError
from pilotage.cluster import Cluster
from pilotage.http import server, tls
from pilotage.server import certificates, kubeconfigs
from pilotage.server.face import Face

HEADING = "# Written by `pilotage serve`, anew at each start.\n"
"""The first line of each kubeconfig: a file that has it may be replaced."""


@dataclass(frozen=True)
class Serving:
    """What to serve, and where."""

    storage: str
    tenant: str
    host: str
    port: int
    kubeconfig: Path


async def serve(what: Serving) -> None:
    """Serve until SIGINT or SIGTERM. The line that begins with `serving` is printed once requests are answered."""
    check_kubeconfig(what.kubeconfig)  # before a storage is made that nobody gets to use
    certificate = certificates.self_signed(what.host)
    token = secrets.token_urlsafe(32)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as exits:
        cluster = await exits.enter_async_context(Cluster.embedded(what.storage, tenant=what.tenant))
        face = Face(cluster.registry, token)
        listening = server.serve(face, what.host, what.port, ssl=context(certificate), authenticate=face.authenticate)
        try:
            running = await exits.enter_async_context(listening)
        except OSError as error:
            raise CommandError(cannot_listen(what, error)) from error
        url = f"https://{bracketed(what.host)}:{running.port}"
        write_private(what.kubeconfig, HEADING + kubeconfigs.document(url, certificate.certificate, token))
        print(f"serving {what.storage} at {url}; Ctrl-C stops it", flush=True)
        print(f"try: kubectl --kubeconfig {what.kubeconfig} get namespaces", flush=True)
        await stop.wait()
        print("stopping", flush=True)


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


def context(certificate: certificates.Certificate) -> ssl.SSLContext:
    """A server's TLS context from a certificate in memory: it touches the disk only for the moment of loading."""
    with tempfile.TemporaryDirectory() as folder:
        cert, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        cert.write_bytes(certificate.certificate)
        key.touch(0o600)
        key.write_bytes(certificate.key)
        return tls.server_context(str(cert), str(key))


def check_kubeconfig(path: Path) -> None:
    """Refuse a place where the kubeconfig cannot be written, or where it would replace somebody's own."""
    if not path.parent.is_dir():
        raise CommandError(
            f"the kubeconfig cannot be written to {path}: there is no folder {path.parent}; make it first"
        )
    if path.is_dir():
        raise CommandError(f"the kubeconfig cannot be written to {path}: it is a folder; name a file")
    try:
        ours = not path.exists() or path.read_bytes().startswith(HEADING.encode())
    except OSError as error:
        raise CommandError(f"the kubeconfig cannot be written to {path}: {error.strerror}") from error
    if not ours:
        raise CommandError(
            f"{path} is there already and `pilotage serve` did not write it; name another file with --kubeconfig"
        )


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
