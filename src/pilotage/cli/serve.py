"""`pilotage serve`: the embedded API server over HTTPS, for kubectl and every other client."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import signal
import ssl
from pathlib import Path
from typing import Any

from pilotage.cluster import Cluster
from pilotage.errors import InvalidDefinition


def register(subparsers: Any) -> None:
    command = subparsers.add_parser(
        "serve",
        help="serve the embedded API server over HTTPS",
        description="Serve the embedded API server over HTTPS on loopback, with a token; writes a kubeconfig.",
    )
    command.add_argument(
        "--storage", default="memory:", metavar="URL", help="memory: or sqlite:PATH (default: %(default)s)"
    )
    command.add_argument(
        "--bind", default="127.0.0.1:6443", metavar="ADDR", help="address to listen on (default: %(default)s)"
    )
    command.add_argument(
        "--kubeconfig", default="pilotage.kubeconfig", metavar="FILE", help="where to write it (default: %(default)s)"
    )
    command.add_argument("--tenant", default="default", metavar="NAME", help="which part of the storage to serve")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    asyncio.run(serve(options.storage, options.tenant, options.bind, Path(options.kubeconfig)))
    return 0


async def serve(storage: str, tenant: str, bind: str, kubeconfig: Path) -> None:
    """Serve until SIGINT or SIGTERM."""
    from pilotage.http import server
    from pilotage.server import certificates, kubeconfigs
    from pilotage.server.face import Face

    host, port = address(bind)
    certificate = certificates.self_signed(host)
    token = secrets.token_urlsafe(32)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Cluster.embedded(storage, tenant=tenant) as cluster:
        face = Face(cluster.registry, token)
        async with server.serve(face, host, port, ssl=context(certificate)) as running:
            url = f"https://{f'[{host}]' if ':' in host else host}:{running.port}"
            write_private(kubeconfig, kubeconfigs.document(url, certificate.certificate, token))
            print(f"serving {storage} at {url}", flush=True)
            print(f"try: kubectl --kubeconfig {kubeconfig} get namespaces", flush=True)
            await stop.wait()
            print("stopping", flush=True)


def address(bind: str) -> tuple[str, int]:
    """`HOST:PORT`, `:PORT` (loopback) or `[IPv6]:PORT`."""
    host, _, port = bind.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdigit() or int(port) > 65535:
        raise InvalidDefinition(f"--bind takes HOST:PORT, such as 127.0.0.1:6443, not {bind!r}")
    return host, int(port)


def context(certificate: Any) -> ssl.SSLContext:
    """A server's TLS context from a certificate in memory: it touches the disk only for the moment of loading."""
    import tempfile

    from pilotage.http import tls

    with tempfile.TemporaryDirectory() as folder:
        cert, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        cert.write_bytes(certificate.certificate)
        key.touch(0o600)
        key.write_bytes(certificate.key)
        return tls.server_context(str(cert), str(key))


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
        raise InvalidDefinition(f"the kubeconfig cannot be written to {path}: {error.strerror}") from error
