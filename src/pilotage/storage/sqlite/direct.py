"""The SQLite storage without a thread: every call does its work on the calling thread, and none waits.

For programs that read or write a few objects and end. A read takes what it needs from the file; the first commit loads
the whole file, as `SqliteStorage` does, because its conditions are evaluated in memory. What is committed is the same,
by the same code: programs with either storage use a file at the same time.
"""

from __future__ import annotations

import os
from _thread import RLock  # a program without threads does not load `threading`
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pilotage.errors import Compacted, FutureRevision, StorageError
from pilotage.meta.bounds.amounts import count

from ..bases import LocalStorage
from ..interface import Entry, Operation, Snapshot, Watch
from ..keys import behind_prefix
from ..transaction import MAX_VALUE_BYTES, Commit, check
from .parts import OpenFile

if TYPE_CHECKING:  # loaded with the first commit
    from ..history import History
    from .jobs import Job, Outcome
    from .writer import SQLiteWriter


class DirectSqliteStorage(LocalStorage):
    """A Storage in a file, whose coroutines never suspend. Belongs to the process that opened it; it has no watches.

    Threads may share it: they use the file one at a time. After a call that was interrupted, as by Ctrl-C, the next
    commit loads the file again, because what is in memory may lack a commit that is in the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_value_bytes: int = MAX_VALUE_BYTES) -> None:
        """Open or create the file. Raises StorageError if that fails, StorageBroken for a damaged file."""
        self._process = os.getpid()
        self._max_value_bytes = count(max_value_bytes, "max_value_bytes", least=1)
        self._writing: _Writing | None = None
        self._closed = False
        self._turn = RLock()
        self._file = OpenFile(os.fspath(path))
        self.path = self._file.path
        try:
            self._file.verify()
        except BaseException:
            self._file.abandon()
            raise

    @property
    def revision(self) -> int:
        with self._used():
            if self._writing is not None:
                return self._writing.history.revision
            with self._file.log.transaction(write=False):
                return self._file.log.revision

    @property
    def oldest(self) -> int:
        with self._used():
            if self._writing is not None:
                return self._writing.history.oldest
            with self._file.log.transaction(write=False):
                return self._file.log.oldest

    async def get(self, key: str) -> Entry | None:
        with self._used():
            if self._writing is not None:
                return self._writing.current().find(key)
            log = self._file.log
            with log.transaction(write=False):
                row = log.stored(key, f"{key}\0", log.revision).get(key)
        return None if row is None else Entry(key, *row)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        with self._used():
            if self._writing is not None:
                return self._writing.current().snapshot(prefix, start, limit, revision)
            log = self._file.log
            with log.transaction(write=False):
                current = log.revision
                if revision and revision < log.oldest:
                    raise Compacted(revision, log.oldest)
                if revision > current:
                    raise FutureRevision(revision, current)
                found = log.stored(max(prefix, start), behind_prefix(prefix), revision or current)
        entries = [Entry(key, *found[key]) for key in sorted(found)]
        shown = entries[:limit] if limit else entries
        return Snapshot(revision or current, shown, len(entries) - len(shown))

    async def commit(self, *operations: Operation) -> int:
        with self._used():
            size = check(operations, self._max_value_bytes)
            return self.load().commit(operations, size)

    def load(self) -> _Writing:
        """Load the file for commits, or for many reads: they come from memory then."""
        with self._used():
            if self._writing is None:
                self._writing = _Writing(self._file)
            return self._writing

    def watch(self, prefix: str, *, since: int) -> Watch:
        raise StorageError(
            f"{self.path} is open without an event loop, so it has no watches: open it with "
            "pilotage.storage.open_storage, or use pt.Cluster.embedded"
        )

    async def compact(self, revision: int) -> None:
        with self._used():
            self.load().compact(revision)

    async def check(self) -> None:
        with self._used():
            self.load().check()

    async def close(self) -> None:
        self.close_now()

    def close_now(self) -> None:
        """Close the files. The WAL is moved into the database if no other process uses it."""
        if os.getpid() != self._process:
            return
        with self._turn:
            if self._closed:
                return
            self._closed = True
            if self._writing is not None:
                self._writing.writer.close()
            else:
                self._file.close()

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Keep other threads from the file for the length of the block. Raises StorageError if it cannot be used."""
        if os.getpid() != self._process:  # before the lock: in this process, the thread that holds it does not exist
            raise StorageError(f"{self.path} was opened before a fork: open it in the process that uses it")
        with self._turn:
            if self._closed:
                raise StorageError(f"{self.path}: the storage is closed")
            try:
                yield
            except StorageError:
                raise
            except BaseException:
                self._writing = None
                raise


class _Writing:
    """The history in memory, and the writer that this thread drives."""

    def __init__(self, file: OpenFile) -> None:
        from ..history import History
        from . import jobs
        from .writer import SQLiteWriter

        self._jobs = jobs
        self.history: History = History(1)
        self.writer: SQLiteWriter = SQLiteWriter(file, self.history, self._deliver, logs=False)
        self.writer.load()

    def current(self) -> History:
        """The history with what other processes have committed."""
        if self.writer.behind():
            self._serve(self._jobs.RefreshJob)
        return self.history

    def commit(self, operations: Sequence[Operation], size: int) -> int:
        return self._serve(lambda waiter: self._jobs.CommitJob(operations, size, waiter))

    def compact(self, revision: int) -> None:
        self._serve(lambda waiter: self._jobs.CompactJob(revision, waiter))

    def check(self) -> None:
        self._serve(self._jobs.CheckJob)

    def _serve(self, job: Callable[[_Caller], Job]) -> int:
        waiter = _Caller()
        self.writer.serve([job(waiter)])
        if isinstance(waiter.outcome, StorageError):
            raise waiter.outcome
        return waiter.outcome or 0

    def _deliver(self, outcomes: Sequence[Outcome], commits: Sequence[Commit], restored: bool) -> None:
        for waiter, outcome in outcomes:
            waiter.outcome = outcome


class _Caller:
    """The waiter of a job: the call that runs it."""

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        self.outcome: int | StorageError | None = None

    def cancelled(self) -> bool:
        return False
