"""A SQLite storage in a process without memory."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from pilotage.errors import StorageBroken
from pilotage.storage import Put
from pilotage.storage.sqlite import SqliteStorage
from pilotage.storage.sqlite.writer import SQLiteWriter


@pytest.mark.parametrize("place", ["_take", "serve"])
async def test_a_storage_thread_without_memory_refuses_writes_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    storage = await SqliteStorage.open(f"{tmp_path}/state.db")
    await storage.commit(Put("/a", b"1"))
    whole = getattr(SQLiteWriter, place)

    def fail(writer: SQLiteWriter, *arguments: object) -> None:
        monkeypatch.setattr(SQLiteWriter, place, whole)
        if place == "_take":
            whole(writer, *arguments)
        raise MemoryError

    monkeypatch.setattr(SQLiteWriter, place, fail)
    with suppress(StorageBroken):  # the thread may have been waiting in the whole function
        await storage.commit(Put("/c", b"1"))
    with pytest.raises(StorageBroken, match="the storage thread failed: MemoryError"):
        await storage.commit(Put("/b", b"1"))
    await storage.close()
