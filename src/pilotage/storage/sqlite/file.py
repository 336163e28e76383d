"""The SQLite file of a storage: creates it, opens it, or refuses it with a reason.

A new file is written completely under another name and then renamed, so that an existing file is never incomplete. A
file that is refused is not changed.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from contextlib import closing, suppress

import apsw

from pilotage.errors import StorageBroken, StorageError, StorageReadOnly

from .errors import damaged, translate
from .formats import FORMAT_NEEDS, newest_format, refuse_newer, upgrade
from .lock import LockFile

APPLICATION_ID = 0x50494C54
"""Marks a SQLite file as a storage of Pilotage ("PILT")."""

PAGE_BYTES = 8192  # fits three objects of 2 KB; 4096 would fit one
_SPILL_PAGES = 2048  # more than a transaction has, without the largest commits
BUSY_MILLISECONDS = 10_000
_MAGIC = b"SQLite format 3\0"

# The pragmas come first: page size and auto_vacuum can only be chosen while the file is empty.
_SCHEMA = f"""
PRAGMA page_size = {PAGE_BYTES};
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {newest_format()};
BEGIN;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE log (
    id INTEGER PRIMARY KEY, -- revision * 1024 + position in the commit
    key TEXT NOT NULL,
    value BLOB,             -- NULL: deleted
    created INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;
"""


def exists(path: str) -> bool:
    """Whether there is a file. Raises StorageError where that cannot be found out: a folder that may not be searched, a
    file in the place of a folder, links that lead to each other."""
    resolved = _real_path(path)
    try:
        os.stat(resolved)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unreachable(resolved, error) from error
    return True


def resolve(path: str) -> str:
    """The path without links and tilde. A missing folder is created.

    Raises StorageError where no file can be, or where it may be neither read nor created.
    """
    if path == ":memory:":  # SQLite's word, which would be the name of a file here
        raise StorageError(f"{path!r}: for a storage that is in memory only, use memory:")
    resolved = _real_path(path)
    folder = os.path.dirname(resolved)
    _create_folder(folder)
    if os.path.lexists(resolved):
        if not stat.S_ISREG(os.stat(resolved).st_mode):
            raise StorageError(f"{resolved} is not a file")
        if not os.access(resolved, os.R_OK, effective_ids=_EFFECTIVE):
            raise StorageError(f"{resolved} cannot be read (Permission denied): check its owner and mode")
    elif not os.access(folder, os.W_OK | os.X_OK, effective_ids=_EFFECTIVE):
        raise PermissionError(errno.EACCES, "Permission denied", folder)
    return resolved


def read_only(path: str) -> StorageReadOnly | None:
    """The error of a commit, if the file can be read and not written: it, a file beside it, or their folder.

    All of them are needed for a write. A missing file can be written where it can be created.
    """
    if not os.path.exists(path):
        return None  # it is created, or that fails
    folder = os.path.dirname(path)
    for file in (path, f"{path}-lock", f"{path}-wal", f"{path}-shm"):
        place = file if os.path.lexists(file) else folder
        if not os.access(place, os.W_OK | (os.X_OK if place is folder else os.R_OK), effective_ids=_EFFECTIVE):
            cause = "Read-only file system" if os.statvfs(folder).f_flag & os.ST_RDONLY else "Permission denied"
            return StorageReadOnly(
                f"{path} is read-only: {place} cannot be written ({cause}). Nothing was written; check the owner and "
                "mode of the file, of those beside it (-lock, -wal, -shm), and of their folder"
            )
    return None


def mode_of(path: str) -> int:
    """The permissions of the files beside it: the permissions of the file; for a new one, the owner only."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode) & 0o666
    except FileNotFoundError:
        return 0o600


def refuse_foreign(path: str) -> None:
    """Refuse a file that is not a storage of this version. Needs no lock: a storage is complete when it appears."""
    if os.path.exists(path) and os.stat(path).st_size > 0:
        _check_header(path)


def refuse_unprepared(path: str) -> None:
    """Refuse a file that cannot be read without being changed first. Raises StorageError."""
    if os.stat(path).st_size == 0:
        raise StorageReadOnly(f"{path} is empty and read-only: it has no data, and none can be written to it")
    if (found := _check_header(path)) < newest_format():
        raise StorageReadOnly(
            f"{path} has format {found}, which is upgraded to format {newest_format()} before it is read, and the file "
            "is read-only: open it once as a user who may write to it"
        )


def prepare(path: str, lock: LockFile, first_revision: int = 1) -> None:
    """Create the file if there is none, refuse one that is not a storage, and upgrade an old one. Needs the lock."""
    size = os.stat(path).st_size if os.path.exists(path) else -1
    if size <= 0:
        check_beginning(path, lock, size)
        # A file that was removed is a new storage, but clients know its revisions: they must not be used again.
        first = max(first_revision, lock.durable)
        _make(path, first)
        lock.reached = lock.durable = first
    elif _check_header(path) < newest_format():
        from pilotage.telemetry.logs import logger  # a short command should not load it

        before = upgrade(path, write_meta)
        logger("pilotage.storage").info("Upgraded the storage", path=path, format=before, new_format=newest_format())


def connect(path: str) -> apsw.Connection:
    """A connection that commits durably. It checkpoints only on request, so that no failure is missed.

    Raises StorageError and its subclasses.
    """
    # NOMUTEX: one thread at a time uses it. Never CREATE: a file that was removed meanwhile must be an error.
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX)
    try:
        settings(connection)
        # SQLite does not report the failure of a checkpoint that follows a commit.
        connection.wal_autocheckpoint(0)
        # A commit that does not fit leaves nothing in the WAL then.
        connection.pragma("cache_spill", _SPILL_PAGES)
        # With NORMAL, SQLite does not sync the WAL at a commit.
        connection.pragma("synchronous", "FULL")
        if connection.pragma("journal_mode") != "wal":
            raise damaged(path, "it is not in WAL mode")
        check_format(connection, path)
    except BaseException as error:
        failure = translate(error, path, connection.system_errno) if isinstance(error, apsw.Error) else error
        connection.close()
        raise failure from None
    return connection


