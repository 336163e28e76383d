from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from pilotage.errors import Compacted, RevisionConflict, StorageBroken, StorageError
from pilotage.storage import Delete, Event, Put, Storage, open_storage
from pilotage.storage.sqlite import SqliteStorage, file
from pilotage.storage.sqlite.log import Log
from pilotage.storage.sqlite.rows import Row


async def test_state_log_and_revisions_survive_a_restart(path: str) -> None:
    storage = await SqliteStorage.open(path)
    first = await storage.commit(Put("a", b"1"), Put("b", b"1"))
    await storage.commit(Put("a", b"2"))
    await storage.commit(Delete("b"))
    before = await _events(storage, first, 2)
    await storage.close()
    storage = await SqliteStorage.open(path)
    assert await _events(storage, first, 2) == before
    assert await _state(storage) == {"a": b"2"}
    assert storage.revision == first + 2
    await storage.close()


async def test_revision_and_oldest_survive_when_every_key_is_deleted_and_compacted(path: str) -> None:
    storage = await SqliteStorage.open(path)
    await storage.commit(Put("a", b"1"))
    revision = await storage.commit(Delete("a"))
    await storage.compact(revision)
    await storage.close()
    storage = await SqliteStorage.open(path)
    assert (storage.revision, storage.oldest) == (revision, revision)
    assert await storage.commit(Put("a", b"1")) == revision + 1
    await storage.close()


async def test_compaction_removes_rows_that_are_not_needed(path: str) -> None:
    storage = await SqliteStorage.open(path)
    for number in range(300):
        await storage.commit(Put("a", str(number).encode()), Put(f"k{number}", b""))
        await storage.commit(Delete(f"k{number}"))
    await storage.compact(storage.revision - 1)
    await storage.close()
    assert _rows(path) == 2 + 1  # the last value of a, and the last k with its deletion


async def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    storage = await open_storage(f"sqlite:{tmp_path}/test.db")
    await storage.commit(Put("secret", b"1"))
    modes = {name: oct(os.stat(tmp_path / name).st_mode & 0o777) for name in os.listdir(tmp_path)}
    await storage.close()
    assert modes == dict.fromkeys(["test.db", "test.db-lock", "test.db-shm", "test.db-wal"], "0o600")


async def test_failing_condition_fails_only_its_own_commit(path: str) -> None:
    storage = await SqliteStorage.open(path)
    commits = [storage.commit(Put("a", b"%d" % number, expected=0), Put(f"k{number}", b"")) for number in range(50)]
    outcomes = await asyncio.gather(*commits, return_exceptions=True)
    conflicts = [outcome for outcome in outcomes if isinstance(outcome, RevisionConflict)]
    assert len(conflicts) == 49
    assert {conflict.revision for conflict in conflicts} == {storage.revision}
    assert len(await _state(storage)) == 2
    await storage.close()


async def test_two_storages_on_one_file_see_each_other(path: str) -> None:
    one, two = await SqliteStorage.open(path), await SqliteStorage.open(path)
    first = await one.commit(Put("a", b"one"))
    entry = await two.get("a")
    assert entry is not None
    assert entry.value == b"one"
    assert await two.commit(Put("a", b"two", expected=first)) == first + 1
    with pytest.raises(RevisionConflict):
        await one.commit(Put("a", b"three", expected=first))
    assert (await one.list("")).revision == first + 1
    assert await one.commit(Delete("a", expected=first + 1)) == first + 2
    assert await two.get("a") is None
    await one.close()
    await two.close()


async def test_watch_sees_the_commits_of_another_storage_on_the_file(path: str) -> None:
    one, two = await SqliteStorage.open(path), await SqliteStorage.open(path)
    watch = two.watch("a", since=two.revision)
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    revision = await one.commit(Put("b", b""), Put("a", b"1"))
    async with asyncio.timeout(60):
        assert [(event.key, event.revision) for event in await waiting] == [("a", revision)]
    await one.close()
    await two.close()


