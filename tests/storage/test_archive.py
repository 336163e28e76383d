from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import StorageError, StorageFull
from pilotage.storage import Operation, Put, Storage, open_storage
from pilotage.storage.archive import read_archive, restore_archive, write_archive
from pilotage.storage.memory import MemoryStorage
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.transaction import MAX_VALUE_BYTES


async def _written(storage: Storage) -> bytes:
    file = io.BytesIO()
    await write_archive(storage, file)
    return file.getvalue()


async def _entries(storage: Storage) -> dict[str, bytes]:
    return {entry.key: entry.value for entry in (await storage.list("")).entries}


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.binary(max_size=300)))
def test_what_is_restored_is_what_was_there(values: dict[str, bytes]) -> None:
    async def restored() -> dict[str, bytes]:
        storage, new = MemoryStorage(), MemoryStorage()
        for key, value in values.items():
            await storage.commit(Put(key, value))
        await restore_archive(new, read_archive(io.BytesIO(await _written(storage)), "a"))
        return await _entries(new)

    assert asyncio.run(restored()) == values


async def test_a_backup_is_of_one_moment_while_the_storage_is_written(path: str) -> None:
    storage = await open_storage(f"sqlite:{path}")
    await storage.commit(*(Put(f"/{number}", b"1") for number in range(500)))
    file = io.BytesIO()
    head = await write_archive(storage, file)
    await storage.commit(Put("/0", b"2"))
    await storage.close()
    file.seek(0)
    archive = read_archive(file, "a")
    assert archive.revision == head.revision
    assert {put.value for put in archive.puts} == {b"1"}


async def test_revisions_of_a_restored_file_continue(tmp_path: Path) -> None:
    storage = MemoryStorage(first_revision=1000)
    await storage.commit(Put("/a", b"1"))
    archive = read_archive(io.BytesIO(await _written(storage)), "a")
    new = await SqliteStorage.open(str(tmp_path / "new.db"), first_revision=archive.revision + 1)
    assert await restore_archive(new, archive) > 1001
    await new.close()


async def test_a_storage_with_data_is_not_overwritten() -> None:
    storage = MemoryStorage()
    await storage.commit(Put("/a", b"1"))
    archive = read_archive(io.BytesIO(await _written(storage)), "a")
    with pytest.raises(StorageError, match="not empty: restore into a new one"):
        await restore_archive(storage, archive)


async def test_a_restore_that_fails_says_that_the_storage_is_incomplete() -> None:
    class Full(MemoryStorage):
        async def commit(self, *operations: Operation) -> int:
            if self.revision == 2:
                raise StorageFull("no space is left")
            return await super().commit(*operations)

    storage = MemoryStorage()
    await storage.commit(*(Put(f"/{number}", b"1") for number in range(250)))
    archive = read_archive(io.BytesIO(await _written(storage)), "a")
    with pytest.raises(StorageError, match=r"incomplete, only 100 of 250 entries were restored: remove what.*no space"):
        await restore_archive(Full(), archive)


async def test_the_largest_value_is_restored_even_if_its_text_is_six_times_as_long() -> None:
    storage, new = MemoryStorage(), MemoryStorage()
    await storage.commit(Put("/a", b"\0" * MAX_VALUE_BYTES))
    await restore_archive(new, read_archive(io.BytesIO(await _written(storage)), "a"))
    assert await _entries(new) == await _entries(storage)


async def test_values_are_restored_with_a_lifetime() -> None:
    committed: list[Operation] = []

    class Recording(MemoryStorage):
        async def commit(self, *operations: Operation) -> int:
            committed.extend(operations)
            return await super().commit(*operations)

    storage = MemoryStorage()
    await storage.commit(Put("/a", b"1"), Put("/b", b"1"))
    archive = read_archive(io.BytesIO(await _written(storage)), "a")
    await restore_archive(Recording(), archive, {"/a": 60, "/b": 0}.__getitem__)
    assert committed == [Put("/a", b"1", 0, lifetime=60), Put("/b", b"1", 0)]


async def test_a_damaged_archive_is_refused() -> None:
    storage = MemoryStorage()
    for number in range(20):
        await storage.commit(Put(f"/{number}", b"value"))
    whole = await _written(storage)
    lines = whole.splitlines(keepends=True)
    damaged = [
        b"",
        b"no archive",
        whole[:-1][: len(whole) // 2],
        b"".join(lines[:-1]),
        b"".join([*lines[:5], *lines[6:]]),
        whole.replace(b"value", b"VALUE", 1),
        whole.replace(b"archive-v1", b"archive-v9"),
        whole.replace(b'"revision":', b'"revision":9999999999999999999', 1),
    ]
    for data in damaged:
        with pytest.raises(StorageError, match="not an archive of a storage, or it is damaged"):
            read_archive(io.BytesIO(data), "a")
