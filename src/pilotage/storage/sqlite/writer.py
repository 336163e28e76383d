"""Commits to the SQLite file, on the storage thread or, in a storage without one, on the thread of the caller.

This is the only thread that touches the SQLite connection. The storage thread takes all waiting commits, evaluates
their conditions in order, writes them in one transaction (group commit: one fsync for all), and notifies the loop when
they are durable. Inside the transaction it first reads what other processes have committed, because the conditions must
be evaluated on the newest state.
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TypeVar

from pilotage.errors import FutureRevision, StorageBroken, StorageBusy, StorageError, StorageFull
from pilotage.telemetry.logs import logger

from ..history import History
from ..release import release_memory
from ..transaction import Commit, frees_space
from .errors import full, shortened
from .file import PAGE_BYTES, sync_wal
from .identity import OpenFiles
from .jobs import (
    MOST_BYTES,
    MOST_COMMITS,
    CheckJob,
    CommitJob,
    CompactJob,
    Deliver,
    Job,
    Outcome,
    RefreshJob,
    ShrinkJob,
    outcomes_of,
)
from .parts import OpenFile
from .replay import garbage_of, rows_of

_LAST_SWEEPS = 50  # transactions for the remaining garbage at the end; the next opening continues
_MOST_GARBAGE = 128  # rows removed in one transaction, so that compaction never delays commits for long
_LITTLE_GARBAGE = 8  # on a full disk
_log = logger("pilotage.storage")

T = TypeVar("T")


class SQLiteWriter:
    """The thread and its state. It begins with `load` and ends with a job of None."""

    def __init__(self, file: OpenFile, history: History, deliver: Deliver, *, logs: bool = True) -> None:
        """Without `logs` it logs nothing: the caller gets all errors."""
        self.jobs: queue.SimpleQueue[Sequence[Job]] = queue.SimpleQueue()
        """The queue of jobs: the thread takes each sequence as a whole."""
        self.announced = 0
        """The value of `lock.reached` that this process wrote: for it, readers of this process need not read the
        file."""
        self._log = file.log
        self._lock = file.lock
        self._reserve = file.reserve
        self._history = history
        self._deliver = deliver
        self._logs = logs
        self._refusal: StorageError | None = file.read_only  # the error of commits: it is read-only, or broken
        self._busy = False  # whether the last attempt to get the lock failed
        self._full = False  # whether it was logged that the disk is full
        self._garbage: deque[tuple[int, str]] = deque()  # removed in this order and without a gap, see `_catch_up`
        self._sweeping = True  # False after a failure, until a commit has succeeded
        self._seen = -1  # the data version whose rows are all in the history
        self._files = OpenFiles(file.path, file.lock.path)
        self._thread: threading.Thread | None = None

    def load(self) -> None:
        """Check the whole file and read it into the history. Raises StorageBroken."""
        # Read before the rows: another process may commit meanwhile, which must not look like a lost commit.
        durable = self._lock.durable
        with self._log.transaction(write=False):
            self._log.check()
            self._restore()
        if self._history.revision < durable:
            raise shortened(self._log.path, self._lock.path, self._history.revision, durable)
        if self._refusal is not None:  # it is read-only
            return
        self._files.remember()
        # Before `durable` counts these rows: it promises that they survive a power failure.
        with self._log.errors():
            sync_wal(self._log.path)
        with self._lock.held():
            # Not set to our revision: another process may be further by now.
            self._lock.reached = max(self._lock.reached, self._history.revision)
            self._lock.durable = max(self._lock.durable, self._history.revision)
            self._keep_space()
        self._note_space()

    def start(self) -> None:
        """Start the thread. Without one, the owner calls `serve` and, at the end, `close`."""
        self._thread = threading.Thread(target=self._run, name="pilotage-storage", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """Have the thread finish the waiting jobs and end; wait at most `timeout` seconds (None: without limit)."""
        self.jobs.put((None,))
        if self._thread is not None:
            self._thread.join(timeout)

    def behind(self) -> bool:
        """Whether another process may have committed more than the history has. Cheap, and for any thread."""
        reached = self._lock.reached
        return reached > self._history.revision and reached != self.announced

    def _run(self) -> None:
        stopping = False
        self._bound_history()
        while not stopping:
            jobs: list[Job] = []
            try:
                self._take(jobs)
                stopping = None in jobs
                self.serve(jobs)
            except Exception as error:  # a bug in this module must not leave a caller waiting without end
                self._refusal = self._refusal or StorageBroken(
                    f"{self._log.path}: the storage thread failed: {error!r}"
                )
                self._send([(job.future, _copy(self._refusal)) for job in jobs if job and job.future])
        self.close()

    def _take(self, jobs: list[Job]) -> None:
        """Add all waiting jobs. Blocks for the first one, unless there is garbage to remove meanwhile."""
        size = 0
        try:
            # Nothing is taken after the None of `stop`: `_run` ends with these jobs.
            while len(jobs) < MOST_COMMITS and size < MOST_BYTES and None not in jobs[-1:]:
                handed = self.jobs.get(block=not jobs and not self._to_sweep())
                jobs += handed
                size += sum(job.size for job in handed if isinstance(job, CommitJob))
        except queue.Empty:
            pass

    def serve(self, jobs: Sequence[Job]) -> None:
        """Do these jobs; their outcomes are delivered."""
        # First, so that these commits are not refused on a disk that has space again.
        if self._lock.full and not self._refusal:
            self._reclaim_space()
        commits = [job for job in jobs if isinstance(job, CommitJob) and not job.future.cancelled()]
        if commits:
            self._commit(commits)
        # Only without commits: each commit removes some garbage itself, in its own transaction.
        elif self._to_sweep():
            self._sweep()
        refreshes = [job for job in jobs if isinstance(job, RefreshJob)]
        if refreshes:
            self._refresh(refreshes)
        for job in jobs:
            if isinstance(job, CompactJob):
                self._compact(job)
            elif isinstance(job, CheckJob):
                self._check(job)
            elif isinstance(job, ShrinkJob):
                self._shrink(job)
        self._bound_history()
        if self._log.checkpoint_due() and not self._refusal:
            self._checkpoint()

    def _commit(self, jobs: Sequence[CommitJob]) -> None:
        try:
            outcomes, commits = self._write_or_refuse(jobs)
        except StorageError as error:
            self._send([(job.future, _copy(error)) for job in jobs])
            return
        self._history.extend(commits)
        self._send(outcomes, commits)

    def _write_or_refuse(self, jobs: Sequence[CommitJob]) -> tuple[list[Outcome], list[Commit]]:
        """As `_write`. On a full disk, the jobs that free space are done, and the others fail."""
        try:
            return self._write(jobs)
        except StorageFull as error:
            deletes = [job for job in jobs if frees_space(job.operations)]
            if not deletes:
                raise
            outcomes, commits = self._delete(deletes)
            return [*outcomes, *((job.future, _copy(error)) for job in jobs if job not in deletes)], commits

    def _delete(self, jobs: Sequence[CommitJob]) -> tuple[list[Outcome], list[Commit]]:
        """As `_write`, with the space that is kept for deletes. When most of it is used, the history is removed."""
        try:
            # The last part stays for the compaction below, without which no further delete could succeed.
            return self._lend(lambda: self._write(jobs))
        except StorageFull:
            self._free(lambda: self._compact_at(self._history.revision))
            while self._garbage:
                self._free(lambda: self._write(()))
                self._reclaim_space()
            return self._free(lambda: self._write(jobs))

    def _free(self, change: Callable[[], T]) -> T:
        """Make a change that frees space, with all of the reserved space."""
        return self._lend(change, all_parts=True)

    def _lend(self, change: Callable[[], T], *, all_parts: bool = False) -> T:
        """Make a change that frees space, with the reserved space."""

        def attempt() -> T:
            if self._lock.full:
                with self._changing():
                    self._log.checkpoint(patient=all_parts)  # the WAL is then reused from its start
            return change()

        return self._reserve.lend(attempt, all_parts=all_parts)

    def _write(self, jobs: Sequence[CommitJob]) -> tuple[list[Outcome], list[Commit]]:
        """Write all jobs in one transaction. A failed condition fails its job only; any other error fails all."""
        with self._changing():
            return self._write_locked(jobs)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Hold the lock over a change of the file, and check before and after that it is the file we opened.

        A process that opens the storage after `-shm` was removed has an index of its own over the same WAL, and the
        two overwrite each other's commits. It needs the lock to write, so while we hold the lock nothing is lost yet,
        and what we wrote before the second check is only acknowledged if that check succeeds.
        """
        if self._refusal:
            raise _copy(self._refusal)
        with self._lock.held():
            if self._busy:
                self._info("Storage lock is free again", lock=self._lock.path)
                self._busy = False
            self._files.check()
            yield
            self._files.check()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """As `_usable`; an error is noted, because it may concern all later changes."""
        try:
            with self._usable():
                yield
        except StorageError as error:
            self._fail(error)
            raise

    def _write_locked(self, jobs: Sequence[CommitJob]) -> tuple[list[Outcome], list[Commit]]:
        # Checked under the lock: another process may have found the disk full since the jobs were taken.
        if self._lock.full and not all(frees_space(job.operations) for job in jobs):
            raise full(self._log.path)
        reached = self._lock.reached
        try:
            with self._log.transaction(write=True):
                self._catch_up()
                # Removed from the deque only after the commit: a failed transaction has removed no rows.
                garbage = list(islice(self._garbage, _LITTLE_GARBAGE if self._lock.full else _MOST_GARBAGE))
                outcomes, commits = outcomes_of(jobs, self._history)
                revision = self._history.revision + len(commits)
                # Before the commit: a reader of another process must not miss it. If the commit fails, the number is
                # corrected, by `except` here or, after a crash or Ctrl-C, by `_correct_reached` of another process.
                self._announce(revision)
                self._log.insert(rows_of(commits))
                self._log.remove(garbage)
        except Exception:  # Ctrl-C may come right after the commit: then the announced number is the right one
            # Not our own revision: if the transaction could not begin, others have committed more than we have read.
            self.announced, self._lock.reached = 0, reached
            raise
        self._lock.durable = revision  # after the commit: `load` compares it to detect a lost end of the WAL
        self._sweeping = True
        for _ in garbage:
            self._garbage.popleft()
        return outcomes, commits

    def _refresh(self, jobs: Sequence[RefreshJob]) -> None:
        error: StorageError | None = None
        try:
            self._files.check_shared()
            with self._log.transaction(write=False):
                self._catch_up()
            # All committed rows are read, and still one is missing: it was announced and may never have been committed.
            if self._lock.reached > self._history.revision:
                self._correct_reached()
        except StorageError as caught:
            self._fail(caught)
            error = caught
        self._send([(job.future, error and _copy(error)) for job in jobs if job.future])

    def _compact(self, job: CompactJob) -> None:
        before = self._history.bytes
        try:  # the last part is for deletes: they must succeed, and a compaction is repeated
            self._lend(lambda: self._compact_at(job.revision))
        except StorageError as error:
            self._send([(job.future, error)])
            return
        self._send([(job.future, None)])
        # After the outcome is sent: it takes milliseconds.
        release_memory(before - self._history.bytes)

    def _compact_at(self, revision: int) -> None:
        with self._changing(), self._log.transaction(write=True):
            self._catch_up()
            if revision > self._history.revision:
                raise FutureRevision(revision, self._history.revision)
            if revision > self._history.oldest:
                self._log.oldest = revision
        self._garbage.extend(garbage_of(self._history.compact(revision)))

    def _bound_history(self) -> None:
        """Compact the oldest commits if the history takes too many bytes."""
        overdue = self._history.overdue()
        if overdue and not self._refusal:
            # The disk may be full, or the lock held for too long: the next commit tries again.
            with suppress(StorageError):
                self._free(lambda: self._compact_at(overdue))

    def _check(self, job: CheckJob) -> None:
        error: StorageError | None = self._refusal
        try:
            self._files.check()
            self._lock.check()
            if self._lock.full:
                raise full(self._log.path)
        except StorageError as caught:
            self._fail(caught)
            error = error or caught
        self._send([(job.future, error and _copy(error))])

    def _shrink(self, job: ShrinkJob) -> None:
        try:
            while self._garbage:
                self._free(lambda: self._write(()))
                if self._lock.full:
                    self._reclaim_space()
            self._free(self._shrink_file)
        except StorageError as error:
            self._send([(job.future, _copy(error))])
            return
        self._send([(job.future, None)])

    def _shrink_file(self) -> None:
        with self._changing():
            self._log.shrink()

    def _sweep(self) -> None:
        try:
            self._free(lambda: self._write(()))
        except StorageError:
            self._sweeping = False
        if self._lock.full and not self._garbage:
            self._reclaim_space()

    def _to_sweep(self) -> bool:
        return self._sweeping and bool(self._garbage)

    def _checkpoint(self) -> None:
        with suppress(StorageError), self._changing():
            self._log.checkpoint()
            if not self._lock.full:
                self._keep_space()  # the database may have grown

    def _keep_space(self) -> None:
        """Keep as much space as a database of this size needs. Needs the lock."""
        self._reserve.keep()
        # The WAL must not take much of a small disk.
        self._log.checkpoint_pages = self._reserve.bytes // PAGE_BYTES // 2

    def _reclaim_space(self) -> None:
        """On a full disk: allocate the reserve again, if need be with free pages of the file."""
        with suppress(StorageError), self._usable():  # a broken storage is reported by the next job
            with suppress(StorageFull):
                self._log.checkpoint()
            self._keep_space()
            while self._lock.full and not self._garbage and self._log.give_back():
                self._keep_space()
        self._note_space()

    def _note_space(self) -> None:
        """Log once that the disk is full, and once that it is not any more."""
        if self._full != self._lock.full:
            self._full = self._lock.full
            if self._full:
                self._error("Storage is full", error=full(self._log.path))
            else:
                self._info("Storage has space again", path=self._log.path)

    def close(self) -> None:
        """Close the files, after the last job."""
        for _ in range(_LAST_SWEEPS):
            if self._to_sweep():
                self._sweep()
        try:
            # A checkpoint would write to files that another process may have replaced.
            if self._refusal or self._files.missing():
                self._log.close(tidy=False)
            else:
                with self._lock.held():
                    self._log.close(tidy=True)
                    self._reserve.keep()  # the WAL is removed, which may give it enough space again
        except StorageError:
            pass  # the commits are durable in the WAL; the next opening finds them there
        finally:
            self._lock.close()

    def _catch_up(self) -> None:
        """Read what other processes have committed. Needs a transaction."""
        # Within the transaction, so that the number belongs to the rows that are read: a commit in between would be
        # skipped.
        version = self._log.data_version()
        if version == self._seen:
            return
        oldest = self._log.oldest
        if oldest > self._history.revision:
            self._restore()  # commits were compacted before this process read them: its watches cannot continue
            self._deliver((), (), True)
            return
        revision = self._history.revision
        # `oldest` is our revision: these rows are commits for the watches here, even if they are compacted by now.
        replay = self._log.replay(after=revision, oldest=revision, find=self._history.find)
        self._history.extend(replay.commits)
        if oldest > self._history.oldest:
            # The other process removes these rows too, but it may be killed before it has. Rows are removed in order:
            # if a later deletion were removed before an older value, the value would reappear after a restart.
            self._garbage.extend(garbage_of(self._history.compact(oldest)))
        self._seen = version
        if replay.commits:
            self._deliver((), replay.commits, False)

    def _restore(self) -> None:
        oldest = self._log.oldest
        replay = self._log.replay(after=0, oldest=oldest)
        self._history.restore(replay.entries, oldest, replay.commits)
        self._garbage = deque(replay.garbage)
        self._seen = self._log.data_version()

    def _announce(self, revision: int) -> None:
        self.announced = revision
        self._lock.reached = revision

    def _correct_reached(self) -> None:
        """Lower `reached` if the process that announced it did not commit."""
        # A process that holds the lock may be between its announcement and its commit: then the number is right.
        with self._lock.held_if_free() as held:
            if held and not self._files.missing():  # with an older file, the commit may be one that we cannot see
                with self._log.transaction(write=False):
                    self._catch_up()
                self._lock.reached = self._history.revision

    def _fail(self, error: StorageError) -> None:
        if isinstance(error, StorageFull):
            self._lock.full = True
            self._note_space()
        if isinstance(error, StorageBusy) and not self._busy:
            self._busy = True
            self._error("Storage is locked", error=error)
        # For good: after a failed sync the system may report the next one as successful, although pages were lost.
        if isinstance(error, StorageBroken) and not self._refusal:
            self._refusal = error
            self._error("Storage is broken", error=error)
            self._save_commits()

    def _error(self, event: str, **fields: object) -> None:
        if self._logs:
            _log.error(event, **fields)

    def _info(self, event: str, **fields: object) -> None:
        if self._logs:
            _log.info(event, **fields)

    def _save_commits(self) -> None:
        """If `-wal` was removed, move the commits in it into the database while we still have it open."""
        if self._files.missing() != f"{self._log.path}-wal" or os.path.exists(f"{self._log.path}-wal"):
            return
        with suppress(StorageError), self._lock.held():
            self._log.checkpoint()
            self._info("Moved the commits of the removed WAL into the database", path=self._log.path)

    def _send(self, outcomes: Sequence[Outcome], commits: Sequence[Commit] = ()) -> None:
        if outcomes or commits:
            self._deliver(outcomes, commits, False)


def _copy(error: StorageError) -> StorageError:
    """A separate error for each waiting caller: the traceback of one object would grow each time it is raised."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy
