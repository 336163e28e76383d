"""Errors of SQLite and the system as errors of Pilotage: what is wrong, with which file, and what to do."""

from __future__ import annotations

import errno

import apsw

from pilotage.errors import StorageBroken, StorageError, StorageFull

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SYNC_FAILED = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}
_DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError, apsw.MismatchError)


def translate(error: apsw.Error | OSError, path: str, system_errno: int = 0) -> StorageError:
    """The StorageError for an error of SQLite or of the system. `system_errno` is the number that SQLite's connection
    has."""
    if isinstance(error, OSError):
        return _of_system(error, path)
    if isinstance(error, _DAMAGED):
        return damaged(path, f"SQLite reports: {error}")
    no_room = isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and system_errno in _NO_ROOM)
    if no_room and getattr(error, "extendedresult", 0) not in _SYNC_FAILED:
        return full(path)
    if isinstance(error, apsw.IOError):
        return _failed(path, f"SQLite reports: {error}, errno {system_errno}")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StorageError(f"{path}: another program holds the database locked ({error}); close it there, or wait")
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return StorageError(f"{path} cannot be opened for writing ({error}): check its owner and mode")
    return StorageError(f"{path}: {type(error).__name__}: {error}")


def damaged(path: str, what: str) -> StorageBroken:
    """The error of a file whose contents are not what was written."""
    return StorageBroken(
        f"{path} is damaged: {what}. Nothing was changed in it. Restore it from a backup, or move it and the files"
        " beside it (-wal, -shm, -lock) away to start with an empty storage"
    )


def shortened(path: str, lock: str, revision: int, durable: int) -> StorageBroken:
    """The error of a file that ends before the last commit that was acknowledged."""
    return damaged(
        path,
        f"it ends at revision {revision}, but revision {durable} was committed to it; it is an older copy (then remove"
        f" {lock} to accept it), or the end of its WAL is lost",
    )


def full(path: str) -> StorageFull:
    """The error of a commit that creates or updates on a full disk."""
    return StorageFull(
        f"no space is left to write to {path}: free disk space (or raise the quota), or delete objects, which is"
        f' possible on a full disk, and run "pilotage store shrink sqlite:{path}"; then try again'
    )


def used_up(path: str) -> StorageFull:
    """The error of a delete for which no space is left, not even the space that was kept for it."""
    return StorageFull(
        f"no space is left to write to {path}, and the space reserved for deletes is used up: free disk space (or raise"
        " the quota), then try again"
    )


def _of_system(error: OSError, path: str) -> StorageError:
    if error.errno in _NO_ROOM:
        return full(path)
    if error.errno == errno.EIO:
        return _failed(path, str(error))
    where = error.filename or path
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(
            f"{where} cannot be written ({error.strerror}): check the owner and mode of it and its folder"
        )
    return StorageError(f"{path} cannot be opened: {where}: {error.strerror or error}")


def _failed(path: str, what: str) -> StorageBroken:
    return StorageBroken(
        f"the disk of {path} failed ({what}). Further writes are refused, reads continue. Whether the commits in"
        " progress took effect is not known until the storage is opened again: check the disk, then restart"
    )
