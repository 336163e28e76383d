"""The log of the reconcilers of a tool: JSON lines in a file of bounded size, beside the storage or on this machine."""

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
        place = path.rpartition("@")[2].partition("?")[0].strip("/")  # neither user and password nor files
        return f"{folder}/pilotage/logs/etcd-{re.sub('[^A-Za-z0-9.-]+', '_', place)}{suffix}"
    return ""


def older(path: str) -> str:
    return f"{path}.1"


def remove(path: str) -> None:
    """Remove a log, if there is one."""
    for file in (path, older(path)) if path else ():
        with suppress(FileNotFoundError):
            os.remove(file)


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
            self._append(self._kept)
            self._kept = ""
        return len(text)

    def _append(self, text: str) -> None:
        try:
            if os.path.exists(self._path) and os.path.getsize(self._path) > MAX_BYTES:
                os.replace(self._path, older(self._path))
            os.makedirs(os.path.dirname(self._path) or ".", mode=0o700, exist_ok=True)
            # One call of write for each event: lines of two processes do not mix.
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)
        except OSError:
            pass  # a full disk must not make a command fail whose work is done

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False
