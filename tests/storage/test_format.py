"""The file of the first release is opened, read and written by this one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from unittest import mock

import apsw
import pytest

from pilotage.errors import Compacted, StorageBroken, StorageBusy, StorageError
from pilotage.storage import Put
from pilotage.storage.sqlite import DirectSqliteStorage, SqliteStorage, formats

from .powerloss import Image, Recorder, images, put, settled

FILE = Path(__file__).parent / "data" / "format-1.db"
"""Written by the first release: it is never written again. A new format gets a new file beside it."""


@pytest.fixture
def old_file(tmp_path: Path) -> str:
    path = tmp_path / "copy.db"
    shutil.copy(FILE, path)
    return str(path)


async def test_the_file_of_the_first_release_is_read_and_written(old_file: str) -> None:
    storage = await SqliteStorage.open(old_file)
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
    storage = await SqliteStorage.open(old_file)
    entry = await storage.get("/é")
    assert entry is not None
    assert (entry.value, entry.created, entry.revision) == (b"new", 5, 6)
    await storage.close()


async def test_the_file_of_the_first_release_gives_space_back_in_steps_after_it_was_shrunk(old_file: str) -> None:
    storage = await SqliteStorage.open(old_file)
    await storage.shrink()
    await storage.close()
    with contextlib.closing(apsw.Connection(old_file)) as connection:
        assert connection.pragma("auto_vacuum") == 2
    assert await _content(old_file) == CONTENT


# No second format exists. The upgrade is tested with a next one: a column, an index and a row in the table meta.

CONTENT = {"/default/core/configmaps/a": b'{"a":2}', "/é": b""}


def _add_column(connection: apsw.Connection) -> None:
    connection.execute("ALTER TABLE log ADD COLUMN note TEXT")
    connection.execute("UPDATE log SET note = 'format 2'")


def _add_index(connection: apsw.Connection) -> None:
    connection.execute("CREATE INDEX keys ON log (key)")
    if not list(connection.execute("SELECT 1 FROM log WHERE note = 'format 2'")):
        raise AssertionError("the steps are not in order")


@contextlib.contextmanager
def next_formats() -> Iterator[None]:
    """A later version of Pilotage, with the formats 2 and 3."""
    with mock.patch.multiple(formats, STEPS=(_add_column, _add_index), FORMAT_NEEDS="7.1"):
        yield


async def _content(path: str) -> dict[str, bytes]:
    storage = await SqliteStorage.open(path)
    try:
        return {entry.key: entry.value for entry in (await storage.list("")).entries}
    finally:
        await storage.close()


async def test_an_old_file_is_upgraded_with_its_content_and_history(
    old_file: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with next_formats():
        storage = await SqliteStorage.open(old_file)
        assert (storage.oldest, storage.revision) == (3, 5)
        assert len(await anext(aiter(storage.watch("/", since=3)))) == 2
        assert await storage.commit(Put("/new", b"")) == 6
        await storage.close()
        assert await _content(old_file) == CONTENT | {"/new": b""}
        direct = DirectSqliteStorage(old_file)
        assert len((await direct.list("")).entries) == 3
        direct.close_now()
    assert caplog.text.count(f"Upgraded the storage path={old_file} format=1 new_format=3") == 1


def test_an_older_program_refuses_an_upgraded_file_and_names_both_formats(old_file: str) -> None:
    with next_formats():
        asyncio.run(_content(old_file))
    before = Path(old_file).read_bytes()
    with pytest.raises(StorageBroken, match=r"has format 3, and this Pilotage knows formats up to 1.* Pilotage 7\.1"):
        asyncio.run(_content(old_file))
    assert Path(old_file).read_bytes() == before


async def test_a_file_that_another_process_has_open_is_not_upgraded(old_file: str) -> None:
    storage = await SqliteStorage.open(old_file)
    with next_formats(), pytest.raises(StorageBusy, match="end all processes that use it, make a backup"):
        await _content(old_file)
    await storage.commit(Put("/still", b"works"))
    await storage.close()
    with next_formats():
        assert await _content(old_file) == CONTENT | {"/still": b"works"}


async def test_a_step_that_fails_changes_nothing(old_file: str) -> None:
    def fail(connection: apsw.Connection) -> None:
        connection.execute("SELECT * FROM missing")

    with mock.patch.object(formats, "STEPS", (_add_column, fail)), pytest.raises(StorageError):
        await _content(old_file)
    assert await _content(old_file) == CONTENT


def test_an_upgrade_that_is_cut_anywhere_is_whole_or_not_begun(tmp_path: Path) -> None:
    """Killed, or without power, after every write: the new program has all content, the old one has it or refuses."""
    recorder = Recorder(tmp_path / "recorded", settled({"copy.db": FILE.read_bytes()}))
    begun = len(recorder.steps)
    with recorder.recording(), next_formats():
        assert asyncio.run(_content(str(tmp_path / "recorded" / "copy.db"))) == CONTENT
    tried: list[Image] = []
    outcomes: set[str] = set()
    for at in range(begun, len(recorder.steps) + 1):
        for _, image in images(recorder.steps[:at], [Random(at)]):
            if image not in tried:
                tried.append(image)
                outcomes.add(_after_crash(image, tmp_path / f"crash{len(tried)}"))
    assert outcomes == {"old", "refused"}
    assert len(tried) > 10


def _after_crash(image: Image, folder: Path) -> str:
    folder.mkdir()
    put(image, folder / "old")
    put(image, folder / "new")
    with next_formats():
        assert asyncio.run(_content(str(folder / "new" / "copy.db"))) == CONTENT
    try:
        found = asyncio.run(_content(str(folder / "old" / "copy.db")))
    except StorageBroken as error:
        return "refused" if "has format 3, and this Pilotage knows formats up to 1" in str(error) else str(error)
    return "old" if found == CONTENT else str(found)
