"""Output files of a command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pilotage.cli.errors import CommandError


def write_files(directory: Path, texts: Mapping[str, str]) -> None:
    """Write texts, by file name, into a directory that is created if it does not exist."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write to {directory}: {error.strerror}") from error
