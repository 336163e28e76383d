"""Files of commands: those that they read (one, those of a folder, standard input), and those that they write."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pilotage.cli.errors import CommandError

STANDARD_INPUT = "-"
SUFFIXES = (".yaml", ".yml", ".json")


@contextmanager
def reported(failure: str) -> Iterator[None]:
    """Raise CommandError with this failure and the reason for an OSError in the block."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{failure}: {error.strerror}") from error


def files_in(folder: Path, *, recursive: bool = False) -> list[Path]:
    """The files of a folder that can have documents, in the order of their names."""
    files = folder.rglob("*") if recursive else folder.iterdir()
    return sorted(file for file in files if file.suffix in SUFFIXES and file.is_file())


def content_of(path: Path) -> bytes:
    """The bytes of a file, or of standard input. Raises CommandError."""
    with reported(f"cannot read {path}"):
        return sys.stdin.buffer.read() if str(path) == STANDARD_INPUT else path.read_bytes()


def write_files(directory: Path, texts: Mapping[str, str]) -> None:
    """Write texts, by file name, into a directory that is created if it does not exist."""
    with reported(f"cannot write to {directory}"):
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
