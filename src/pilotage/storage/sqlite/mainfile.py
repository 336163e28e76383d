"""The database file itself, beside the connection of SQLite: its space is allocated before a commit.

It is opened through SQLite: closing a descriptor of our own would drop the locks that this process has on the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

_MOST_BYTES = 1 << 16  # in one write: SQLite writes less than 128 KiB at once


class MainFile:
    """The open file. The caller has the lock of the storage."""

    def __init__(self, path: str) -> None:
        self._file = apsw.VFSFile("", path, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])

    @contextmanager
    def extended(self, size: int) -> Iterator[None]:
        """Extend the file to this size, so that a commit in the WAL can be moved into it; undone if the block fails.

        SQLite ignores the bytes behind the pages that it knows, and cuts them off when it moves the WAL.
        """
        before = self._file.xFileSize()
        if before >= size:
            yield
            return
        try:
            self._extend(before, size)
            yield
        except BaseException:
            self._file.xTruncate(before)
            raise

    def close(self) -> None:
        self._file.xClose()

    def _extend(self, before: int, size: int) -> None:
        try:
            for start in range(before, size, _MOST_BYTES):
                self._file.xWrite(bytes(min(size - start, _MOST_BYTES)), start)
        except apsw.IOError as error:
            import ctypes  # a short command should not load it

            number = ctypes.c_int()
            self._file.xFileControl(apsw.SQLITE_FCNTL_LAST_ERRNO, ctypes.addressof(number))
            raise OSError(number.value, os.strerror(number.value)) from error
