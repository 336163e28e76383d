"""`pilotage serve`: the embedded API server over HTTPS, for kubectl and other clients."""

from __future__ import annotations

import argparse
from typing import Any

from pilotage.cli.serve.options import ServeOptions
from pilotage.kit.console.flags.fields import add_flags, options_of
from pilotage.kit.console.help import add_command


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "serve",
        "serve the embedded API server over HTTPS, for kubectl",
        "Serve the embedded API server over HTTPS until Ctrl-C or SIGTERM. The command writes a kubeconfig "
        "with its certificate authority and a token. It stores both beside the SQLite file, so that clients work after "
        "a restart.",
        "pilotage serve --storage sqlite:demo.db",
        "pilotage serve --bind 127.0.0.1:0 --kubeconfig /tmp/kubeconfig",
        run=run,
    )
    add_flags(command, ServeOptions)


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM and return the exit code."""
    import asyncio

    from pilotage.cli.serve.server import serve
    from pilotage.kit.console.exhaustion import guarded

    asyncio.run(guarded(serve(options_of(ServeOptions, options))))
    return 0
