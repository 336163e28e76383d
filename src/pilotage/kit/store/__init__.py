"""The commands that maintain a storage, for `pilotage store` and for tools: their flags. Light, as `kit.arguments`.

`kit.store.commands` has what they do."""

from __future__ import annotations

import argparse

from pilotage.errors import Record
from pilotage.kit.console.flags import add_switch, add_value
from pilotage.kit.console.flags.storages import suggest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class StoreArguments:
    """The arguments of these commands, each a field."""

    storage: str
    tenant: str = "default"
    encryption_keys: str | None = None
    file: Path
    """The backup."""
    files: list[Path]
    namespace: str
    into: str = "default"
    """The namespace of imported objects that name none."""
    audit: tuple[str, str] = ("", "")
    """The file of the audit log, and the file of its policy."""
    without_owners: bool
    skip_damaged: bool
    skip_invalid: bool

    def __init__(self, **given: object) -> None:
        vars(self).update(given)


class StoreCommand(Record):
    """A command that maintains a storage."""

    __slots__ = __match_args__ = ("name", "summary", "description", "examples", "add", "tenant", "keys", "file_first")

    name: str
    summary: str
    description: str
    examples: tuple[str, ...]
    """Its arguments in command lines; `{}` is the URL of the storage, which tools leave out."""
    add: Callable[[argparse.ArgumentParser], None]
    """Adds the flags, besides those that choose the storage."""
    tenant: bool
    """Whether it is for one tenant."""
    keys: str
    """What the keys of the storage are for it: `optional`, `required`, or nothing (empty)."""
    file_first: bool
    """Whether its file stands before the storage."""

    def __init__(
        self,
        name: str,
        summary: str,
        description: str,
        *examples: str,
        add: Callable[[argparse.ArgumentParser], None] = lambda parser: None,
        tenant: bool = False,
        keys: str = "optional",
        file_first: bool = False,
    ) -> None:
        self._set(name, summary, description, examples, add, tenant, keys, file_first)

    def perform(self, options: StoreArguments) -> int:
        """Run it; the exit code. Raises PilotageError."""
        import asyncio

        from pilotage.kit.store import commands

        run = getattr(commands, self.name.replace("-", "_") + ("_objects" if self.name == "import" else ""))
        return int(asyncio.run(run(options)) or 0)


def _add_file(parser: argparse.ArgumentParser, about: str) -> None:
    from pathlib import Path

    parser.add_argument("file", type=Path, metavar="FILE", help=about)


def _backup(parser: argparse.ArgumentParser) -> None:
    _add_file(parser, "a new file; only its owner can read it")


def _restore(parser: argparse.ArgumentParser) -> None:
    _add_file(parser, "the backup")
    add_switch(parser, "--skip-invalid", "restore the valid objects; list the others on standard error")


def _export(parser: argparse.ArgumentParser) -> None:
    suggest(add_value(parser, "-n --namespace", "NAME", "only objects of this namespace"), None)
    add_switch(parser, "--without-owners", "print the objects without owners, as `kubectl apply` accepts them")
    add_switch(
        parser,
        "--skip-damaged",
        "export what can be read of a damaged SQLite file; list the rest on standard error, and exit with code 1",
    )


def _import(parser: argparse.ArgumentParser) -> None:
    from pathlib import Path

    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="files or folders; - is standard input")


_ALL = (
    StoreCommand(
        "backup",
        "write all data to a file",
        "Write all data of all tenants, as they are at one moment, to a file. The storage may be written meanwhile."
        " Encrypted values stay encrypted.",
        "{} demo.backup",
        add=_backup,
        keys="",
    ),
    StoreCommand(
        "restore",
        "restore a backup into a new storage",
        "Restore a backup into an empty storage, if all of its objects are valid. Revisions of a SQLite file continue"
        " after the revisions of the backup, so that no resource version appears twice.",
        "demo.backup {}",
        add=_restore,
        file_first=True,
    ),
    StoreCommand(
        "check",
        "check a storage and every object in it",
        "Check the file, its checksums and every object, and list what is wrong. Exit code 1 if something is.",
        "{}",
    ),
    StoreCommand(
        "export",
        "print all objects as YAML",
        "Print the objects of a tenant as YAML that `import` accepts: definitions and namespaces first, without what"
        " the server sets, and without what every cluster has. Owners are kept by name; `import` fills in their uids.",
        "{} > objects.yaml",
        add=_export,
        tenant=True,
    ),
    StoreCommand(
        "import",
        "apply objects from YAML files",
        "Apply the objects of YAML files, their status too.",
        "{} objects.yaml",
        "{} - < objects.yaml",
        add=_import,
        tenant=True,
    ),
    StoreCommand(
        "shrink",
        "give free space of a SQLite file back",
        "Remove the history of a SQLite file, and give its free space back to the file system. Programs that resume a"
        " watch from an older version have to list again.",
        "{}",
        keys="",
    ),
    StoreCommand(
        "rotate-keys",
        "encrypt all Secrets again",
        "Encrypt every Secret with the first of the given keys. All programs that use the storage must have been given"
        " this key before. The other keys can be removed afterwards.",
        "{} --encryption-keys keys",
        keys="required",
    ),
)
COMMANDS = {each.name: each for each in _ALL}