def settings(connection: apsw.Connection) -> None:
    """What every connection has: nothing in the file is trusted, and closing it moves nothing."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.pragma("trusted_schema", 0)
    connection.pragma("cell_size_check", 1)


def check_format(connection: apsw.Connection, path: str) -> None:
    """The header that was checked before may be older than the WAL, in which an upgrade was committed."""
    refuse_newer(path, int(connection.pragma("user_version")), "of the version that wrote it")


def meta_checksum(name: str, value: str) -> int:
    """The CRC-32 of a row of the table meta."""
    return zlib.crc32(f"{name}={value}".encode())


def write_meta(connection: apsw.Connection, name: str, value: str) -> None:
    """Write a row of the table meta. Needs a transaction."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (name, value, meta_checksum(name, value)))


def sync_wal(path: str) -> None:
    """Sync the WAL: a process that was killed may have left unsynced commits in it, which are visible already."""
    wal = f"{path}-wal"
    try:
        if os.stat(wal).st_size == 0:
            return  # no commit is in it: opening the file has created it
        sync(wal)
    except FileNotFoundError:
        return
    sync(os.path.dirname(path))


def sync(path: str) -> None:
    """Sync the bytes of a file, or the names of a folder. Never for the database itself: see `_read_header`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _real_path(path: str) -> str:
    """The path without links and tilde. Raises StorageError for one that ends as the path of a folder does: without its
    end it would be the path of a file, which another command would not find."""
    if os.path.basename(path) in ("", ".", ".."):
        example = os.path.join(path, "demo.db")
        raise StorageError(f"{path} is the path of a folder; give the path of a file, such as {example}")
    return os.path.realpath(os.path.expanduser(path))


def _unreachable(path: str, error: OSError) -> StorageError:
    """The error for a path at which the system does not show whether there is a file."""
    advice = {
        errno.EACCES: "check the owner and mode of its folders",
        errno.ELOOP: "check its links",
        errno.ENOTDIR: "a part of its path is a file and not a folder",
    }.get(error.errno or 0, "check its path")
    return StorageError(f"{path} cannot be opened: {error.strerror or error}; {advice}")


def _create_folder(folder: str) -> None:
    """Create a missing folder and its parents, durably, with access for the owner only, as the files in them."""
    missing: list[str] = []
    while not _is_folder(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        parent = os.path.dirname(folder)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue  # another process created it at the same moment
        except OSError as error:
            raise StorageError(
                f"the folder {folder} cannot be created: {error.strerror}; check the owner and mode of {parent}, "
                "or choose another path"
            ) from error
        sync(parent)


def _is_folder(path: str) -> bool:
    """Whether the folder exists. Raises OSError if something else is there, or without permission to look it up."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", path)
    return True


