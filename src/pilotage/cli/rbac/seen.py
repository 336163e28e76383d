"""Recorded runs: a command runs with recording on, and the permissions that its processes needed are kept in a file."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from pilotage.cli.rbac.grants import PermissionScope, RequiredPermission
from pilotage.cli.rbac.program import ProgramDefinition
from pilotage.cluster.recording import ENVIRONMENT, RecordedPermission
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported, shown
from pilotage.rest.permission import Permission

STDERR = 2


def record(command: Sequence[str], file: Path) -> None:
    """Run a command and write the permissions that it needed. Its output goes to standard error.

    Raises CommandError if the command fails, after the file was written.
    """
    with tempfile.TemporaryDirectory(prefix="pilotage-record-") as folder:
        with reported(f"cannot run {command[0]}"):
            ran = subprocess.run(  # noqa: S603 - the command of the user
                command, env={**os.environ, ENVIRONMENT: folder}, stdout=STDERR, check=False
            )
        found = {_shortened(seen) for each in Path(folder).iterdir() for seen in _lines(each)}
    write(file, found)
    if ran.returncode:
        raise CommandError(
            f"{' '.join(command)} ended with exit code {ran.returncode}; {file} has the requests recorded until then"
        )
    if not found:
        raise CommandError(
            f"{' '.join(command)} sent no request that could be recorded; check that it runs the program"
        )


def write(file: Path, seen: Iterable[RecordedPermission]) -> None:
    """Write the recorded permissions, in a stable order."""
    ordered = sorted(seen, key=lambda each: (each.group, each.resource, each.verb, each.namespace, each.place))
    lines = [f"  {msgspec.json.encode(each).decode()}" for each in ordered]
    text = "\n".join(("[", ",\n".join(lines), "]", "")) if lines else "[]\n"
    with reported(f"cannot write {file}"):
        file.write_text(text, encoding="utf-8")


def read(file: Path) -> list[RecordedPermission]:
    """What a file of `record` has."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[RecordedPermission])
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}; write it with --record {file} -- COMMAND") from error
    except msgspec.DecodeError as error:
        raise CommandError(f"{file} is not a file of pilotage rbac --record: {error}") from error


def of_the_program(
    seen: Iterable[RecordedPermission], reached: Iterable[ProgramDefinition]
) -> list[RecordedPermission]:
    """What the functions of the program did, or the library for them, without what tests and their fixtures did."""
    lines = {
        f"{each.source.file}:{line}"
        for each in reached
        for line in range(each.node.lineno, (each.node.end_lineno or each.node.lineno) + 1)
    }
    return [each for each in seen if not each.place or _whole(each.place) in lines]


def grants_of(seen: Sequence[RecordedPermission], known: Iterable[RequiredPermission]) -> list[RequiredPermission]:
    """The recorded permissions that are not known from the program. A resource that was used in a namespace has
    namespaces."""
    namespaced = {(each.group, each.resource) for each in seen if each.namespace}
    allowed = {(each.permission.group, each.permission.resource, each.permission.verb) for each in known}
    found: list[RequiredPermission] = []
    for each in seen:
        if (each.group, each.resource, each.verb) not in allowed and not _is_for_all(each):
            scope = PermissionScope.WATCHED if (each.group, each.resource) in namespaced else PermissionScope.CLUSTER
            permission = Permission(each.group, each.resource, each.verb)
            found.append(RequiredPermission(permission, scope, "seen in the run", each.place))
    return found


def _is_for_all(seen: RecordedPermission) -> bool:
    """Whether every user is allowed to do it: a user may ask for its own permissions."""
    return seen.group in ("authorization.k8s.io", "authentication.k8s.io") and seen.resource.startswith("selfsubject")


def _lines(file: Path) -> list[RecordedPermission]:
    lines = file.read_bytes().splitlines()
    return [msgspec.json.decode(line, type=RecordedPermission) for line in lines]


def _shortened(seen: RecordedPermission) -> RecordedPermission:
    """With a path that is the same on every machine, where the file is below the current folder."""
    file, _, line = seen.place.rpartition(":")
    return msgspec.structs.replace(seen, place=f"{shown(Path(file))}:{line}") if seen.place else seen


def _whole(place: str) -> str:
    file, _, line = place.rpartition(":")
    return f"{(Path.cwd() / file).resolve()}:{line}"