async def test_compaction_by_another_storage_is_noticed(path: str) -> None:
    one, two = await SqliteStorage.open(path), await SqliteStorage.open(path)
    await one.commit(Put("a", b"1"))
    assert await two.get("a")
    known = two.revision
    waiting = asyncio.ensure_future(anext(two.watch("nothing", since=known)))
    behind = two.watch("", since=known)
    await one.commit(Put("a", b"2"))
    await one.commit(Delete("a"))
    await one.commit(Put("b", b"3"))
    await one.compact(one.revision)
    await one.commit(Put("c", b"4"))
    assert await _state(two) == {"b": b"3", "c": b"4"}
    assert (two.oldest, two.revision) == (known + 3, known + 4)
    for overtaken in (behind, waiting):
        with pytest.raises(Compacted):
            await (anext(overtaken) if overtaken is behind else waiting)
    await two.commit(Put("d", b"5"))
    await two.compact(two.revision)
    assert await _state(one) == {"b": b"3", "c": b"4", "d": b"5"}
    await one.close()
    await two.close()


async def test_half_done_compaction_of_another_storage_brings_no_key_back(path: str) -> None:
    one, two = await SqliteStorage.open(path), await SqliteStorage.open(path)
    await one.commit(Put("a", b"1"))
    await one.commit(Put("a", b"2"))
    assert await two.get("a")
    one._writer._sweeping = False  # as if it were killed before it has removed anything
    await one.compact(one.revision)
    await two.commit(Delete("a"))
    await two.compact(two.revision)
    await two.close()
    one._writer._garbage.clear()
    await one.close()
    assert await _reopened(path) == {}
    assert _rows(path) == 0


async def test_storages_on_one_file_lose_no_update(path: str) -> None:
    storages = [await SqliteStorage.open(path) for _ in range(3)]
    await storages[0].commit(Put("count", b"0"))

    async def increment(storage: Storage) -> None:
        while True:
            entry = await storage.get("count")
            assert entry is not None
            try:
                await storage.commit(Put("count", b"%d" % (int(entry.value) + 1), expected=entry.revision))
            except RevisionConflict:
                continue
            return

    await asyncio.gather(*(increment(storage) for storage in storages * 10))
    assert [await _state(storage) for storage in storages] == [{"count": b"30"}] * 3
    for storage in storages:
        await storage.close()


OTHER_PROCESS = """
import asyncio, sys
from pilotage.storage import Put, open_storage

async def main():
    storage = await open_storage("sqlite:" + sys.argv[1])
    watch = storage.watch("to/", since=storage.revision)
    print("ready", flush=True)
    async for batch in watch:
        for event in batch:
            entry = await storage.get("from/child")
            await storage.commit(Put("from/child", event.entry.value, expected=entry.revision if entry else 0))
            if event.entry.value == b"3":
                return await storage.close()

asyncio.run(main())
"""


async def test_two_processes_talk_through_one_file(path: str) -> None:
    storage = await SqliteStorage.open(path)
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OTHER_PROCESS, path, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": _sources()}
    )
    assert child.stdout is not None
    async with asyncio.timeout(30):
        assert await child.stdout.readline() == b"ready\n"
        answers = storage.watch("from/", since=storage.revision)
        for number in (b"1", b"2", b"3"):
            await storage.commit(Put("to/child", number))
            (answer,) = await anext(answers)
            assert answer.entry is not None
            assert answer.entry.value == number
            assert await storage.get("from/child") == answer.entry
        assert await child.wait() == 0
    await storage.close()


async def test_number_left_too_high_by_a_killed_process_is_corrected(path: str) -> None:
    storage = await SqliteStorage.open(path)
    await storage.commit(Put("a", b"1"))
    lock = storage._writer._lock
    lock.reached += 3  # as a process does right before it commits
    assert await storage.get("a")
    assert lock.reached == storage.revision
    await storage.close()


async def test_failed_commit_hides_no_commit_of_another_process(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "BUSY_MILLISECONDS", 0)
    storage, other = await SqliteStorage.open(path), await SqliteStorage.open(path)
    await other.commit(Put("a", b"1"))
    with closing(apsw.Connection(path)) as program:
        program.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="another program holds the database locked"):
            await storage.commit(Put("b", b"1"))
    entry = await storage.get("a")
    assert entry is not None
    assert entry.value == b"1"
    await storage.close()
    await other.close()


async def test_storage_belongs_to_the_loop_that_opened_it(path: str) -> None:
    storage = await SqliteStorage.open(path)
    errors: list[BaseException] = []

    def elsewhere() -> None:
        for call in (storage.get("a"), storage.commit(Put("a", b"")), storage.list(""), storage.close()):
            try:
                asyncio.run(call)
            except StorageError as error:
                errors.append(error)

    await asyncio.to_thread(elsewhere)
    assert [str(error) for error in errors] == [str(errors[0])] * 4
    assert "another event loop" in str(errors[0])
    await storage.close()


