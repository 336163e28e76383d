"""A file that may be read and not written: reads see every commit, commits are refused, and no file is created."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotage.cluster.light import run_now
from pilotage.errors import StorageBusy, StorageError, StorageReadOnly
from pilotage.storage import Put
from pilotage.storage.sqlite import SqliteStorage, formats, lock
from pilotage.storage.sqlite.direct import DirectSqliteStorage
from pilotage.storage.sqlite.parts import OpenFile
from pilotage.storage.sqlite.readonly import ReadOnlyLockFile
from tests.users import no_superuser


@pytest.fixture
def stored(path: str) -> Iterator[str]:
    """A file that every user may read, as its lock file."""
    storage = DirectSqliteStorage(path)
    run_now(storage.commit(Put("a", b"1")))
    storage.close_now()
    for file in (path, f"{path}-lock"):
        os.chmod(file, 0o444)
    with no_superuser(path):
        yield path


def state(path: str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(path).parent.iterdir() if os.access(file, os.R_OK)}


def values(storage: DirectSqliteStorage) -> list[bytes]:
    return [entry.value for entry in run_now(storage.list("")).entries]


async def test_a_read_only_file_is_read_and_commits_are_refused(stored: str) -> None:
    before = state(stored)
    storage = await SqliteStorage.open(stored)
    assert [entry.value for entry in (await storage.list("")).entries] == [b"1"]
    refused = f"{stored} is read-only: {stored} cannot be written \\(Permission denied\\). Nothing was written"
    for attempt in (storage.commit(Put("b", b"")), storage.compact(2), storage.shrink(), storage.check()):
        with pytest.raises(StorageReadOnly, match=refused):
            await attempt
    assert [entry.value for entry in (await storage.list("")).entries] == [b"1"]
    await storage.close()
    assert state(stored) == before


def test_it_is_read_without_an_event_loop_too(stored: str) -> None:
    before = state(stored)
    storage = DirectSqliteStorage(stored)
    assert values(storage) == [b"1"]
    with pytest.raises(StorageReadOnly):
        run_now(storage.commit(Put("b", b"")))
    assert values(storage) == [b"1"]
    assert (storage.revision, storage.oldest) == (2, 1)
    storage.close_now()
    assert state(stored) == before


def test_a_lock_file_that_cannot_be_read_prevents_no_read(path: str) -> None:
    storage = DirectSqliteStorage(path)
    run_now(storage.commit(Put("a", b"1")))
    storage.close_now()
    os.chmod(path, 0o444)
    with no_superuser(path):
        storage = DirectSqliteStorage(path)
        assert values(storage) == [b"1"]
        storage.close_now()


def test_a_file_in_a_read_only_folder_is_read(path: str) -> None:
    storage = DirectSqliteStorage(path)
    run_now(storage.commit(Put("a", b"1")))
    storage.close_now()
    folder = os.path.dirname(path)
    for file in (path, f"{path}-lock"):
        os.chmod(file, 0o666)
    os.chmod(folder, 0o555)
    with no_superuser(path):
        storage = DirectSqliteStorage(path)
        assert values(storage) == [b"1"]
        with pytest.raises(StorageReadOnly, match=f"is read-only: {folder} cannot be written"):
            run_now(storage.commit(Put("b", b"")))
        storage.close_now()
    assert sorted(os.listdir(folder)) == ["test.db", "test.db-lock"]


async def test_commits_of_a_writer_are_seen(path: str) -> None:
    DirectSqliteStorage(path).close_now()
    for file in (path, f"{path}-lock"):
        os.chmod(file, 0o644)
    writer = DirectSqliteStorage(path)
    run_now(writer.commit(Put("a", b"1")))
    with no_superuser(path):
        reader = await SqliteStorage.open(path)
        direct = DirectSqliteStorage(path)
    assert values(direct) == [b"1"]
    watch = reader.watch("", since=reader.revision)
    waiting = asyncio.ensure_future(anext(watch))
    run_now(writer.commit(Put("a", b"2")))
    assert [event.revision for event in await waiting] == [3]
    assert values(direct) == [b"2"]
    run_now(writer.commit(Put("a", b"3")))
    entry = await reader.get("a")
    assert entry is not None
    assert entry.value == b"3"
    direct.close_now()
    await reader.close()
    writer.close_now()


def test_commits_that_are_only_in_the_wal_of_a_killed_process_are_read(path: str, tmp_path: Path) -> None:
    writer = DirectSqliteStorage(path)
    run_now(writer.commit(Put("a", b"1")))
    copy = tmp_path / "copy"
    copy.mkdir()
    for suffix in ("", "-wal", "-shm", "-lock"):
        shutil.copy(path + suffix, copy / f"test.db{suffix}")
        os.chmod(copy / f"test.db{suffix}", 0o444)
    writer.close_now()
    os.chmod(copy, 0o555)
    with no_superuser(str(copy / "test.db")):
        storage = DirectSqliteStorage(str(copy / "test.db"))
        assert values(storage) == [b"1"]
        storage.close_now()
    (copy / "test.db-shm").unlink()
    with no_superuser(str(copy / "test.db")), pytest.raises(StorageReadOnly, match=r"-wal has commits that are not in"):
        DirectSqliteStorage(str(copy / "test.db"))


def test_readers_read_at_the_same_time_and_a_writer_waits_for_them(
    stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", 0.0)
    one, two = OpenFile(stored), OpenFile(stored)
    with one.log.transaction(write=False), two.log.transaction(write=False):
        assert one.log.revision == two.log.revision == 2
        writer = ReadOnlyLockFile(f"{stored}-lock")
        with pytest.raises(StorageBusy):
            lock.LockFile._wait(_exclusive(writer))
        writer.close()
    for file in (one, two):
        file.close()


def _exclusive(reader: ReadOnlyLockFile) -> lock.LockFile:
    """The same file, locked as a writer locks it."""
    found = lock.LockFile.__new__(lock.LockFile)
    found.path, found.descriptor, found._stuck = reader.path, reader.descriptor, ""
    return found


def test_a_write_during_a_read_is_noticed_where_the_lock_file_cannot_be_read(stored: str) -> None:
    file = OpenFile(stored)
    file.lock.close()
    file.lock.descriptor = -1
    with pytest.raises(StorageBusy, match="was written while it was read"):
        _read_while_it_is_written(file)
    file.close()


def _read_while_it_is_written(file: OpenFile) -> None:
    with file.log.transaction(write=False):
        os.seteuid(os.getuid())
        os.utime(file.path, (0, 0))


def test_what_must_be_changed_before_it_is_read_is_refused(stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "STEPS", (lambda connection: None,))
    with pytest.raises(StorageReadOnly, match="has format 1, which is upgraded to format 2 before it is read"):
        DirectSqliteStorage(stored)


def test_an_empty_read_only_file_has_nothing_to_read(path: str) -> None:
    Path(path).touch(0o444)
    with no_superuser(path), pytest.raises(StorageReadOnly, match="is empty and read-only"):
        DirectSqliteStorage(path)


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(path: str) -> None:
    DirectSqliteStorage(path).close_now()
    os.chmod(path, 0)
    with no_superuser(path), pytest.raises(StorageError, match=r"test.db cannot be read \(Permission denied\)"):
        DirectSqliteStorage(path)
