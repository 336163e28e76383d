"""The log in a SQLite file: adds, reads and removes rows in transactions. Belongs to one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import apsw

from pilotage.errors import StorageBroken, StorageFull

from ..keys import MAX_COMMIT_OPERATIONS
from .errors import damaged, translate
from .file import BUSY_MILLISECONDS, PAGE_BYTES, connect, meta_checksum
from .rows import Row, StoredRow, first_id, newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..entry import Entry
    from .mainfile import MainFile
    from .replay import Replay

_CHECKPOINT_PAGES = 1000
_PATIENT_MILLISECONDS = 1000
_STEP_PAGES = 32  # given back in one transaction, on a full disk
_INCREMENTAL = 2  # SQLite's number of the mode in which free pages can be given back in steps
_MOST_ROWS = 64  # in one statement


class Log:
    """The one connection of this process. All errors are raised as StorageError and its subclasses."""

    def __init__(self, path: str) -> None:
        self.path = path
        with self.errors():
            self._connection = connect(path)
        self._file: MainFile | None = None
        self._wal_pages = 0
        self.checkpoint_pages = _CHECKPOINT_PAGES
        """The pages in the WAL at which they are moved into the file: few on a small disk."""
        # SQLite has one hook of this kind, and uses it for automatic checkpoints, which `connect` has turned off.
        self._connection.set_wal_hook(self._on_commit)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate the errors of SQLite and the system."""
        try:
            yield
        except (apsw.Error, OSError) as error:
            connection: apsw.Connection | None = getattr(self, "_connection", None)
            raise translate(error, self.path, connection.system_errno if connection else 0) from error

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[None]:
        """A transaction. With `write`, no other connection writes meanwhile. Durable when it ends without an error.

        One that would not fit into the file fails with StorageFull: a WAL that cannot be moved into the file is never
        reused, so that each delete would need new space. Readers can keep the commits of all processes in the WAL.
        """
        with self.errors():
            if self._connection.in_transaction:  # a second Ctrl-C has interrupted the ROLLBACK of the first
                self._connection.execute("ROLLBACK")
            try:
                # IMMEDIATE: a read transaction that becomes a write fails if another connection has committed since it
                # began.
                self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield
                with self._extended() if write else nullcontext():
                    self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _extended(self) -> AbstractContextManager[None]:
        """The file has space for all pages of the transaction inside the block."""
        if self._file is None:
            from .mainfile import MainFile  # loaded on use: a command that reads does not need it

            self._file = MainFile(self.path)
        return self._file.extended(self._pragma("page_count") * PAGE_BYTES)

    def check(self) -> None:
        """Have SQLite check every page. Raises StorageBroken."""
        found = [str(text) for (text,) in self._connection.execute("PRAGMA quick_check(3)")]
        if found != ["ok"]:
            raise damaged(self.path, "; ".join(found).replace("\n", "; "))

    def data_version(self) -> int:
        """A number that changes when another connection has committed."""
        for (version,) in self._connection.execute("PRAGMA data_version"):
            return int(version)
        return -1

    @property
    def oldest(self) -> int:
        for value, checksum in self._connection.execute("SELECT value, checksum FROM meta WHERE name = 'oldest'"):
            if checksum == meta_checksum("oldest", value) and value.isdecimal():
                return int(value)
        raise damaged(self.path, "the row with the start of the log is missing or wrong")

    @oldest.setter
    def oldest(self, revision: int) -> None:
        row = (str(revision), meta_checksum("oldest", str(revision)))
        self._connection.execute("UPDATE meta SET value = ?, checksum = ? WHERE name = 'oldest'", row)

    def replay(self, *, after: int, oldest: int, find: Callable[[str], Entry | None] | None = None) -> Replay:
        """Read the rows of the commits after a revision; those up to `oldest` are state, the others are log."""
        from .replay import Replay

        replay = Replay(oldest, find)
        rows: Iterable[Row] = self._connection.execute(
            "SELECT id, key, value, created, checksum FROM log WHERE id >= ? ORDER BY id", (first_id(after + 1),)
        )
        try:
            for row in rows:
                replay.add(row)
            replay.finish()
        except StorageBroken as error:
            raise damaged(self.path, str(error)) from error
        return replay

    @property
    def revision(self) -> int:
        """The revision of the last commit. Needs a transaction."""
        for (number,) in self._connection.execute("SELECT max(id) FROM log"):
            return max(self.oldest, (number or 0) // MAX_COMMIT_OPERATIONS)
        return self.oldest

    def stored(self, low: str, high: str | None, revision: int) -> dict[str, StoredRow]:
        """What exists from the key `low` up to, not including, `high` (None: to the last), as of a revision.

        SQLite scans the whole log for them, without an index: a second index would cost each commit more than a
        program that reads once can save.
        """
        rows: Iterable[Row] = self._connection.execute(
            "SELECT id, key, value, created, checksum FROM log"
            " WHERE id < ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3) ORDER BY id",
            (first_id(revision + 1), low, high),
        )
        try:
            return newest(rows)
        except StorageBroken as error:
            raise damaged(self.path, str(error)) from error

    def insert(self, rows: Sequence[Row]) -> None:
        """Add rows, many in one statement: each statement releases the GIL and must acquire it again."""
        at = 0
        while at < len(rows):
            count = min(_MOST_ROWS, 1 << ((len(rows) - at).bit_length() - 1))
            values = [value for row in rows[at : at + count] for value in row]
            self._connection.execute(_INSERT[count], values)
            at += count

    def remove(self, garbage: Sequence[tuple[int, str]]) -> None:
        """Remove rows, named by revision and key."""
        rows = [(first_id(revision), first_id(revision + 1), key) for revision, key in garbage]
        self._connection.executemany("DELETE FROM log WHERE id >= ? AND id < ? AND key = ?", rows)

    def checkpoint_due(self) -> bool:
        """Whether enough commits wait in the WAL to be moved into the file."""
        return self._wal_pages >= min(_CHECKPOINT_PAGES, self.checkpoint_pages)

    def checkpoint(self, *, patient: bool = False) -> None:
        """Move commits from the WAL into the file, as far as no reader needs them; `patient` waits for readers."""
        self._wal_pages = 0
        with self.errors():
            # PASSIVE waits for no reader: one that was stopped would block all commits.
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if patient:
                self._connection.set_busy_timeout(_PATIENT_MILLISECONDS)
                with suppress(apsw.BusyError):
                    self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
                self._connection.set_busy_timeout(BUSY_MILLISECONDS)

    def give_back(self, pages: int = _STEP_PAGES) -> bool:
        """Give some free pages back to the file system, which needs as much space as they have in the WAL.

        False if there are none. A file of the first release has to be shrunk once before that is possible. Needs the
        lock of the storage.
        """
        with self.errors():
            if self._pragma("auto_vacuum") != _INCREMENTAL or not self._pragma("freelist_count"):
                return False
            # fetchall: SQLite moves pages as the statement is stepped, and stops with it.
            self._connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
            self.checkpoint()
            return True

    def shrink(self) -> None:
        """Write the file again without free pages. Needs the lock of the storage.

        If there is no space for the second copy, only free pages are given back: pages that are in use may have bytes
        of removed values then.
        """
        before, pages = self._pragma("auto_vacuum"), _STEP_PAGES
        while self.give_back(pages):
            pages = min(pages * 2, _CHECKPOINT_PAGES)  # what was given back is space for the next step
        try:
            with self.errors():
                # The mode of an existing file changes with the next VACUUM only.
                self._connection.pragma("auto_vacuum", _INCREMENTAL)
                self._connection.execute("VACUUM")
        except StorageFull:
            if before != _INCREMENTAL:
                raise
        finally:
            with self.errors():
                self._wal_pages = 0
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _pragma(self, name: str) -> int:
        return int(self._connection.pragma(name))

    def close(self, *, tidy: bool) -> None:
        """Close the file; `tidy` first moves the whole WAL into it, and removes the WAL if no other process uses it."""
        with self.errors():
            if tidy:
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            if self._file is not None:
                self._file.close()
            self._connection.close()

    def _on_commit(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self._wal_pages = pages
        return int(apsw.SQLITE_OK)


_INSERT = {
    count: " ".join(["INSERT INTO log (id, key, value, created, checksum) VALUES", *["(?, ?, ?, ?, ?),"] * count])[:-1]
    for count in (1, 2, 4, 8, 16, 32, 64)
}
