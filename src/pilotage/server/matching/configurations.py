"""The objects that admission depends on, always current, at the cost of comparing two numbers.

Admission needs them for each write, and they rarely change. So they are cached, together with a watch that shows
whether one of them was committed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from pilotage.errors import Compacted, StorageError
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.matching.rules import GROUP
from pilotage.storage.interface import Entry, Storage, Watch

if TYPE_CHECKING:
    import asyncio  # loaded on use: what is only listed may be in a program without an event loop

T = TypeVar("T")
Configurations = Mapping[str, tuple[Document, ...]]
"""The objects by their kind, in the order of their names. Another version of them is another mapping."""


class CurrentObjects(Generic[T]):
    """The result of a function for the objects under a prefix, for the first `limit` (0: all) of them. As an async
    context manager it watches them; outside of the block it lists the storage on each access.
    """

    def __init__(self, storage: Storage, prefix: str, read: Callable[[Sequence[Entry]], T], limit: int = 0) -> None:
        self._storage = storage
        self._prefix = prefix
        self._read = read
        self._limit = limit
        self._listed: T = read(())
        self._revision = 0
        self._changes = 0
        self._fresh = -1
        """The number of changes that the listed objects include; -1: nothing is listed yet."""
        self._fixed: T | None = None
        self._watch: Watch | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        import asyncio

        self._fresh = -1
        self._task = asyncio.create_task(self._watch_changes(), name=f"watch of {self._prefix}")
        await asyncio.sleep(0)  # the watch waits from here on, so that it knows its position
        return self

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        task, self._task, self._watch = self._task, None, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def current(self) -> T | None:
        """What is stored now; None if that is not known without a list."""
        if self._fixed is not None:
            return self._fixed
        watch = self._watch
        if watch is None or self._fresh != self._changes or watch.position < self._storage.revision:
            return None
        return self._listed

    async def fix(self) -> T:
        """List them, and use the result until the next call: for requests that run one at a time, without an event
        loop."""
        self._fixed = None
        self._fixed = await self.list()
        return self._fixed

    async def list(self) -> T:
        """The stored objects, including those that this program has just committed."""
        found = self.current()
        if found is not None:
            return found
        # Read before the list: a change during the list is detected, and a failed list is never used as current.
        changes = self._changes
        snapshot = await self._storage.list(self._prefix, limit=self._limit)
        if snapshot.revision < self._revision:  # a later list has finished first
            return self._listed
        self._listed, self._revision, self._fresh = self._read(snapshot.entries), snapshot.revision, changes
        return self._listed

    async def _watch_changes(self) -> None:
        """Watch until the storage is closed; from then on each access lists the storage."""
        while True:
            watch = self._watch = self._storage.watch(self._prefix, since=self._storage.revision)
            self._changes += 1  # what was committed before is listed
            try:
                await self._note_changes(watch)
            except Compacted:
                continue  # changes may be missed: another watch, and another list
            except StorageError:
                self._watch = None
                return

    async def _note_changes(self, watch: Watch) -> None:
        async for _ in watch:
            self._changes += 1


class AdmissionConfigurations(CurrentObjects[Configurations]):
    """The webhook configurations, policies and bindings of one tenant."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        super().__init__(storage, f"{prefix}{GROUP}/", _by_kind)


def _by_kind(entries: Iterable[Entry]) -> Configurations:
    found: dict[str, list[Document]] = {}
    for entry in entries:
        document = records.decode(records.stamp(entry.value, entry.revision))
        found.setdefault(document["kind"], []).append(document)
    return {kind: tuple(documents) for kind, documents in found.items()}