async def test_commits_of_tasks_that_are_ready_together_are_one_transaction(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = await SqliteStorage.open(path)
    insert, sizes = Log.insert, []

    def insert_counted(log: Log, rows: Sequence[Row]) -> None:
        sizes.append(len(rows))
        insert(log, rows)

    monkeypatch.setattr(Log, "insert", insert_counted)

    async def commit(number: int) -> None:
        for round_ in range(3):
            await storage.commit(Put(f"k{number}", b"%d" % round_))

    await asyncio.gather(*map(commit, range(50)))
    assert sizes == [50, 50, 50]
    await storage.close()


async def test_close_finishes_queued_commits(path: str) -> None:
    storage = await SqliteStorage.open(path)
    commits = asyncio.gather(*(storage.commit(Put(f"k{number}", b"")) for number in range(100)))
    await asyncio.sleep(0)
    await storage.close()
    assert len(await commits) == 100
    assert sorted(os.listdir(os.path.dirname(path))) == ["test.db", "test.db-lock"]


async def test_cancelled_commits_leave_the_storage_working(path: str) -> None:
    storage = await SqliteStorage.open(path)
    tasks = [asyncio.ensure_future(storage.commit(Put(f"k{number}", b""))) for number in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, int) for outcome in outcomes[1::2])
    revision = await storage.commit(Put("last", b""))
    assert storage.revision == revision
    await storage.close()


def test_storage_that_is_dropped_ends_its_thread_and_keeps_its_commits(path: str) -> None:
    async def forget() -> None:
        storage = await SqliteStorage.open(path)
        await storage.commit(Put("a", b"1"))

    before = threading.active_count()
    asyncio.run(forget())
    gc.collect()
    assert threading.active_count() <= before
    assert asyncio.run(_reopened(path)) == {"a": b"1"}


async def test_watched_storage_lives_as_long_as_the_watch(path: str) -> None:
    other = await SqliteStorage.open(path)
    watch = (await SqliteStorage.open(path)).watch("", since=other.revision)
    waiting = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    gc.collect()
    await other.commit(Put("a", b"1"))
    async with asyncio.timeout(60):
        assert [event.key for event in await waiting] == ["a"]
    await other.close()


async def test_second_opening_in_a_process_leaves_the_locks_of_the_first(path: str) -> None:
    """Closing any descriptor of a file drops the locks that a process has on it: SQLite must do it, not we."""
    one = await SqliteStorage.open(path)
    two = await SqliteStorage.open(path)
    shared_range = (
        "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", shared_range, path], capture_output=True, timeout=60
    )
    assert b"BlockingIOError" in done.stderr
    await two.close()
    await one.close()


def test_interpreter_ends_with_a_storage_open(path: str) -> None:
    program = f"""
import asyncio
from pilotage.storage import Put, open_storage
async def main():
    global storage
    storage = await open_storage("sqlite:{path}")
    await storage.commit(Put("a", b"1"))
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=20, env={"PYTHONPATH": _sources()})
    assert asyncio.run(_reopened(path)) == {"a": b"1"}


@pytest.mark.parametrize("suffix", ["", "-lock", "-wal", "-shm"])
async def test_file_removed_while_open_stops_commits_and_not_reads(
    path: str, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    storage = await SqliteStorage.open(path)
    await storage.commit(Put("a", b"1"))
    await storage.check()
    os.rename(path + suffix, path + ".aside")
    for _ in range(2):
        with pytest.raises(StorageBroken, match=f"{path}{suffix} was removed or replaced"):
            await storage.commit(Put("a", b"2"))
    with pytest.raises(StorageBroken, match="removed or replaced"):
        await storage.check()
    assert await _state(storage) == {"a": b"1"}
    await storage.close()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        f'Storage is broken error="StorageBroken: {path}{suffix} was removed or replaced while'
        " the storage was open. Nothing more is written, because it would be lost: put the file back, if you"
        ' can, and start every process that uses the storage again"'
    ]


def test_shared_memory_that_was_cut_stops_commits_and_not_the_processes_that_have_it_open(path: str) -> None:
    program = f"""
import asyncio, os
from pilotage.errors import StorageBroken
from pilotage.storage import Put
from pilotage.storage.sqlite import SqliteStorage

