"""Storage in a SQLite file: durable when a commit returns, shared by any number of processes on one machine.

All current values and the log since the last compaction are in memory too, so that reads cost nothing; writes go to
the storage thread, which gathers them.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from functools import partial
from os import PathLike, fspath

from pilotage.errors import StorageBusy, StorageError
from pilotage.meta.bounds.amounts import count

from ..history import MAX_HISTORY_BYTES
from ..historystorage import HistoryStorage
from ..interface import Entry, Operation, Snapshot
from ..transaction import MAX_VALUE_BYTES, check
from .jobs import MOST_BYTES, MOST_COMMITS, CheckJob, CommitJob, CompactJob, Job, RefreshJob, ShrinkJob
from .opening import Opening

_EXIT_SECONDS = 10.0  # how long the exit of the interpreter waits for the commits of a storage that was not closed
_CHECK_SECONDS = 5.0


class SqliteStorage(HistoryStorage):
    """A Storage in a file; it belongs to the event loop that opened it.

    `await SqliteStorage.open(path)` reads the file in a thread. `SqliteStorage(path)` reads it at once, which blocks
    the event loop for as long as that takes. The arguments are the arguments of `open`.
    """

    def __init__(
        self,
        path: str | PathLike[str] | Opening,
        *,
        max_value_bytes: int = MAX_VALUE_BYTES,
        max_history_bytes: int = MAX_HISTORY_BYTES,
        first_revision: int = 1,
    ) -> None:
        count(max_value_bytes, "max_value_bytes", least=1)
        if isinstance(path, Opening):
            opened = path
        else:
            opened = Opening(fspath(path), _loop(path), max_history_bytes, first_revision)
        opened.writer.start()
        super().__init__(opened.watchers)
        self.path = opened.path
        self._loop = asyncio.get_running_loop()
        self._writer = opened.writer
        self._max_value_bytes = max_value_bytes
        self._commits: list[CommitJob] = []  # not handed over yet
        self._size = 0  # of these
        # Shared by all callers: a blocked thread must not collect jobs.
        self._checking: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        # The thread has no reference to this object: if it is collected without close(), the thread ends.
        self._finalizer = weakref.finalize(self, self._writer.stop, _EXIT_SECONDS)

    @classmethod
    async def open(
        cls,
        path: str | PathLike[str],
        *,
        max_value_bytes: int = MAX_VALUE_BYTES,
        max_history_bytes: int = MAX_HISTORY_BYTES,
        first_revision: int = 1,
    ) -> SqliteStorage:
        """Open or create the file. Raises StorageError if that fails, StorageBroken for a damaged file.

        `first_revision` is the first revision of a new file, as for a storage in memory.
        """
        count(max_value_bytes, "max_value_bytes", least=1)  # before a file is created
        opened = await asyncio.to_thread(Opening, fspath(path), _loop(path), max_history_bytes, first_revision)
        return cls(opened, max_value_bytes=max_value_bytes)

    async def get(self, key: str) -> Entry | None:
        await self._see_others()
        return self._history.find(key)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        await self._see_others()
        return self._history.snapshot(prefix, start, limit, revision)

    async def commit(self, *operations: Operation) -> int:
        self._check_usable()
        size = check(operations, self._max_value_bytes)
        future: asyncio.Future[int] = self._loop.create_future()
        if not self._commits:
            self._loop.call_soon(self._hand_over)
        self._commits.append(CommitJob(operations, size, future))
        self._size += size
        if len(self._commits) >= MOST_COMMITS or self._size >= MOST_BYTES:
            self._hand_over()
        return await future

    async def compact(self, revision: int) -> None:
        self._check_usable()
        await self._run(partial(CompactJob, revision))

    async def shrink(self) -> None:
        """Give the space of removed rows back to the file system. Commits of all processes wait meanwhile."""
        self._check_usable()
        await self._run(ShrinkJob)

    async def check(self) -> None:
        self._check_usable()
        if self._checking is None or self._checking.done():
            self._checking = self._loop.create_future()
            self._writer.jobs.put((CheckJob(self._checking),))
        done, _ = await asyncio.wait([self._checking], timeout=_CHECK_SECONDS)
        if not done:
            raise StorageBusy(
                f"{self.path}: the storage thread has not answered for {_CHECK_SECONDS:g} s; the disk may be slow"
            )
        self._checking.result()

    async def close(self) -> None:
        if self._closing is None:
            self._check_loop()
            self._watchers.close()
            self._finalizer.detach()
            self._hand_over()
            self._closing = asyncio.ensure_future(asyncio.to_thread(self._writer.stop))
        await asyncio.shield(self._closing)

    def _hand_over(self) -> None:
        """Pass the commits of all tasks that were ready together to the thread.

        If it got the first of them alone, it would compete with the others for the GIL, and sync the file once more.
        """
        if self._commits:
            self._writer.jobs.put(self._commits)
            self._commits, self._size = [], 0

    async def _see_others(self) -> None:
        """Read the commits of all processes, so that a read sees every acknowledged commit."""
        self._check_usable()
        if self._writer.behind():
            await self._run(RefreshJob)

    async def _run(self, job: Callable[[asyncio.Future[None]], Job]) -> None:
        """Have the thread do a job, and wait for its outcome."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._writer.jobs.put((job(future),))
        await future

    def _check_usable(self) -> None:
        if self._closing is not None:
            raise StorageError(f"{self.path}: the storage is closed")
        self._check_loop()

    def _check_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise StorageError(
                f"{self.path} was opened by another event loop (or before a fork): open it in the loop that uses it"
            )


def _loop(path: str | PathLike[str]) -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise StorageError(
            f"{path}: a SqliteStorage is opened in the event loop that uses it: call it in an async function, or pass "
            f'the URL "sqlite:{path}" to Cluster.embedded'
        ) from None
