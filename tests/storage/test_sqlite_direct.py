"""SQLite without a thread: the same file, the same guarantees, and no call that waits."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest

from pilotage.cluster.light import run_now
from pilotage.errors import (
    Compacted,
    FutureRevision,
    RevisionConflict,
    StorageBroken,
    StorageBusy,
    StorageError,
    StorageFull,
)
from pilotage.storage import Check, Delete, Put
from pilotage.storage.sqlite import SqliteStorage, lock
from pilotage.storage.sqlite.direct import DirectSqliteStorage
from pilotage.storage.sqlite.errors import full
from pilotage.storage.sqlite.log import Log
from pilotage.storage.sqlite.reserve import Reserve


@contextmanager
def opened(path: str) -> Iterator[DirectSqliteStorage]:
    storage = DirectSqliteStorage(path)
    try:
        yield storage
    finally:
        storage.close_now()


def listed(storage: DirectSqliteStorage, prefix: str = "", start: str = "", limit: int = 0, revision: int = 0) -> str:
    """The keys and values of a list, and how many are left out."""
    found = run_now(storage.list(prefix, start=start, limit=limit, revision=revision))
    texts = [f"{entry.key}={entry.value.decode()}" for entry in found.entries]
    return f"{found.revision}: {' '.join(texts)} +{found.remaining}"


def test_what_one_run_commits_a_later_one_reads(path: str) -> None:
    with opened(path) as storage:
        assert run_now(storage.commit(Put("a/1", b"x"), Put("a/2", b"y"))) == 2
        assert run_now(storage.commit(Put("a/1", b"z"), Delete("a/2"), Put("b", b"0"))) == 3
    with opened(path) as storage:
        assert listed(storage) == "3: a/1=z b=0 +0"
        entry = run_now(storage.get("a/1"))
        assert entry is not None
        assert (entry.revision, entry.created) == (3, 2)
        assert run_now(storage.get("a/2")) is None


@pytest.mark.parametrize("loaded", [False, True], ids=["from the file", "from memory"])
def test_lists_have_prefixes_starts_limits_and_revisions(path: str, loaded: bool) -> None:
    with opened(path) as storage:
        run_now(storage.commit(Put("a/1", b"x"), Put("a/2", b"y"), Put("a0", b"-"), Put("\U0001f600", b"+")))
        run_now(storage.commit(Put("a/1", b"z"), Put("a/3", b"w")))
        run_now(storage.compact(2))
    with opened(path) as storage:
        if loaded:
            storage.load()
        assert listed(storage, "a/") == "3: a/1=z a/2=y a/3=w +0"
        assert listed(storage, "a/", limit=2) == "3: a/1=z a/2=y +1"
        assert listed(storage, "a/", start="a/2") == "3: a/2=y a/3=w +0"
        assert listed(storage, "a/", revision=2) == "2: a/1=x a/2=y +0"
        assert (storage.revision, storage.oldest) == (3, 2)
        with pytest.raises(Compacted):
            listed(storage, revision=1)
        with pytest.raises(FutureRevision):
            listed(storage, revision=4)


def test_a_commit_is_conditional(path: str) -> None:
    with opened(path) as storage:
        run_now(storage.commit(Put("a", b"1", expected=0)))
        with pytest.raises(RevisionConflict):
            run_now(storage.commit(Put("a", b"2", expected=0)))
        with pytest.raises(RevisionConflict):
            run_now(storage.commit(Put("b", b"2"), Check("a", 1)))
        assert listed(storage) == "2: a=1 +0"


async def test_a_storage_with_a_thread_sees_its_commits_and_the_reverse(path: str) -> None:
    managed = await SqliteStorage.open(path)
    with opened(path) as storage:
        watch = managed.watch("a", since=1)
        assert run_now(storage.commit(Put("a", b"1", expected=0))) == 2
        assert [event.revision for event in await anext(watch)] == [2]
        assert await managed.commit(Put("a", b"2", expected=2)) == 3
        assert listed(storage) == "3: a=2 +0"
        assert run_now(storage.commit(Put("a", b"3", expected=3))) == 4
        assert [event.revision for event in await anext(watch)] == [3]
        assert [event.revision for event in await anext(watch)] == [4]
    await managed.close()


def test_a_read_does_not_load_the_file_and_leaves_nothing_beside_it(path: str, tmp_path: Path) -> None:
    with opened(path) as storage:
        run_now(storage.commit(Put("a", b"1")))
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    with opened(path) as storage:
        assert listed(storage) == "2: a=1 +0"
        assert storage._writing is None
    assert before == {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    assert sorted(before) == ["test.db", "test.db-lock"]


def test_no_thread_is_started(path: str) -> None:
    before = threading.active_count()
    with opened(path) as storage:
        run_now(storage.commit(Put("a", b"1")))
        assert threading.active_count() == before


def test_who_holds_the_lock_is_named(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", 0.01)
    with opened(path) as one, opened(path) as other:
        with one._file.lock.held(), pytest.raises(StorageBusy, match=f"process {os.getpid()} .* has held the lock"):
            run_now(other.commit(Put("a", b"1")))
        assert run_now(other.commit(Put("a", b"1"))) == 2


def test_a_damaged_row_is_reported_and_not_returned(path: str) -> None:
    with opened(path) as storage:
        run_now(storage.commit(Put("a", b"correct"), Put("b", b"other")))
    data = Path(path).read_bytes()
    assert data.count(b"correct") == 1
    Path(path).write_bytes(data.replace(b"correct", b"changed"))
    with opened(path) as storage:
        with pytest.raises(StorageBroken, match="'a' has the wrong checksum"):
            run_now(storage.get("a"))
        with pytest.raises(StorageBroken, match="'a' has the wrong checksum"):
            run_now(storage.commit(Put("c", b"")))


def test_a_file_that_lost_commits_is_refused(path: str) -> None:
    with opened(path) as storage:
        run_now(storage.commit(Put("a", b"1")))
    older = Path(path).read_bytes()
    with opened(path) as storage:
        run_now(storage.commit(Put("a", b"2")))
    Path(path).write_bytes(older)
    with pytest.raises(StorageBroken, match="it ends at revision 2, but revision 3 was committed"):
        DirectSqliteStorage(path)


def test_it_has_no_watches_and_ends_with_close(path: str) -> None:
    with opened(path) as storage:
        with pytest.raises(StorageError, match="it has no watches: open it with"):
            storage.watch("", since=1)
        run_now(storage.check())
    storage.close_now()
    with pytest.raises(StorageError, match="closed"):
        run_now(storage.get("a"))


def test_after_a_fork_it_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as storage:
        with monkeypatch.context() as child:
            child.setattr(os, "getpid", lambda: 0)
            with pytest.raises(StorageError, match="before a fork"):
                run_now(storage.get("a"))
            storage.close_now()  # the files are the parent's
        assert run_now(storage.get("a")) is None


def test_threads_that_share_it_commit_one_at_a_time(path: str) -> None:
    def commits(thread: int) -> None:
        for number in range(10):
            run_now(storage.commit(Put(f"{thread}/{number}", b"x", expected=0)))
            assert run_now(storage.get(f"{thread}/{number}")) is not None

    with opened(path) as storage, ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(commits, thread) for thread in range(4)]:
            done.result()
        assert storage.revision == 41
    with opened(path) as storage:
        assert len(run_now(storage.list("")).entries) == 40


def test_its_errors_are_raised_and_not_logged(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(path) as storage:
        run_now(storage.commit(Put("a", b"1")))
    monkeypatch.setattr(Reserve, "_resize", lambda *_: False)
    with opened(path) as storage:
        storage.load()
        monkeypatch.setattr(Log, "insert", _full)
        with pytest.raises(StorageFull):
            run_now(storage.commit(Put("a", b"2")))
    assert not caplog.records


def _full(log: Log, rows: object) -> NoReturn:
    raise full(log.path)


@contextmanager
def interrupted_at(line: int) -> Iterator[None]:
    """Raise KeyboardInterrupt in the block, before this line of the storage is executed, counted from its beginning."""
    executed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal executed
        if "pilotage/storage" not in frame.f_code.co_filename:
            return None
        executed += event == "line"
        if executed == line:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def test_a_commit_that_is_interrupted_anywhere_is_made_or_not_and_the_next_ones_succeed(path: str) -> None:
    finished, line = False, 0
    with opened(path) as storage, opened(path) as other:
        run_now(other.commit(Put("other", b"0")))
        while not finished:
            line += 1
            before = run_now(other.list("")).revision
            try:
                with interrupted_at(line):
                    run_now(storage.commit(Put("a", b"%d" % line)))
                finished = True
            except KeyboardInterrupt:
                pass
            seen = listed(other)
            assert seen.startswith((f"{before}: ", f"{before + 1}: a={line} "))
            assert listed(storage) == seen
            assert run_now(storage.commit(Put("b", b"%d" % line))) == int(seen.partition(":")[0]) + 1
        assert line > 50
    with opened(path) as storage:
        assert listed(storage).endswith(f"a={line} b={line} other=0 +0")