def _make(path: str, oldest: int) -> None:
    draft = f"{path}-new"
    for leftover in (draft, f"{draft}-wal", f"{draft}-shm", f"{draft}-journal"):
        with suppress(FileNotFoundError):
            os.unlink(leftover)
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode_of(path)))
    with closing(apsw.Connection(draft, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        try:
            _make_tables(connection, oldest)
        except apsw.Error as error:
            raise translate(error, path, connection.system_errno) from error
    os.rename(draft, path)
    sync(os.path.dirname(path))


def _make_tables(connection: apsw.Connection, oldest: int) -> None:
    connection.pragma("synchronous", "FULL")
    connection.execute(_SCHEMA)
    write_meta(connection, "oldest", str(oldest))
    write_meta(connection, "needs", FORMAT_NEEDS)
    connection.execute("COMMIT")
    # Last: until here the content is in the file itself, and not in a `-wal`, which the rename would leave behind.
    connection.pragma("journal_mode", "wal")


def check_beginning(path: str, lock: LockFile, size: int) -> None:
    """Decide whether a missing or empty file is a new storage or a lost one."""
    wal = f"{path}-wal"
    if os.path.exists(wal) and os.stat(wal).st_size > 0:
        raise StorageBroken(
            f"{path} is {'empty' if size == 0 else 'missing'}, but {wal} holds commits to it. Put the file back;"
            f" or, to start with an empty storage, remove {wal} too"
        )
    if size == 0 and lock.durable:
        raise damaged(path, f"it is empty, but commits up to revision {lock.durable} were made to it")
    with suppress(FileNotFoundError):
        os.unlink(f"{path}-shm")
    with suppress(FileNotFoundError):
        os.unlink(wal)


def _check_header(path: str) -> int:
    """Check the first bytes of the file before SQLite opens it, because opening may write. Returns its format."""
    header = _read_header(path)
    if not header.startswith(_MAGIC):
        beginning = f"it begins with {header[:16]!r} and not as a SQLite file does"
        if os.path.exists(f"{path}-lock"):
            raise damaged(path, beginning)
        raise StorageBroken(
            f"{path} is not a storage of Pilotage: {beginning}. Nothing was changed in it: choose another path"
        )
    if len(header) < 100:
        from pilotage.meta.text.counts import counted  # only for errors

        raise damaged(path, f"it ends after {counted(len(header), 'byte')}, within its header")
    application, version = int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big")
    if application != APPLICATION_ID:
        raise StorageBroken(
            f"{path} is a SQLite database of another program (application id {application:#x}), not a storage of"
            " Pilotage. Nothing was changed in it: choose another path"
        )
    if version > newest_format():
        refuse_newer(path, version, _needs(path))
    if version < 1:
        raise damaged(path, f"its format number is {version}")
    return version


def _read_header(path: str) -> bytes:
    """The first 100 bytes, read through SQLite.

    Closing a descriptor of our own would drop the locks that this process has on the file, if it has it open already:
    then another process considers itself the last one, and removes the WAL that this process continues to write to.
    """
    file = apsw.VFSFile("", path, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        return bytes(file.xRead(min(100, file.xFileSize()), 0))
    finally:
        file.xClose()


def _needs(path: str) -> str:
    """The version of Pilotage that a newer file requires, as far as it can be read."""
    try:
        with closing(apsw.Connection(f"file:{path}?immutable=1", flags=_READ_ONLY)) as connection:
            for (value,) in connection.execute("SELECT value FROM meta WHERE name = 'needs'"):
                return str(value)
    except apsw.Error:
        pass
    return "of the version that wrote it"


_EFFECTIVE = os.access in os.supports_effective_ids
_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
