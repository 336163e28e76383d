"""The file of the first release is opened, read and written by this one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pilotage.errors import Compacted
from pilotage.storage import Put
from pilotage.storage.sqlite import SqliteStorage

FILE = Path(__file__).parent / "data" / "format-1.db"
"""Written by the first release: it is never written again. A new format gets a new file beside it."""


async def test_the_file_of_the_first_release_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "copy.db"
    shutil.copy(FILE, path)
    storage = await SqliteStorage.open(str(path))
    assert (storage.oldest, storage.revision) == (3, 5)
    entries = {entry.key: (entry.value, entry.created, entry.revision) for entry in (await storage.list("")).entries}
    assert entries == {"/default/core/configmaps/a": (b'{"a":2}', 2, 3), "/é": (b"", 5, 5)}
    (deleted, created) = await anext(aiter(storage.watch("/", since=3)))
    assert deleted.previous is not None
    assert (deleted.key, deleted.entry, deleted.previous.value) == ("/b", None, b"\0\xff")
    assert created.key == "/é"
    with pytest.raises(Compacted):
        await storage.list("", revision=2)
    assert await storage.commit(Put("/é", b"new", expected=5)) == 6
    await storage.close()
    storage = await SqliteStorage.open(str(path))
    entry = await storage.get("/é")
    assert entry is not None
    assert (entry.value, entry.created, entry.revision) == (b"new", 5, 6)
    await storage.close()
