"""How often what is read from a storage is checked."""

from __future__ import annotations

import asyncio

from pilotage.server.screening import ScreenedStorage
from pilotage.storage.bases import StorageWrapper
from pilotage.storage.interface import Entry, Operation, Put, Snapshot
from pilotage.storage.memory import MemoryStorage

KEY = "/default/core/configmaps/default/a"


class _Copies(StorageWrapper):
    """A storage that makes a new entry for each read, as SQLite does beyond its cache. Its bytes may be replaced."""

    damage = b""

    async def get(self, key: str) -> Entry | None:
        found = await self._inner.get(key)
        return None if found is None else self._copied(found)

    async def list(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Snapshot:
        found = await self._inner.list(prefix, start=start, limit=limit, revision=revision)
        return Snapshot(found.revision, [self._copied(entry) for entry in found.entries], found.remaining)

    def _copied(self, entry: Entry) -> Entry:
        return Entry(entry.key, self.damage or entry.value, entry.revision, entry.created)


async def test_a_value_is_checked_once_though_a_storage_makes_new_entries_of_it() -> None:
    checked: list[str] = []

    def problem_of(entry: Entry) -> str:
        checked.append(entry.key)
        return "it is damaged" if entry.value == b"damaged" else ""

    inner = _Copies(MemoryStorage())
    await inner.commit(Put(KEY, b"{}"))
    storage = ScreenedStorage(inner, problem_of)
    for _ in range(3):
        assert await storage.get(KEY) is not None
        assert len((await storage.list("/default/core/")).entries) == 1
    assert checked == [KEY]
    inner.damage = b"damaged"
    assert (await storage.list("/default/core/")).entries == []
    assert checked == [KEY, KEY]


async def test_a_value_that_was_committed_here_is_not_checked() -> None:
    storage = ScreenedStorage(_Copies(MemoryStorage()), lambda entry: "it is damaged")
    await storage.commit(Put(KEY, b"{}"))
    for _ in range(2):
        assert await storage.get(KEY) is not None


async def test_a_watch_that_sees_a_value_before_its_commit_has_returned_does_not_check_it() -> None:
    class Late(StorageWrapper):
        """A storage whose commits return after their events, as those of SQLite may."""

        seen = asyncio.Event()

        async def commit(self, *operations: Operation) -> int:
            revision = await self._inner.commit(*operations)
            await self.seen.wait()
            return revision

    inner = Late(MemoryStorage())
    storage = ScreenedStorage(inner, lambda entry: "it is damaged")
    watch = storage.watch("/default/core/", since=inner.revision)
    commit = asyncio.create_task(storage.commit(Put(KEY, b"{}")))
    async for batch in watch:
        assert [event.key for event in batch if event.entry is not None] == [KEY]
        inner.seen.set()
        break
    await commit
