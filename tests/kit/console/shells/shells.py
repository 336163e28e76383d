"""Shells that complete command lines, as a person uses them: in a terminal."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest


def needs(shell: str) -> str:
    """The path of a shell; the test is skipped where it is not installed."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed: apt-get install {shell}")
    return found


@contextmanager
def interactive(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[int]:
    """A shell in a terminal of its own; the descriptor to type to and to read from."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, cwd=folder, env=environment, start_new_session=True, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        try:
            yield ours
        finally:
            process.kill()
            os.close(ours)


def read_until(terminal: int, expected: str) -> None:
    """Read what the shell prints until it has printed a text."""
    read = b""
    while expected.encode() not in read:
        assert select.select([terminal], [], [], 60)[0], f"the shell printed {read.decode()}"
        read += os.read(terminal, 65536)