async def main():
    first, second = await SqliteStorage.open({path!r}), await SqliteStorage.open({path!r})
    await first.commit(Put("a", b"1"))
    await first.commit(Put("b", b"1"))
    os.truncate({path + "-shm"!r}, 0)
    for call in first.commit(Put("c", b"1")), second.commit(Put("d", b"1")), second.list(""):
        try:
            await call
        except StorageBroken as error:
            print(str(error).partition(" while")[0])
    print(*[entry.key for entry in (await first.list("")).entries])
    await first.close()
    await second.close()
    again = await SqliteStorage.open({path!r})
    print(*[entry.key for entry in (await again.list("")).entries])

asyncio.run(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=20,
        env={"PYTHONPATH": _sources()},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [f"{path}-shm was cut"] * 3 + ["a b", "a b"]


async def test_removal_is_noticed_by_a_check_without_a_commit(path: str, caplog: pytest.LogCaptureFixture) -> None:
    storage = await SqliteStorage.open(path)
    os.unlink(path)
    with pytest.raises(StorageBroken, match="removed or replaced"):
        await storage.check()
    assert "Storage is broken" in caplog.text
    await storage.close()


async def test_commits_survive_the_removal_of_the_wal(path: str) -> None:
    storage = await SqliteStorage.open(path)
    for number in range(100):
        await storage.commit(Put("a", b"%d" % number))
    os.unlink(f"{path}-wal")
    with pytest.raises(StorageBroken):
        await storage.commit(Put("a", b"refused"))
    await storage.close()
    assert await _reopened(path) == {"a": b"99"}


async def test_no_acknowledged_commit_is_lost_where_shm_is_removed_between_two_storages(path: str) -> None:
    one = await SqliteStorage.open(path)
    acknowledged = {f"k{number}": b"one" for number in range(40)}
    for key, value in acknowledged.items():
        await one.commit(Put(key, value))
    os.unlink(f"{path}-shm")
    two = await SqliteStorage.open(path)  # has an index of its own over the same WAL
    for number in range(40):
        for storage, value in ((one, b"1"), (two, b"2")):
            try:
                await storage.commit(Put(f"k{number}", value))
            except StorageBroken:
                assert storage is one
            else:
                acknowledged[f"k{number}"] = value
    assert set(acknowledged.values()) == {b"2"}
    await one.close()
    await two.close()
    assert await _reopened(path) == acknowledged


async def test_storage_whose_wal_was_removed_hides_no_commit_of_the_others(path: str) -> None:
    old = await SqliteStorage.open(path)
    await old.commit(Put("a", b"1"))
    os.unlink(f"{path}-wal")
    os.unlink(f"{path}-shm")
    with pytest.raises(StorageBroken):
        await old.commit(Put("a", b"2"))
    one, two = await SqliteStorage.open(path), await SqliteStorage.open(path)
    await one.commit(Put("a", b"3"))
    await old.get("a")
    entry = await two.get("a")
    assert entry is not None
    assert entry.value == b"3"
    for storage in (old, one, two):
        await storage.close()


async def test_commit_during_which_shm_is_replaced_is_not_acknowledged(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = await SqliteStorage.open(path)
    insert = Log.insert

    def insert_and_remove(log: Log, rows: Sequence[Row]) -> None:
        insert(log, rows)
        os.unlink(f"{path}-shm")

    monkeypatch.setattr(Log, "insert", insert_and_remove)
    with pytest.raises(StorageBroken, match="-shm was removed or replaced"):
        await storage.commit(Put("a", b"1"))
    await storage.close()


async def test_value_limit_can_be_set(path: str) -> None:
    storage = await SqliteStorage.open(path, max_value_bytes=10)
    await storage.commit(Put("a", bytes(10)))
    with pytest.raises(StorageError, match="the value for a has 11 bytes, and at most 10"):
        await storage.commit(Put("a", bytes(11)))
    await storage.close()


async def _events(storage: Storage, since: int, count: int) -> list[Event]:
    watch, events = storage.watch("", since=since), list[Event]()
    async with asyncio.timeout(60):
        while len(events) < count:
            events += await anext(watch)
    return events


async def _state(storage: Storage) -> dict[str, bytes]:
    return {entry.key: entry.value for entry in (await storage.list("")).entries}


async def _reopened(path: str) -> dict[str, bytes]:
    storage = await SqliteStorage.open(path)
    try:
        return await _state(storage)
    finally:
        await storage.close()


def _rows(path: str) -> int:
    import apsw

    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    (count,) = next(iter(connection.execute("SELECT count(*) FROM log")))
    connection.close()
    assert isinstance(count, int)
    return count


def _sources() -> str:
    import pilotage.storage

    return str(Path(next(iter(pilotage.storage.__path__))).parents[1])
