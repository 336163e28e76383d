"""`pilotage demo`: an operator on the embedded API server and on fake GPUs, which prints each step and its reason."""

from __future__ import annotations

import argparse
from typing import Any

from pilotage.kit.console.flags import add_switch
from pilotage.kit.console.help import add_command


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "demo",
        "run an example operator on the embedded API server",
        "Run an example operator on an API server in this process. It waits for a Secret, creates a "
        "StatefulSet, reverts a change by another client, applies a change of its Database and cleans up when the "
        "Database is deleted. Then a fake GPU fails, and the operator taints the Node until the GPU is reset. Nothing "
        "is left on disk.",
        "pilotage demo --once",
        run=run,
    )
    add_switch(command, "--once", "exit after the demonstration instead of waiting for Ctrl-C")


def run(options: argparse.Namespace) -> int:
    """Run the demonstration and return the exit code."""
    import asyncio

    from pilotage.cli.demo.databases import run_demo
    from pilotage.manager.errors import ManagerStopped

    try:
        asyncio.run(run_demo(once=options.once))
    except ManagerStopped as error:  # by a signal
        raise KeyboardInterrupt from error
    return 0
