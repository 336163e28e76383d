"""`pilotage demo`: a short tour on the embedded server that prints what happens."""

from __future__ import annotations

import argparse
from typing import Any


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "demo",
        help="show what Pilotage does, in a short tour",
        description="A tour on an API server in this process: a CRD is made from a Python class; objects are created, "
        "patched, refused, watched and deleted. It leaves nothing behind.",
    )
    command.add_argument("--once", action="store_true", help="end after the tour, instead of waiting for Ctrl-C")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Give the tour; the exit code."""
    import asyncio

    from pilotage.cli.tour import tour

    asyncio.run(tour(once=options.once))
    return 0
