"""Files that commands read (one, all files of a folder, standard input), and files that they write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pilotage.kit.console.errors import CommandError

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")


@contextmanager
def reported(failure: str) -> Iterator[None]:
    """Raise CommandError with this failure and the reason for an OSError in the block."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{failure}: {error.strerror or error}") from error


def files_in(folder: Path, *, recursive: bool = False) -> list[Path]:
    """The files of a folder that can have documents, in the order of their names. A link to a file that does not exist
    is one of them. Raises CommandError if a folder cannot be read."""
    found: list[Path] = []
    waiting = [str(folder)]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        found.append(Path(entry.path))
                    elif recursive:
                        waiting.append(entry.path)
        except OSError as error:
            reason = f"open {path}: {(error.strerror or '').lower()}"
            raise CommandError(f'error reading "{folder}": {reason}{_remedy(path, error)}') from error
    return sorted(file for file in found if file.suffix in SUFFIXES)


def content_of(path: Path) -> bytes:
    """The bytes of a file, or of standard input. Raises CommandError."""
    if str(path) != STANDARD_INPUT:
        try:
            return path.read_bytes()
        except OSError as error:
            raise CommandError(f"cannot read {path}: {error.strerror}{_remedy(str(path), error)}") from error
    if sys.stdin is None:  # the parent has closed it, as `<&-` does
        raise CommandError(
            "cannot read standard input: it is closed; pipe the objects into the command, or name a file"
        )
    with reported("cannot read standard input"):
        return sys.stdin.buffer.read()


def write_files(directory: Path, texts: Mapping[str, str]) -> None:
    """Write texts, by file name, into a directory that is created if it does not exist."""
    with reported(f"cannot write to {directory}"):
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")


def shown(path: Path) -> Path:
    """A path as it is printed: relative to the current folder if it is in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _remedy(path: str, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "; make it readable for this user, or leave it out"
    if isinstance(error, FileNotFoundError) and os.path.islink(path):
        return f"; it is a link to {os.readlink(path)}: create that file, or remove the link"
    return ""
