"""Options with which a command that can write changes nothing."""

from __future__ import annotations

import argparse


def is_dry_run(options: argparse.Namespace) -> bool:
    """Whether the server checks what it would write, and stores nothing."""
    return getattr(options, "dry_run", "none") == "server"


def only_reads(options: argparse.Namespace) -> bool:
    """Whether no write is sent to the server: a dry run in the client, or a list of labels."""
    if getattr(options, "dry_run", "none") == "client":
        return True
    if not getattr(options, "list", False):
        return False
    from pilotage.cli.kit.commands.label import is_change

    return not any(map(is_change, options.resources))
