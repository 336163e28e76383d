"""Space is kept for deletes: on a full disk, what creates and updates is refused, and what frees space succeeds."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import apsw
import pytest

import pilotage as pt
from pilotage.errors import ServiceUnavailable, StorageFull
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse
from pilotage.server.http.handler import HTTPHandler
from pilotage.storage import Delete, Put
from pilotage.storage.sqlite import DirectSqliteStorage, SqliteStorage, log
from pilotage.storage.sqlite.lock import SIZE, LockFile
from pilotage.storage.sqlite.reserve import LEAST_BYTES, MOST_BYTES, Reserve
from pilotage.types.core.v1 import ConfigMap, Namespace

from .smalldisk import SmallDisk

DISK = 4 << 20
VALUE = os.urandom(20_000)


@asynccontextmanager
async def full_disk(tmp_path: Path) -> AsyncIterator[tuple[SqliteStorage, SmallDisk]]:
    """A storage with 40 values, on a disk that another program has filled since."""
    disk = SmallDisk(tmp_path, DISK)
    with disk.mounted():
        storage = await SqliteStorage.open(str(tmp_path / "test.db"))
        for number in range(40):
            await storage.commit(Put(f"k{number}", VALUE))
        disk.fill()
        puts = [storage.commit(Put(f"more{number}", VALUE)) for number in range(100)]
        outcomes = await asyncio.gather(*puts, return_exceptions=True)
        assert isinstance(outcomes[-1], StorageFull)
        try:
            yield storage, disk
        finally:
            await storage.close()


async def test_creates_and_updates_are_refused_with_what_to_do(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, _):
        with pytest.raises(StorageFull) as caught:
            await storage.commit(Put("k1", b"an update"))
        assert (
            f'delete objects, which is possible on a full disk, and run "pilotage store shrink sqlite:{tmp_path}/'
            in (str(caught.value))
        )


async def test_every_object_can_be_deleted_though_another_program_takes_all_free_space(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, disk):
        entries = (await storage.list("")).entries
        assert len(entries) >= 40
        for entry in entries:
            await storage.commit(Delete(entry.key, expected=entry.revision))
            disk.fill()
        assert (await storage.list("")).entries == []
        with pytest.raises(StorageFull):  # the freed space is in the history, and this would use that of deletes
            await storage.commit(Put("new", b""))
        await storage.compact(storage.revision)
        await storage.shrink()
        await storage.commit(Put("new", VALUE))


async def test_commits_that_fill_the_last_space_together_leave_space_for_deletes(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path, DISK)
    with disk.mounted():
        storage = await SqliteStorage.open(str(tmp_path / "test.db"))
        await storage.commit(Put("a", VALUE))
        room = len(VALUE) * 75
        (tmp_path / "other").write_bytes(bytes(disk.free - room))
        # In one transaction, they would fit into the WAL, and not into the file then.
        puts = [storage.commit(Put(f"k{number}", VALUE)) for number in range(60)]
        outcomes = await asyncio.gather(*puts, return_exceptions=True)
        assert all(isinstance(outcome, StorageFull) for outcome in outcomes)
        await storage.commit(*(Put(f"k{number}", VALUE) for number in range(20)))
        for entry in (await storage.list("")).entries:
            await storage.commit(Delete(entry.key))
        await storage.close()


async def test_commits_that_a_reader_keeps_in_the_wal_leave_space_for_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_PATIENT_MILLISECONDS", 0)
    disk = SmallDisk(tmp_path, DISK)
    with disk.mounted():
        storage = await SqliteStorage.open(str(tmp_path / "test.db"))
        await storage.commit(Put("a", VALUE))
        reader = apsw.Connection(str(tmp_path / "test.db"))
        reader.execute("BEGIN; SELECT count(*) FROM log").fetchall()
        with suppress(StorageFull):
            for number in range(200):
                await storage.commit(Put(f"k{number}", VALUE))
        disk.fill()
        entries = (await storage.list("")).entries
        assert 40 < len(entries) < 200
        deleted = 0
        with suppress(StorageFull):  # while the reader keeps them there, each delete needs new space
            for entry in entries:
                await storage.commit(Delete(entry.key))
                deleted += 1
        reader.close()
        for entry in entries[deleted:]:
            await storage.commit(Delete(entry.key))
        await storage.close()


async def test_deletes_and_creates_at_the_same_time_have_outcomes_of_their_own(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, _):
        commits = [storage.commit(Put("new", VALUE)), storage.commit(Delete("k1")), storage.commit(Put("k2", VALUE))]
        created, deleted, updated = await asyncio.gather(*commits, return_exceptions=True)
        assert isinstance(created, StorageFull)
        assert deleted == storage.revision
        assert isinstance(updated, StorageFull)
        assert await storage.get("k1") is None


async def test_compaction_alone_makes_space_for_new_objects(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, disk):
        for number in range(40):
            await storage.commit(Delete(f"k{number}"))
        disk.fill()
        with logged("Storage has space again") as has_space:
            await storage.compact(storage.revision)
            assert await asyncio.to_thread(has_space.wait, 60)
        await storage.commit(Put("new", VALUE))


@contextmanager
def logged(message: str) -> Iterator[threading.Event]:
    """An event that is set when the storage logs a message."""
    event = threading.Event()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if message in record.getMessage():
                event.set()

    handler, log = Handler(), logging.getLogger("pilotage.storage")
    log.addHandler(handler)
    level = log.level
    log.setLevel(logging.INFO)
    try:
        yield event
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


async def test_a_deletion_takes_the_space_of_the_history_when_the_kept_space_is_used_up(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, disk):
        with (tmp_path / "test.db-lock").open("r+b") as file:
            os.ftruncate(file.fileno(), SIZE + LEAST_BYTES // 8)
        disk.fill()
        for number in range(40):
            await storage.commit(Put(f"k{number}", VALUE, for_deletion=True))
            disk.fill()
        assert storage.oldest > 1


async def test_steps_of_a_deletion_use_the_kept_space_and_other_puts_do_not(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, _):
        await storage.commit(Put("k1", b"marked", for_deletion=True))
        with pytest.raises(StorageFull):
            await storage.commit(Put("k2", b"", for_deletion=True), Put("k3", b""))


async def test_the_storage_is_opened_read_and_emptied_on_a_full_disk(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, disk):
        await storage.close()
        disk.fill()
        direct = DirectSqliteStorage(str(tmp_path / "test.db"))
        entries = (await direct.list("k")).entries
        assert len(entries) == 40
        with pytest.raises(StorageFull):
            await direct.commit(Put("new", b""))
        for entry in entries:
            await direct.commit(Delete(entry.key))
            disk.fill()
        direct.close_now()


async def test_short_commands_that_read_do_not_use_up_the_kept_space(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, disk):
        await storage.close()
        for _ in range(10):
            disk.fill()
            direct = DirectSqliteStorage(str(tmp_path / "test.db"))
            assert len((await direct.list("k")).entries) == 40
            direct.close_now()
        disk.fill()
        assert (tmp_path / "test.db-lock").stat().st_size - SIZE >= DISK // 8 - (64 << 10)


async def test_other_processes_refuse_creates_while_the_kept_space_is_in_use(tmp_path: Path) -> None:
    async with full_disk(tmp_path) as (storage, _):
        await storage.commit(Delete("k1"))
        other = await SqliteStorage.open(str(tmp_path / "test.db"))
        with pytest.raises(StorageFull):
            await other.commit(Put("new", b""))
        await other.commit(Delete("k2"))
        await other.close()


async def test_the_log_and_the_check_report_a_full_disk_once_and_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with full_disk(tmp_path) as (storage, disk):
        with pytest.raises(StorageFull, match="pilotage store shrink"):
            await storage.check()
        assert caplog.text.count("Storage is full") == 1
        disk.empty()
        await storage.check()
        assert caplog.text.count("Storage has space again") == 1
        await storage.commit(Put("new", VALUE))


async def test_the_api_refuses_creates_and_deletes_objects_with_and_without_finalizers(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path, DISK)
    with disk.mounted():
        async with pt.Cluster.embedded(f"sqlite:{tmp_path}/test.db") as cluster:
            client = cluster.client.with_namespace("default")
            await client.create(ConfigMap(metadata=pt.ObjectMeta(name="plain"), data={"a": "b"}))
            waiting = ConfigMap(metadata=pt.ObjectMeta(name="waiting", finalizers=["example.com/a", "example.com/b"]))
            await client.create(waiting)
            disk.fill()
            large = {"a": "x" * 300_000}
            news = [ConfigMap(metadata=pt.ObjectMeta(name=f"new-{number}"), data=large) for number in range(20)]
            with pytest.raises(ServiceUnavailable, match="no space is left to write to"):
                await asyncio.gather(*map(client.create, news))
            ready = await HTTPHandler(cluster.registry, "secret")(HTTPRequest("GET", "/readyz", Headers([])))
            assert isinstance(ready, HTTPResponse)
            assert b"[-]etcd failed: the storage is full: creates and updates are refused; delete objects" in ready.body
            await client.delete(ConfigMap, "plain")
            await client.delete(ConfigMap, "waiting")
            for remaining in ["example.com/b"], []:
                found = await client.get(ConfigMap, "waiting")
                found.metadata.finalizers = remaining
                await client.update(found)
            names = {one.metadata.name for one in await client.list(ConfigMap)}
            assert not names & {"plain", "waiting"}
        disk.fill()
        async with pt.Cluster.embedded(f"sqlite:{tmp_path}/test.db") as cluster:  # a start writes nothing
            await cluster.client.delete_all_of(ConfigMap, namespace="default")


async def test_a_namespace_is_emptied_and_deleted_on_a_full_disk(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path, DISK)
    with disk.mounted():
        async with pt.Cluster.embedded(f"sqlite:{tmp_path}/test.db") as cluster:
            client = cluster.client
            await client.create(Namespace(metadata=pt.ObjectMeta(name="team")))
            for number in range(5):
                await client.create(ConfigMap(metadata=pt.ObjectMeta(name=f"a{number}", namespace="team")))
            disk.fill()
            with pytest.raises(ServiceUnavailable):
                await client.create(
                    ConfigMap(metadata=pt.ObjectMeta(name="b", namespace="team"), data={"a": "x" * 900_000})
                )
            async with client.watch(Namespace) as watch:
                await client.delete(Namespace, "team")
                async for event in watch:
                    disk.fill()
                    if event.type == "DELETED":
                        break
            assert len(await client.list(ConfigMap, namespace="team")) == 0


def test_the_kept_space_grows_with_the_database_and_is_small_on_a_small_disk(tmp_path: Path) -> None:
    database = tmp_path / "test.db"
    disk = SmallDisk(tmp_path, 1 << 30)
    lock = LockFile(f"{database}-lock", 0o600)
    reserve = Reserve(str(database), lock)
    with disk.mounted():
        found = []
        for size in (0, 16 << 20, 100 << 20):
            with database.open("wb") as file:
                file.truncate(size)
            assert reserve.keep()
            found.append(reserve.bytes)
        assert found == [LEAST_BYTES, 4 << 20, MOST_BYTES]
        os.ftruncate(lock.descriptor, SIZE)
        disk.size = (100 << 20) + (8 << 20)
        database.write_bytes(b"")
        disk.size = 4 << 20
        assert reserve.keep()
        assert reserve.bytes == disk.size // 8
    lock.close()


def test_a_file_system_that_cannot_allocate_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test.db").touch()
    lock = LockFile(str(tmp_path / "test.db-lock"), 0o600)

    def unsupported(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    reserve = Reserve(str(tmp_path / "test.db"), lock)
    assert reserve.keep()
    assert reserve.bytes == LEAST_BYTES
    assert (tmp_path / "test.db-lock").stat().st_blocks * 512 >= LEAST_BYTES
    lock.close()
