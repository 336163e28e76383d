"""A SQLite file that this process may read and not write: its lock file and its log.

SQLite reads a database in WAL mode with the help of `-wal` and `-shm`. A reader must not create them: they would belong
to it, with the mode of the database, and a later writer could not write to them. So there are two cases:

- Both are there: a process uses the file, or was killed. SQLite opens them read-only, and takes its read locks.
- There is no `-wal`, or it is empty: every commit is in the database itself. It is opened as `immutable`, that is
  without any lock of SQLite. That is right only while nothing is written, so the lock file is held meanwhile, which
  every writer needs to commit and to move commits from the WAL into the database. Where the lock file cannot be read
  either, the file is compared before and after, and a read during which it has changed fails.

So every read transaction decides again, with a connection of its own: the first writer creates both files, and the last
one removes them.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import apsw

from pilotage.errors import StorageBusy, StorageError, StorageReadOnly

from .file import check_format, settings
from .lock import SIZE, LockFile
from .log import Log

_UNKNOWN = 1 << 62
"""In place of the last revision if the lock file cannot be read: every read looks into the database."""


class ReadOnlyLockFile(LockFile):
    """The lock file, if there is one that can be read. Readers hold it together; nothing in it is changed."""

    _mode = fcntl.LOCK_SH

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor = -1
        self._stuck = ""
        self._words = memoryview(bytes(SIZE)).cast("Q")
        with suppress(FileNotFoundError, PermissionError):
            self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if self.descriptor < 0:
            return
        try:
            if self._is_blank():
                os.close(self.descriptor)
                self.descriptor = -1
                return
            self._check_magic()
            self._words = memoryview(mmap.mmap(self.descriptor, SIZE, access=mmap.ACCESS_READ)).cast("Q")
        except BaseException:
            os.close(self.descriptor)
            raise

    @property
    def reached(self) -> int:
        return super().reached if self.descriptor >= 0 else _UNKNOWN

    @reached.setter
    def reached(self, revision: int) -> None:
        raise self._refusal()

    @property
    def full(self) -> bool:
        """The writers keep the space for deletes."""
        return False

    @full.setter
    def full(self, full: bool) -> None:
        raise self._refusal()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock together with other readers; no process writes meanwhile."""
        if self.descriptor < 0:
            yield
            return
        with self._locked():
            yield

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """What is done with the lock if it is free is done by writers."""
        yield False

    def close(self) -> None:
        if self.descriptor >= 0:
            super().close()

    def _refusal(self) -> StorageError:
        return StorageReadOnly(f"{self.path} is open read-only")


class ReadOnlyLog(Log):
    """The log, with a connection for each transaction."""

    def __init__(self, path: str, lock: ReadOnlyLockFile, refusal: StorageReadOnly) -> None:
        self.path = path
        self.checkpoint_pages = self._wal_pages = 0
        self._lock = lock
        self._refusal = refusal
        self._transactions = 0

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[None]:
        if write:
            raise self._refusal
        with self.errors(), self._lock.held(), unchanged(self.path, self._lock):
            self._connection = self._connect()
            self._transactions += 1
            try:
                self._connection.execute("BEGIN")
                yield
            finally:
                self._connection.close(True)

    def _connect(self) -> apsw.Connection:
        return connect_read_only(self.path)

    def data_version(self) -> int:
        """SQLite's number is the number of a connection; each transaction may have more."""
        return self._transactions

    def checkpoint_due(self) -> bool:
        return False

    def close(self, *, tidy: bool) -> None:
        """Nothing is open between transactions."""


def connect_read_only(path: str, *, truncated: bool = False) -> apsw.Connection:
    """A connection that writes to no file and creates none. The lock must be held. Raises StorageError.

    `truncated`: the file may be shorter than its header states. SQLite then reads no page of it, unless the schema may
    be changed, which a connection that is read-only cannot do.
    """
    wal, shared = f"{path}-wal", f"{path}-shm"
    uses_wal = not _is_empty(wal)
    for file in (wal, shared) if uses_wal else ():
        if not os.access(file, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise StorageReadOnly(
                f"{path} cannot be read: {wal} has commits that are not in it, and {file} is missing or cannot be read;"
                " open it once as a user who may write to it, or have that user make a backup"
            )
    how = "readonly_shm" if uses_wal else "immutable"
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quoted}?mode=ro&{how}=1", flags=flags)
    try:
        settings(connection)
        if truncated:
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
            connection.pragma("writable_schema", 1)
        check_format(connection, path)
    except BaseException:
        connection.close(True)
        raise
    return connection


@contextmanager
def unchanged(path: str, lock: ReadOnlyLockFile) -> Iterator[None]:
    """Raise StorageBusy if the file was written in the block. Where the lock is held, it cannot be."""
    before = _state(path)
    yield
    if lock.descriptor < 0 and _is_empty(f"{path}-wal") and _state(path) != before:
        raise StorageBusy(f"{path} was written while it was read, and {lock.path} cannot be locked: try again")


def _is_empty(path: str) -> bool:
    try:
        return os.stat(path).st_size == 0
    except FileNotFoundError:
        return True


def _state(path: str) -> tuple[int, int, int, bool]:
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns, _is_empty(f"{path}-wal")
