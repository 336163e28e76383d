"""The open files of a SQLite storage: the lock file with the space kept for deletes, and the database as a log."""

from __future__ import annotations

from contextlib import suppress

import apsw

from pilotage.errors import StorageFull, StorageReadOnly

from .errors import shortened, translate
from .file import mode_of, prepare, read_only, refuse_foreign, refuse_unprepared, resolve, sync_wal
from .lock import LockFile
from .log import Log
from .reserve import Reserve


class OpenFile:
    """Opens the file, and creates it if there is none. Raises StorageError and its subclasses.

    A file that cannot be written is opened read-only: `read_only` is the error of each commit.
    """

    def __init__(self, path: str, first_revision: int = 1) -> None:
        try:
            self.path = resolve(path)
            refuse_foreign(self.path)  # before any file is created beside it
            self.read_only = read_only(self.path)
            if self.read_only is not None:
                self._open_read_only(self.read_only)
                return
            self.lock: LockFile = LockFile(f"{self.path}-lock", mode_of(self.path))
        except (apsw.Error, OSError) as error:
            raise translate(error, path) from error
        try:
            self._prepare(first_revision)
            self.reserve = Reserve(self.path, self.lock)
            # On a full disk, even to read needs space: for the index of the WAL.
            self.log: Log = self.reserve.lend(lambda: Log(self.path))
        except BaseException:
            self.lock.close()
            raise

    def _open_read_only(self, refusal: StorageReadOnly) -> None:
        from .readonly import ReadOnlyLockFile, ReadOnlyLog

        refuse_unprepared(self.path)
        lock = ReadOnlyLockFile(f"{self.path}-lock")
        self.lock, self.reserve = lock, Reserve(self.path, lock)
        self.log = ReadOnlyLog(self.path, lock, refusal)

    def _prepare(self, first_revision: int) -> None:
        with self.lock.held():
            try:
                prepare(self.path, self.lock, first_revision)
            except (apsw.Error, OSError) as error:
                raise translate(error, self.path) from error

    def verify(self) -> None:
        """Have SQLite check every page, and compare the end of the log with the last acknowledged commit.

        Raises StorageBroken.
        """
        durable = self.lock.durable
        with self.log.transaction(write=False):
            self.log.check()
            revision = self.log.revision
        if self.read_only is None:
            with self.log.errors():
                sync_wal(self.path)
        if revision < durable:
            raise shortened(self.path, self.lock.path, revision, durable)

    def close(self) -> None:
        """Close the files. The WAL is moved into the database if no other process uses it."""
        with self.lock.held_if_free() as held:
            with suppress(StorageFull):  # the commits are durable in the WAL
                self.log.close(tidy=held)
            if held and self.lock.full:
                self.reserve.keep()
        self.lock.close()

    def abandon(self) -> None:
        """Close the files after an error: the WAL stays as it was found."""
        try:
            self.log.close(tidy=False)
        finally:
            self.lock.close()
