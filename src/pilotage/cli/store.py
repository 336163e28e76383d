"""`pilotage store`: maintains a storage. Backup and restore, a check, export and import as YAML, shrinking, keys."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from pilotage.kit.console.flags import storages
from pilotage.kit.console.help import add_command
from pilotage.kit.store import COMMANDS, StoreArguments, StoreCommand


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = add_command(
        subparsers,
        "store",
        "back up, restore, check, export, import and shrink a storage",
        "Maintain the storage of an embedded API server. Other programs may use it at the same time.",
        *(_example(COMMANDS[name], 0) for name in ("backup", "restore", "check", "export")),
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS.values():
        _add(commands, command)


def _example(command: StoreCommand, number: int) -> str:
    url = "sqlite:new.db" if command.name == "restore" else "sqlite:demo.db"
    return f"pilotage store {command.name} {command.examples[number].format(url)}"


def _add(commands: Any, command: StoreCommand) -> None:
    lines = [_example(command, number) for number in range(len(command.examples))]
    run = partial(_run, command)
    parser = add_command(commands, command.name, command.summary, command.description, *lines, run=run)
    if command.file_first:
        command.add(parser)
    parser.add_argument("storage", metavar="URL", help=storages.STORAGES)
    if not command.file_first:
        command.add(parser)
    if command.tenant:
        storages.add_tenant(parser, default="default")
    if command.keys:
        storages.add_encryption_keys(parser, required=command.keys == "required")


def _run(command: StoreCommand, options: argparse.Namespace) -> int:
    return command.perform(StoreArguments(**vars(options)))
