"""`pilotage store`: maintains a storage. Backup and restore, a check, export and import as YAML, shrinking, keys."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pilotage.cli.flags import places
from pilotage.cli.help import examples


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "store",
        help="back up, restore, check, export, import and shrink a storage",
        description="Maintain the storage of an embedded API server. Other programs may use it at the same time.",
        epilog=examples(
            "pilotage store backup sqlite:demo.db demo.backup",
            "pilotage store restore demo.backup sqlite:new.db",
            "pilotage store check sqlite:demo.db",
            "pilotage store export sqlite:demo.db > objects.yaml",
        ),
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_backup(commands)
    _add_restore(commands)
    _add_check(commands)
    _add_export(commands)
    _add_import(commands)
    _add_shrink(commands)
    _add_rotate_keys(commands)


def _add(commands: Any, name: str, summary: str, description: str, *lines: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=description, epilog=examples(*lines)
    )
    command.set_defaults(run=lambda options: _run(name, options))
    return command


def _add_storage(command: argparse.ArgumentParser) -> None:
    command.add_argument("storage", metavar="URL", help=places.STORAGES)


def _add_backup(commands: Any) -> None:
    command = _add(
        commands,
        "backup",
        "write all data to a file",
        "Write all data of all tenants, as they are at one moment, to a file. The storage may be written meanwhile."
        " Encrypted values stay encrypted.",
        "pilotage store backup sqlite:demo.db demo.backup",
    )
    _add_storage(command)
    command.add_argument("file", type=Path, metavar="FILE", help="a new file; only its owner can read it")


def _add_restore(commands: Any) -> None:
    command = _add(
        commands,
        "restore",
        "restore a backup into a new storage",
        "Restore a backup into an empty storage. Revisions of a SQLite file continue after those of the backup, so that"
        " no resource version appears twice.",
        "pilotage store restore demo.backup sqlite:new.db",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="the backup")
    _add_storage(command)


def _add_check(commands: Any) -> None:
    command = _add(
        commands,
        "check",
        "check a storage and every object in it",
        "Check the file, its checksums and every object, and list what is wrong. Exit code 1 if something is.",
        "pilotage store check sqlite:demo.db",
    )
    _add_storage(command)
    places.add_encryption_keys(command)


def _add_export(commands: Any) -> None:
    command = _add(
        commands,
        "export",
        "print all objects as YAML",
        "Print the objects of a tenant as YAML that `import` and `kubectl apply` accept: definitions and namespaces"
        " first, without what the server sets, without owners, and without what every cluster has.",
        "pilotage store export sqlite:demo.db > objects.yaml",
    )
    _add_storage(command)
    places.add_tenant(command, default="default")
    places.add_encryption_keys(command)
    command.add_argument("-n", "--namespace", default="", metavar="NAME", help="only objects of this namespace")
    command.add_argument(
        "--skip-damaged",
        action="store_true",
        help="export what can be read of a damaged SQLite file; list the rest on standard error, and exit with code 1",
    )


def _add_import(commands: Any) -> None:
    command = _add(
        commands,
        "import",
        "apply objects from YAML files",
        "Apply the objects of YAML files, their status too.",
        "pilotage store import sqlite:demo.db objects.yaml",
        "pilotage store import sqlite:demo.db - < objects.yaml",
    )
    _add_storage(command)
    command.add_argument("files", type=Path, nargs="+", metavar="FILE", help="files or folders; - is standard input")
    places.add_tenant(command, default="default")
    places.add_encryption_keys(command)


def _add_shrink(commands: Any) -> None:
    command = _add(
        commands,
        "shrink",
        "give free space of a SQLite file back",
        "Remove the history of a SQLite file, and give its free space back to the file system. Programs that resume a"
        " watch from an older version have to list again.",
        "pilotage store shrink sqlite:demo.db",
    )
    _add_storage(command)


def _add_rotate_keys(commands: Any) -> None:
    command = _add(
        commands,
        "rotate-keys",
        "encrypt all Secrets again",
        "Encrypt every Secret with the first of the given keys. All programs that use the storage must have been given"
        " this key before. The other keys can be removed afterwards.",
        "pilotage store rotate-keys sqlite:demo.db --encryption-keys keys",
    )
    _add_storage(command)
    places.add_encryption_keys(command, required=True)


def _run(name: str, options: argparse.Namespace) -> int:
    import asyncio

    from pilotage.cli.store import commands

    command: Any = getattr(commands, name.replace("-", "_") + ("_objects" if name == "import" else ""))
    return int(asyncio.run(command(options)) or 0)
