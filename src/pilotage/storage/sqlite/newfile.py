"""A SQLite storage that appears with its contents: it is written beside its path, and renamed when it is complete."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from pilotage.errors import StorageError

from .errors import full, translate
from .file import check_beginning, exists, mode_of, resolve, sync
from .lock import LockFile
from .storage import SqliteStorage


def is_free(path: str) -> bool:
    """Whether there is no file, or an empty one. Raises StorageError as `exists`."""
    return not exists(path) or os.stat(os.path.expanduser(path)).st_size == 0


@asynccontextmanager
async def new_file(path: str, first_revision: int = 1) -> AsyncIterator[SqliteStorage]:
    """A storage to fill, which is at the path when the block has succeeded; before, and if it is killed, none is.

    Other processes cannot open the path meanwhile. Raises StorageError, also if there is a storage already.
    """
    try:
        target = resolve(path)
        lock = LockFile(f"{target}-lock", mode_of(target))
        try:
            with lock.held():
                _check_free(target, lock)
                async with _draft(target, max(first_revision, lock.durable)) as storage:
                    yield storage
                lock.reached = lock.durable = storage.revision
        finally:
            lock.close()
    except OSError as error:
        raise translate(error, path) from error


@asynccontextmanager
async def _draft(target: str, first_revision: int) -> AsyncIterator[SqliteStorage]:
    """A storage beside the target, renamed to it at the end. Needs the lock of the target."""
    draft = f"{target}-restore"
    _remove(draft)  # of a process that was killed
    try:
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode_of(target)))
        storage = await SqliteStorage.open(draft, first_revision=first_revision)
        try:
            yield storage
        finally:
            await storage.close()
        _rename(draft, target)
    finally:
        _remove(draft)


def _check_free(path: str, lock: LockFile) -> None:
    if not is_free(path):
        raise StorageError(f"{path} exists: choose another path")
    check_beginning(path, lock, 0 if os.path.exists(path) else -1)


def _rename(draft: str, target: str) -> None:
    if os.path.exists(f"{draft}-wal"):  # it could not be moved into the file
        raise full(target)
    os.rename(draft, target)
    sync(os.path.dirname(target))


def _remove(draft: str) -> None:
    for file in (draft, f"{draft}-wal", f"{draft}-shm", f"{draft}-lock"):
        with suppress(FileNotFoundError):
            os.unlink(file)
