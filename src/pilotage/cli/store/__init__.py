"""`pilotage store`: maintains a storage. Backup and restore, a check, export and import as YAML, shrinking, keys."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pilotage.kit.console.flags import add_switch, add_value, places
from pilotage.kit.console.help import add_command


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = add_command(
        subparsers,
        "store",
        "back up, restore, check, export, import and shrink a storage",
        "Maintain the storage of an embedded API server. Other programs may use it at the same time.",
        "pilotage store backup sqlite:demo.db demo.backup",
        "pilotage store restore demo.backup sqlite:new.db",
        "pilotage store check sqlite:demo.db",
        "pilotage store export sqlite:demo.db > objects.yaml",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_copies(commands)
    _add_objects(commands)
    _add_maintenance(commands)


def _add(
    commands: Any, name: str, summary: str, description: str, *lines: str, backup: bool = False
) -> argparse.ArgumentParser:
    """Add a command for a storage; with `backup`, its first argument is the backup."""
    command = add_command(commands, name, summary, description, *lines, run=lambda options: _run(name, options))
    if backup:
        command.add_argument("file", type=Path, metavar="FILE", help="the backup")
    command.add_argument("storage", metavar="URL", help=places.STORAGES)
    return command


def _add_copies(commands: Any) -> None:
    command = _add(
        commands,
        "backup",
        "write all data to a file",
        "Write all data of all tenants, as they are at one moment, to a file. The storage may be written meanwhile."
        " Encrypted values stay encrypted.",
        "pilotage store backup sqlite:demo.db demo.backup",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="a new file; only its owner can read it")
    command = _add(
        commands,
        "restore",
        "restore a backup into a new storage",
        "Restore a backup into an empty storage, if all of its objects are valid. Revisions of a SQLite file continue"
        " after those of the backup, so that no resource version appears twice.",
        "pilotage store restore demo.backup sqlite:new.db",
        backup=True,
    )
    places.add_encryption_keys(command)
    add_switch(command, "--skip-invalid", "restore the valid objects; list the others on standard error")
    command = _add(
        commands,
        "check",
        "check a storage and every object in it",
        "Check the file, its checksums and every object, and list what is wrong. Exit code 1 if something is.",
        "pilotage store check sqlite:demo.db",
    )
    places.add_encryption_keys(command)


def _add_objects(commands: Any) -> None:
    command = _add(
        commands,
        "export",
        "print all objects as YAML",
        "Print the objects of a tenant as YAML that `import` accepts: definitions and namespaces first, without what"
        " the server sets, and without what every cluster has. Owners are kept by name; `import` fills in their uids.",
        "pilotage store export sqlite:demo.db > objects.yaml",
    )
    places.add_tenant(command, default="default")
    places.add_encryption_keys(command)
    add_value(command, "-n --namespace", "NAME", "only objects of this namespace")
    add_switch(command, "--without-owners", "print the objects without owners, as `kubectl apply` accepts them")
    add_switch(
        command,
        "--skip-damaged",
        "export what can be read of a damaged SQLite file; list the rest on standard error, and exit with code 1",
    )
    command = _add(
        commands,
        "import",
        "apply objects from YAML files",
        "Apply the objects of YAML files, their status too.",
        "pilotage store import sqlite:demo.db objects.yaml",
        "pilotage store import sqlite:demo.db - < objects.yaml",
    )
    command.add_argument("files", type=Path, nargs="+", metavar="FILE", help="files or folders; - is standard input")
    places.add_tenant(command, default="default")
    places.add_encryption_keys(command)


def _add_maintenance(commands: Any) -> None:
    _add(
        commands,
        "shrink",
        "give free space of a SQLite file back",
        "Remove the history of a SQLite file, and give its free space back to the file system. Programs that resume a"
        " watch from an older version have to list again.",
        "pilotage store shrink sqlite:demo.db",
    )
    command = _add(
        commands,
        "rotate-keys",
        "encrypt all Secrets again",
        "Encrypt every Secret with the first of the given keys. All programs that use the storage must have been given"
        " this key before. The other keys can be removed afterwards.",
        "pilotage store rotate-keys sqlite:demo.db --encryption-keys keys",
    )
    places.add_encryption_keys(command, required=True)


def _run(name: str, options: argparse.Namespace) -> int:
    import asyncio

    from pilotage.cli.store import commands

    command: Any = getattr(commands, name.replace("-", "_") + ("_objects" if name == "import" else ""))
    return int(asyncio.run(command(options)) or 0)
