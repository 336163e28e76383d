"""The limits of the history of a storage."""

from __future__ import annotations

import os
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import Compacted, InvalidDefinition
from pilotage.storage import Delete, Put, Storage, open_served_storage, open_storage
from pilotage.storage.history import EVENT_BYTES, History
from pilotage.storage.interface import Operation
from pilotage.storage.memory import MemoryStorage
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.transaction import plan

LIMIT = 100_000


class Open(Protocol):
    async def __call__(self, url: str, *, max_history_bytes: int) -> Storage: ...


@pytest.mark.parametrize("open_", [open_storage, open_served_storage])
@pytest.mark.parametrize("url", ["memory:", "sqlite:{path}"])
async def test_history_of_a_large_object_is_bounded_by_bytes(open_: Open, url: str, path: str) -> None:
    storage = await open_(url.format(path=path), max_history_bytes=LIMIT)
    for number in range(100):
        await storage.commit(Put("a", b"%d" % number * 5_000))
    kept = storage.revision - storage.oldest
    assert 5 <= kept <= LIMIT // 10_000
    with pytest.raises(Compacted):
        await anext(storage.watch("", since=storage.oldest - 1))
    events = await anext(storage.watch("", since=storage.oldest))
    assert [event.revision for event in events] == list(range(storage.oldest + 1, storage.revision + 1))
    await storage.close()


async def test_history_in_a_file_is_bounded_by_bytes_and_the_bound_survives_a_restart(path: str) -> None:
    storage = await SqliteStorage.open(path, max_history_bytes=LIMIT)
    for number in range(100):
        await storage.commit(Put("a", b"%02d" % number * 5_000))
    await storage.close()
    assert os.stat(path).st_size < 4 * LIMIT  # 1 MB was written
    storage = await SqliteStorage.open(path, max_history_bytes=LIMIT)
    assert storage.revision - storage.oldest <= LIMIT // 10_000
    entry = await storage.get("a")
    assert entry is not None
    assert entry.value == b"99" * 5_000
    await storage.close()


async def test_a_file_with_more_history_than_the_limit_is_compacted_at_opening(path: str) -> None:
    storage = await SqliteStorage.open(path)
    for number in range(100):
        await storage.commit(Put("a", b"%02d" % number * 5_000))
    assert storage.oldest == 1
    await storage.close()
    storage = await SqliteStorage.open(path, max_history_bytes=LIMIT)
    await storage.check()  # answered by the storage thread, after it has begun
    assert storage.revision - storage.oldest <= LIMIT // 10_000
    await storage.close()


def test_a_limit_below_one_byte_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="max_history_bytes=0: must be a whole number, 1 or more"):
        MemoryStorage(max_history_bytes=0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2_000))), st.integers(1, 20_000))
def test_bytes_are_those_that_compaction_would_free(writes: list[tuple[str, int]], limit: int) -> None:
    history = History(1, limit)
    for key, size in writes:
        operation: Operation = Put(key, bytes(size)) if size % 3 or not history.find(key) else Delete(key)
        history.append(plan([operation], history.revision + 1, history.find))
        if overdue := history.overdue():
            history.compact(overdue)
            assert history.bytes <= limit * 3 // 4
        assert history.bytes <= limit
        log = [event for commit in history.since(history.oldest, 10_000) for event in commit]
        freed = sum(len(event.previous.value) for event in log if event.previous)
        assert history.bytes == freed + EVENT_BYTES * len(log)
    history.compact(history.revision)
    assert history.bytes == 0
