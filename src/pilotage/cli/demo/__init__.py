"""`pilotage demo`: an operator on the embedded server and on fake GPUs, that prints what it does and why."""

from __future__ import annotations

import argparse
from typing import Any


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "demo",
        help="show an operator at work",
        description="An operator on an API server in this process: it waits for a Secret, creates a StatefulSet, "
        "restores what another client changes, updates it with its Database and cleans up after it. Then a fake GPU "
        "breaks, and the Node is tainted until it is reset. It leaves nothing behind.",
    )
    command.add_argument(
        "--once", action="store_true", help="end after the demonstration, instead of waiting for Ctrl-C"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Give the demonstration; the exit code."""
    import asyncio

    from pilotage.cli.demo.databases import demonstration
    from pilotage.manager.errors import ManagerStopped

    try:
        asyncio.run(demonstration(once=options.once))
    except ManagerStopped as error:  # by a signal
        raise KeyboardInterrupt from error
    return 0
