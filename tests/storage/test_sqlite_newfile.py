"""A storage that is filled before it appears."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotage.errors import StorageBusy, StorageError
from pilotage.storage import Put
from pilotage.storage.sqlite import SqliteStorage, lock
from pilotage.storage.sqlite.newfile import is_free, new_file


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def fail(path: str) -> None:
    async with new_file(path) as storage:
        await storage.commit(Put("a", b"1"))
        raise StorageError("no member answers")


async def test_a_new_file_appears_with_its_contents(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    async with new_file(str(path), 40) as storage:
        revision = await storage.commit(Put("a", b"1"))
        assert not path.exists()
    assert files(tmp_path) == ["test.db", "test.db-lock"]
    opened = await SqliteStorage.open(str(path))
    assert (opened.revision, len((await opened.list("")).entries)) == (revision, 1)
    assert revision > 40
    await opened.close()
    path.unlink()
    async with new_file(str(path)) as storage:
        assert storage.revision == revision, "the revisions of a removed file are not used again"


async def test_a_new_file_that_fails_leaves_nothing_and_one_that_was_killed_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    for leftover in ("test.db-restore", "test.db-restore-wal"):
        (tmp_path / leftover).write_bytes(b"a part")
    with pytest.raises(StorageError, match="no member answers"):
        await fail(str(path))
    assert files(tmp_path) == ["test.db-lock"]
    async with new_file(str(path)) as storage:
        assert (await storage.list("")).entries == []
    assert not is_free(str(path))
    with pytest.raises(StorageError, match="exists: choose another path"):
        await fail(str(path))


async def test_no_other_process_opens_a_file_that_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", 0)
    async with new_file(str(tmp_path / "test.db")) as storage:
        with pytest.raises(StorageBusy):
            await SqliteStorage.open(str(tmp_path / "test.db"))
        with pytest.raises(StorageBusy):
            await fail(str(tmp_path / "test.db"))
        await storage.commit(Put("a", b"1"))
