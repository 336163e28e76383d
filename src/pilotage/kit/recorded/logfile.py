"""The log of the reconcilers of a tool: JSON lines in a file of bounded size, beside the storage or on this machine.

The history of the reconciles is in a file beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress

MAX_BYTES = 1024 * 1024
"""A file of this size becomes the older one of two."""


def log_file_of(storage: str, tenant: str) -> str:
    """The file for a tenant of a storage, beside the file of SQLite; for etcd, one of this machine in the user's folder
    for states. Empty for a storage in memory, whose objects end with the command."""
    scheme, _, path = storage.partition(":")
    suffix = ".log" if tenant == "default" else f".{tenant}.log"  # no name of a tenant has a dot
    if scheme == "sqlite" and path:
        return f"{os.path.expanduser(path)}{suffix}"
    if scheme == "etcd" and path:
        folder = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        address = path.rpartition("@")[2].partition("?")[0].strip("/")  # neither user and password nor files
        return f"{folder}/pilotage/logs/etcd-{re.sub('[^A-Za-z0-9.-]+', '_', address)}{suffix}"
    return ""


def older(path: str) -> str:
    return f"{path}.1"


def history_beside(path: str) -> str:
    """The file with the history of reconciles, beside a log."""
    return f"{path.removesuffix('.log')}.history" if path else ""


def remove(path: str) -> None:
    """Remove a log and the history beside it, if there are any."""
    history = history_beside(path)
    for file in (path, older(path), history, older(history)) if path else ():
        with suppress(FileNotFoundError):
            os.remove(file)


def append(path: str, data: bytes) -> None:
    """Append whole lines to a file of bounded size. A full disk must not make a command fail whose work is done: then
    they are lost."""
    with suppress(OSError):
        if os.path.exists(path) and os.path.getsize(path) > MAX_BYTES:
            os.replace(path, older(path))
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
        # One call of write for each event: lines of two processes do not mix.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


class LogFile:
    """A stream that appends whole lines, so that several processes may write to the same file. Without a path it drops
    what it is given."""

    def __init__(self, path: str, begins: Callable[[], bool] = lambda: True) -> None:
        """What is written before `begins()` is true is kept until then: a tenant that is not created has no log."""
        self._path = path
        self._begins = begins
        self._kept = ""

    def write(self, text: str, /) -> int:
        if not self._path:
            return len(text)
        self._kept += text
        if self._begins():
            append(self._path, self._kept.encode())
            self._kept = ""
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False
