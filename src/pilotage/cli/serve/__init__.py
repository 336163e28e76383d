"""`pilotage serve`: the embedded API server over HTTPS, for kubectl and every other client."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "serve",
        help="serve the embedded API server over HTTPS, for kubectl",
        description="Serve the embedded API server over HTTPS until Ctrl-C. It writes a kubeconfig with its "
        "certificate authority and a token. Both are kept beside the file of the storage, so that clients work after "
        "a restart.",
        epilog="example: pilotage serve --storage sqlite:demo.db",
    )
    command.add_argument(
        "--storage",
        default="memory:",
        metavar="URL",
        help="where objects are kept: memory: (gone at the end) or sqlite:PATH (default: %(default)s)",
    )
    command.add_argument(
        "--bind",
        type=address,
        default="127.0.0.1:6443",
        metavar="ADDR",
        help="HOST:PORT to listen on; port 0 takes a free one (default: %(default)s)",
    )
    command.add_argument(
        "--kubeconfig",
        type=Path,
        default="pilotage.kubeconfig",
        metavar="FILE",
        help="where to write the kubeconfig (default: %(default)s)",
    )
    command.add_argument(
        "--tenant",
        default="default",
        metavar="NAME",
        help="which part of the storage to serve; parts do not see each other (default: %(default)s)",
    )
    command.add_argument(
        "--credentials",
        type=Path,
        metavar="FILE",
        help="where the certificate authority and the token are kept, made at the first start (default: beside the "
        "file of the storage; with memory: they are not kept)",
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; the exit code."""
    import asyncio

    from pilotage.cli.serve.server import Serving, serve

    host, port = options.bind
    what = Serving(options.storage, options.tenant, host, port, options.kubeconfig, options.credentials)
    asyncio.run(serve(what))
    return 0


def address(bind: str) -> tuple[str, int]:
    """`HOST:PORT`, `:PORT` (loopback) or `[IPv6]:PORT`."""
    host, colon, port = bind.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535 or (":" in bare and bare == host):
        raise argparse.ArgumentTypeError(f"{bind!r} is not HOST:PORT, such as 127.0.0.1:6443 or [::1]:6443")
    return bare or "127.0.0.1", int(port)
