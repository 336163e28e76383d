"""Storage in memory: for tests, command-line tools and temporary state. It ends with the process."""

from __future__ import annotations

from pilotage.errors import StorageError
from pilotage.meta.bounds.amounts import count

from .history import MAX_HISTORY_BYTES, History
from .historystorage import HistoryStorage
from .interface import Entry, Operation, Snapshot
from .release import release_memory
from .transaction import MAX_VALUE_BYTES, check, plan
from .watch import Watchers


class MemoryStorage(HistoryStorage):
    """A Storage without I/O: no call waits, except a watch.

    `first_revision` is the revision of the empty storage. A program whose clients outlive it begins at a number that
    increases from run to run, such as the time, so that no revision is used twice.
    """

    def __init__(
        self,
        *,
        first_revision: int = 1,
        max_value_bytes: int = MAX_VALUE_BYTES,
        max_history_bytes: int = MAX_HISTORY_BYTES,
    ) -> None:
        if first_revision < 1:
            raise StorageError(f"the first revision must be 1 or more, not {first_revision}")
        super().__init__(Watchers(History(first_revision, max_history_bytes)))
        self._max_value_bytes = count(max_value_bytes, "max_value_bytes", least=1)

    async def get(self, key: str) -> Entry | None:
        if self._watchers.closed:
            raise _closed()
        return self._history.find(key)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        if self._watchers.closed:
            raise _closed()
        return self._history.snapshot(prefix, start, limit, revision)

    async def commit(self, *operations: Operation) -> int:
        if self._watchers.closed:
            raise _closed()
        check(operations, self._max_value_bytes)
        history = self._history
        events = plan(operations, history.revision + 1, history.find)
        if events:
            history.append(events)
            self._watchers.notify((events,))
            if overdue := history.overdue():
                history.compact(overdue)
        return history.revision

    async def compact(self, revision: int) -> None:
        if self._watchers.closed:
            raise _closed()
        before = self._history.bytes
        self._history.compact(revision)
        release_memory(before - self._history.bytes)

    async def check(self) -> None:
        if self._watchers.closed:
            raise _closed()

    async def close(self) -> None:
        self._watchers.close()


def _closed() -> StorageError:
    return StorageError("the storage is closed")
