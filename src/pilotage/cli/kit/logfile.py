"""The log of the reconcilers of a tool: JSON lines in a file of bounded size beside the storage."""

from __future__ import annotations

import os

MAX_BYTES = 1024 * 1024
"""A file of this size becomes the older one of two."""


def log_file_of(storage: str) -> str:
    """The file for the storage of a URL; empty if it has none: the log is kept beside SQLite files."""
    scheme, _, path = storage.partition(":")
    return f"{os.path.expanduser(path)}.log" if scheme == "sqlite" and path else ""


def older(path: str) -> str:
    return f"{path}.1"


class LogFile:
    """A stream that appends whole lines, so that several processes may write to the same file. Without a path it drops
    what it is given."""

    def __init__(self, path: str) -> None:
        self._path = path

    def write(self, text: str, /) -> int:
        if not self._path:
            return len(text)
        try:
            if os.path.exists(self._path) and os.path.getsize(self._path) > MAX_BYTES:
                os.replace(self._path, older(self._path))
            # One call of write for each event: lines of two processes do not mix.
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)
        except OSError:
            pass  # a full disk must not make a command fail whose work is done
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False
