"""Checks of compaction, concurrent writers and the end of a storage."""

from __future__ import annotations

import asyncio

from pilotage.errors import FutureRevision, RevisionConflict, StorageError
from pilotage.storage.interface import Delete, Put, Storage
from pilotage.testing.storage.checks import TIMEOUT, check, found, next_batch, raises, state, yield_to_tasks


@check
async def compaction_keeps_the_current_state(storage: Storage) -> None:
    await storage.commit(Put("a", b"1"), Put("b", b"1"))
    await storage.commit(Put("a", b"2"))
    revision = await storage.commit(Delete("b"))
    await storage.compact(revision - 1)
    assert storage.oldest == revision - 1
    assert await state(storage, revision - 1) == [("a", b"2"), ("b", b"1")]
    await storage.compact(revision - 2)
    assert storage.oldest == revision - 1
    await storage.compact(revision)
    await storage.compact(revision)
    assert await state(storage, 0) == [("a", b"2")]
    assert (storage.revision, storage.oldest) == (revision, revision)
    await raises(FutureRevision, storage.compact(revision + 1))


@check
async def concurrent_writers_lose_no_update(storage: Storage) -> None:
    await storage.commit(Put("count", b"0"))

    async def increment() -> None:
        while True:
            entry = found(await storage.get("count"))
            try:
                await storage.commit(Put("count", str(int(entry.value) + 1).encode(), expected=entry.revision))
            except RevisionConflict:
                await asyncio.sleep(0)
            else:
                return

    await asyncio.wait_for(asyncio.gather(*(increment() for _ in range(20))), 3 * TIMEOUT)
    assert found(await storage.get("count")).value == b"20"


@check
async def commits_in_flight_are_each_acknowledged_with_their_revision(storage: Storage) -> None:
    first = storage.revision
    revisions = await asyncio.gather(*(storage.commit(Put(f"k{number}", b"")) for number in range(200)))
    assert sorted(revisions) == list(range(first + 1, first + 201))
    entries = {entry.key: entry.revision for entry in (await storage.list("")).entries}
    assert entries == {f"k{number}": revision for number, revision in enumerate(revisions)}


@check
async def closed_storage_ends_watches_and_refuses_the_rest(storage: Storage) -> None:
    revision = await storage.commit(Put("a", b"1"))
    watch = storage.watch("", since=revision)
    waiting = asyncio.ensure_future(next_batch(watch))
    await yield_to_tasks()
    await storage.close()
    await raises(StorageError, waiting)
    await raises(StorageError, anext(watch))
    await raises(StorageError, storage.get("a"))
    await raises(StorageError, storage.list(""))
    await raises(StorageError, storage.commit(Put("a", b"2")))
    await raises(StorageError, storage.compact(revision))
    await raises(StorageError, storage.check())
    await storage.close()
