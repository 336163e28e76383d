"""What every storage must do, as checks that any test suite can run.

A check is a coroutine function that takes a factory of fresh, empty storages, and raises AssertionError where the
storage does something else. With pytest:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_conformance(check: ConformanceCheck) -> None:
        await check(lambda: contextlib.aclosing(MyStorage()))

where the factory gives an async context manager whose value is the storage. No check waits longer than `PATIENCE`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from pilotage.errors import Compacted, FutureRevision, RevisionConflict, StorageError
from pilotage.storage.interface import Check, Delete, Entry, Event, Operation, Put, Storage, Watch

Factory = Callable[[], AbstractAsyncContextManager[Storage]]
ConformanceCheck = Callable[[Factory], Coroutine[Any, Any, None]]

E = TypeVar("E", bound=StorageError)

PATIENCE = 10.0
"""Seconds after which something that should happen counts as not happening."""

CHECKS: list[ConformanceCheck] = []
"""All checks, in the order of this module."""


def _check(check: Callable[[Storage], Awaitable[None]]) -> ConformanceCheck:
    """Make a check of a function over an open storage."""

    async def on_factory(factory: Factory) -> None:
        async with factory() as storage:
            await check(storage)

    on_factory.__name__ = on_factory.__qualname__ = check.__name__
    on_factory.__doc__ = check.__doc__
    CHECKS.append(on_factory)
    return on_factory


@_check
async def fresh_storage_is_empty(storage: Storage) -> None:
    assert storage.revision >= 1
    assert storage.oldest == storage.revision
    assert (await storage.list("")).entries == []
    assert await storage.get("a") is None
    await storage.check()


@_check
async def commit_moves_revision_by_one(storage: Storage) -> None:
    first = storage.revision
    assert await storage.commit(Put("a", b"1")) == first + 1
    assert await storage.commit(Put("a", b"1"), Put("b", b"2")) == first + 2
    assert await storage.commit(Delete("a")) == first + 3
    assert storage.revision == first + 3


@_check
async def get_gives_what_was_put(storage: Storage) -> None:
    for value in (b"", b"\0", b"text", bytes(range(256)) * 64):
        revision = await storage.commit(Put("key", value))
        entry = await storage.get("key")
        assert entry is not None
        assert (entry.key, entry.value, entry.revision) == ("key", value, revision)


@_check
async def update_keeps_created_and_recreation_renews_it(storage: Storage) -> None:
    created = await storage.commit(Put("a", b"1"))
    await storage.commit(Put("a", b"2"))
    assert _found(await storage.get("a")).created == created
    await storage.commit(Delete("a"))
    again = await storage.commit(Put("a", b"3"))
    assert _found(await storage.get("a")).created == again


@_check
async def put_for_missing_key_refuses_existing_one(storage: Storage) -> None:
    revision = await storage.commit(Put("a", b"1", expected=0))
    assert await _conflict(storage, Put("a", b"2", expected=0)) == ("a", revision)
    assert _found(await storage.get("a")).value == b"1"


@_check
async def put_refuses_other_revision_than_expected(storage: Storage) -> None:
    first = await storage.commit(Put("a", b"1"))
    second = await storage.commit(Put("a", b"2", expected=first))
    assert await _conflict(storage, Put("a", b"3", expected=first)) == ("a", second)
    assert await _conflict(storage, Put("b", b"3", expected=first)) == ("b", 0)
    assert storage.revision == second


@_check
async def delete_needs_the_key_at_the_expected_revision(storage: Storage) -> None:
    assert await _conflict(storage, Delete("a")) == ("a", 0)
    first = await storage.commit(Put("a", b"1"))
    second = await storage.commit(Put("a", b"2"))
    assert await _conflict(storage, Delete("a", expected=first)) == ("a", second)
    await storage.commit(Delete("a", expected=second))
    assert await storage.get("a") is None
    assert await _conflict(storage, Delete("a")) == ("a", 0)


@_check
async def check_guards_a_commit(storage: Storage) -> None:
    guard = await storage.commit(Put("guard", b""))
    await storage.commit(Check("guard", guard), Check("none", 0), Put("a", b"1"))
    await storage.commit(Put("guard", b""))
    assert await _conflict(storage, Check("guard", guard), Put("a", b"2")) == ("guard", guard + 2)
    assert await _conflict(storage, Put("a", b"2"), Check("guard", 0)) == ("guard", guard + 2)
    assert _found(await storage.get("a")).value == b"1"


@_check
async def commit_of_checks_does_not_move_the_revision(storage: Storage) -> None:
    revision = await storage.commit(Put("a", b"1"))
    assert await storage.commit(Check("a", revision), Check("b", 0)) == revision
    assert await storage.commit() == revision
    assert storage.revision == revision


@_check
async def failed_commit_changes_nothing(storage: Storage) -> None:
    revision = await storage.commit(Put("a", b"1"), Put("b", b"1"))
    await _conflict(storage, Put("a", b"2"), Put("new", b"2"), Delete("b", expected=revision + 5))
    snapshot = await storage.list("")
    assert [(entry.key, entry.value, entry.revision) for entry in snapshot.entries] == [
        ("a", b"1", revision),
        ("b", b"1", revision),
    ]
    assert snapshot.revision == storage.revision == revision


@_check
async def operations_of_a_commit_share_its_revision(storage: Storage) -> None:
    watch = storage.watch("", since=storage.revision)
    await storage.commit(Put("old", b""))
    revision = await storage.commit(Put("b", b"1"), Delete("old"), Put("a", b"2"))
    events = await _events(watch, 4)
    assert [(event.key, event.revision) for event in events[1:]] == [
        ("b", revision),
        ("old", revision),
        ("a", revision),
    ]


@_check
async def what_cannot_be_stored_is_refused(storage: Storage) -> None:
    revision = storage.revision
    for operations in (
        [Put("a", b""), Put("a", b"")],
        [Put("a", b""), Delete("a")],
        [Check("a", 0), Put("a", b"")],
        [Put("", b"")],
        [Put("lone \ud800 surrogate", b"")],
        [Put("k" * 100_000, b"")],
        [Put("a", b""), Put("huge", bytes(16 << 20))],
        [Put(str(number), b"") for number in range(5000)],
    ):
        try:
            await storage.commit(*operations)
        except RevisionConflict as error:
            raise AssertionError(f"{error!r}, where no condition was at stake") from error
        except StorageError:
            continue
        else:
            raise AssertionError(f"{str(operations)[:100]} was accepted")
    assert storage.revision == revision
    assert (await storage.list("")).entries == []


@_check
async def list_is_in_the_order_of_bytes(storage: Storage) -> None:
    endings = ["", "\x01", "-", "/", "0", "A", "a", "a/", "a/b", "a0", "\x7f", "é", "\ud7ff", "\ue000", "\uffff", "😀"]
    keys = [f"k{ending}" for ending in endings]
    for key in reversed(keys):
        await storage.commit(Put(key, b""))
    assert _keys(await _all(storage, "")) == sorted(keys, key=str.encode) == sorted(keys)


@_check
async def list_gives_only_the_prefix(storage: Storage) -> None:
    await storage.commit(*(Put(key, b"") for key in ("a", "a.", "a/", "a/1", "a/2/3", "a0", "b/1", "\U0010ffff/x")))
    assert _keys(await _all(storage, "a/")) == ["a/", "a/1", "a/2/3"]
    assert _keys(await _all(storage, "a")) == ["a", "a.", "a/", "a/1", "a/2/3", "a0"]
    assert _keys(await _all(storage, "\U0010ffff")) == ["\U0010ffff/x"]
    assert _keys(await _all(storage, "c")) == []


@_check
async def list_comes_in_pages(storage: Storage) -> None:
    keys = [f"p/{number:02}" for number in range(10)]
    await storage.commit(Put("o", b""), Put("q", b""), *(Put(key, b"") for key in keys))
    first = await storage.list("p/", limit=4)
    assert (_keys(first.entries), first.remaining) == (keys[:4], 6)
    second = await storage.list("p/", start=keys[3] + "\0", limit=4)
    assert (_keys(second.entries), second.remaining) == (keys[4:8], 2)
    third = await storage.list("p/", start=keys[8], limit=4)
    assert (_keys(third.entries), third.remaining) == (keys[8:], 0)
    assert _keys((await storage.list("p/", start="a")).entries) == keys
    assert _keys((await storage.list("p/", start="q")).entries) == []


@_check
async def list_at_a_revision_shows_the_past(storage: Storage) -> None:
    first = await storage.commit(Put("a", b"1"), Put("b", b"1"), Put("d", b"1"))
    second = await storage.commit(Put("a", b"2"), Delete("b"), Put("c", b"2"))
    third = await storage.commit(Delete("a"), Put("b", b"3"))
    assert await _state(storage, first) == [("a", b"1"), ("b", b"1"), ("d", b"1")]
    assert await _state(storage, second) == [("a", b"2"), ("c", b"2"), ("d", b"1")]
    assert await _state(storage, third) == [("b", b"3"), ("c", b"2"), ("d", b"1")]
    assert _found((await storage.list("b", revision=first)).entries[0]).created == first


@_check
async def pages_of_one_revision_fit_together(storage: Storage) -> None:
    keys = [f"{number:02}" for number in range(20)]
    revision = await storage.commit(*(Put(key, b"then") for key in keys))
    found: list[str] = []
    start, remaining = "", 1
    while remaining:
        page = await storage.list("", start=start, limit=3, revision=revision)
        found += _keys(page.entries)
        start, remaining = page.entries[-1].key + "\0", page.remaining
        assert page.revision == revision
        assert len(found) + remaining == len(keys)
        assert all(entry.value == b"then" for entry in page.entries)
        await storage.commit(Delete(page.entries[0].key), Put(f"{start}new", b"now"))
        await storage.commit(Put(keys[-1], b"now"))
    assert found == keys


@_check
async def snapshot_does_not_change_afterwards(storage: Storage) -> None:
    await storage.commit(Put("a", b"1"), Put("b", b"1"))
    snapshot = await storage.list("")
    await storage.commit(Put("a", b"2"), Delete("b"), Put("c", b"2"))
    assert [(entry.key, entry.value) for entry in snapshot.entries] == [("a", b"1"), ("b", b"1")]


@_check
async def list_refuses_revisions_that_are_not_there(storage: Storage) -> None:
    await storage.commit(Put("a", b"1"))
    revision = await storage.commit(Put("a", b"2"))
    future = await _raises(FutureRevision, storage.list("", revision=revision + 1))
    assert (future.revision, future.current) == (revision + 1, revision)
    await storage.compact(revision)
    compacted = await _raises(Compacted, storage.list("", revision=revision - 1))
    assert (compacted.revision, compacted.oldest) == (revision - 1, revision)


@_check
async def watch_gives_every_commit_after_a_revision(storage: Storage) -> None:
    before = await storage.commit(Put("x", b"0"))
    first = await storage.commit(Put("a", b"1"))
    second = await storage.commit(Put("a", b"2"))
    await storage.commit(Delete("a"))
    creation, update, deletion = await _events(storage.watch("", since=before), 3)
    assert (creation.previous, _found(creation.entry).value) == (None, b"1")
    assert (_found(update.previous).value, _found(update.entry).value) == (b"1", b"2")
    assert (_found(deletion.previous).value, deletion.entry) == (b"2", None)
    assert [event.revision for event in (creation, update, deletion)] == [first, second, second + 1]
    assert _found(update.entry).created == first
    again = await _events(storage.watch("", since=first), 2)
    assert again == [update, deletion]


@_check
async def watch_gives_only_the_prefix(storage: Storage) -> None:
    watch = storage.watch("a/", since=storage.revision)
    await storage.commit(Put("b/1", b""))
    await storage.commit(Put("a/1", b""), Put("b/1", b""), Put("a/2", b""))
    await storage.commit(Put("a0", b""))
    await storage.commit(Delete("a/2"))
    assert [event.key for event in await _events(watch, 3)] == ["a/1", "a/2", "a/2"]


@_check
async def watch_never_splits_a_commit(storage: Storage) -> None:
    since = storage.revision
    for _ in range(30):
        await storage.commit(*(Put(f"k{number}", b"") for number in range(100)))
    watch = storage.watch("", since=since)
    count = 0
    while count < 3000:
        batch = await _next(watch)
        count += len(batch)
        assert len(batch) % 100 == 0
    assert count == 3000


@_check
async def waiting_watch_is_woken(storage: Storage) -> None:
    watch = storage.watch("a", since=storage.revision)
    waiting = asyncio.ensure_future(_next(watch))
    await _yield_to_tasks()
    await storage.commit(Put("b", b"1"))
    await storage.commit(Put("a", b"2"))
    events = await asyncio.wait_for(waiting, PATIENCE)
    assert [event.key for event in events] == ["a"]


@_check
async def watch_from_the_future_waits_for_it(storage: Storage) -> None:
    since = storage.revision + 2
    waiting = asyncio.ensure_future(_events(storage.watch("", since=since), 1))
    for number in range(4):
        await _yield_to_tasks()
        await storage.commit(Put(f"k{number}", b""))
    assert (await waiting)[0].key == "k2"


@_check
async def watch_behind_the_log_raises_compacted(storage: Storage) -> None:
    since = storage.revision
    await storage.commit(Put("a", b"1"))
    revision = await storage.commit(Put("a", b"2"))
    overtaken = storage.watch("", since=since)
    assert len(await _events(storage.watch("", since=since), 2)) == 2
    await storage.compact(revision)
    for _ in range(2):
        error = await _raises(Compacted, anext(overtaken))
        assert error.oldest == revision
    await storage.commit(Put("a", b"3"))
    assert [event.revision for event in await _events(storage.watch("", since=revision), 1)] == [revision + 1]


@_check
async def waiting_watch_is_not_overtaken_by_others(storage: Storage) -> None:
    watch = storage.watch("a", since=storage.revision)
    waiting = asyncio.ensure_future(_events(watch, 1))
    await _yield_to_tasks()
    for _ in range(10):
        await storage.commit(Put("b", b""))
    await storage.compact(storage.revision)
    await storage.commit(Put("a", b"mine"))
    assert _found((await waiting)[0].entry).value == b"mine"


@_check
async def cancelled_wait_loses_nothing(storage: Storage) -> None:
    watch = storage.watch("a", since=storage.revision)
    seen: list[Event] = []
    for number in range(6):
        waiting = asyncio.ensure_future(_next(watch))
        await _yield_to_tasks()
        await storage.commit(Put(f"{'ab'[number % 2]}{number}", b""))  # woken and cancelled at once, or only cancelled
        waiting.cancel()
        for outcome in await asyncio.gather(waiting, return_exceptions=True):
            seen += () if isinstance(outcome, BaseException) else outcome
        await storage.commit(Put(f"a{number}!", b""))
    seen += await _events(watch, 9 - len(seen))
    assert [event.key for event in seen] == ["a0", "a0!", "a1!", "a2", "a2!", "a3!", "a4", "a4!", "a5!"]


@_check
async def position_promises_no_more_than_was_given(storage: Storage) -> None:
    first = storage.revision
    watch = storage.watch("a", since=first)
    assert watch.position == first
    revision = await storage.commit(Put("a", b"1"))
    assert watch.position == first
    await _events(watch, 1)
    assert watch.position == revision
    waiting = asyncio.ensure_future(_events(watch, 1))
    await _yield_to_tasks()
    other = await storage.commit(Put("b", b"1"))
    assert watch.position == other
    await storage.commit(Put("a", b"2"))
    assert watch.position >= other
    assert [event.revision for event in await waiting] == [other + 1]
    assert watch.position == other + 1


@_check
async def many_watches_see_the_same(storage: Storage) -> None:
    since = storage.revision
    waiting = [asyncio.ensure_future(_events(storage.watch("k", since=since), 20)) for _ in range(100)]
    for number in range(20):
        await storage.commit(Put(f"k{number % 3}", str(number).encode()))
    seen = await asyncio.gather(*waiting)
    assert all(events == seen[0] for events in seen)
    assert [event.revision for event in seen[0]] == list(range(since + 1, since + 21))


@_check
async def compaction_keeps_the_current_state(storage: Storage) -> None:
    await storage.commit(Put("a", b"1"), Put("b", b"1"))
    await storage.commit(Put("a", b"2"))
    revision = await storage.commit(Delete("b"))
    await storage.compact(revision - 1)
    assert storage.oldest == revision - 1
    assert await _state(storage, revision - 1) == [("a", b"2"), ("b", b"1")]
    await storage.compact(revision - 2)
    assert storage.oldest == revision - 1
    await storage.compact(revision)
    await storage.compact(revision)
    assert await _state(storage, 0) == [("a", b"2")]
    assert (storage.revision, storage.oldest) == (revision, revision)
    await _raises(FutureRevision, storage.compact(revision + 1))


@_check
async def concurrent_writers_lose_no_update(storage: Storage) -> None:
    await storage.commit(Put("count", b"0"))

    async def increment() -> None:
        while True:
            entry = _found(await storage.get("count"))
            try:
                await storage.commit(Put("count", str(int(entry.value) + 1).encode(), expected=entry.revision))
            except RevisionConflict:
                await asyncio.sleep(0)
            else:
                return

    await asyncio.wait_for(asyncio.gather(*(increment() for _ in range(20))), 3 * PATIENCE)
    assert _found(await storage.get("count")).value == b"20"


@_check
async def commits_in_flight_are_each_acknowledged_with_their_revision(storage: Storage) -> None:
    first = storage.revision
    revisions = await asyncio.gather(*(storage.commit(Put(f"k{number}", b"")) for number in range(200)))
    assert sorted(revisions) == list(range(first + 1, first + 201))
    entries = {entry.key: entry.revision for entry in (await storage.list("")).entries}
    assert entries == {f"k{number}": revision for number, revision in enumerate(revisions)}


@_check
async def closed_storage_ends_watches_and_refuses_the_rest(storage: Storage) -> None:
    revision = await storage.commit(Put("a", b"1"))
    watch = storage.watch("", since=revision)
    waiting = asyncio.ensure_future(_next(watch))
    await _yield_to_tasks()
    await storage.close()
    await _raises(StorageError, waiting)
    await _raises(StorageError, anext(watch))
    await _raises(StorageError, storage.get("a"))
    await _raises(StorageError, storage.list(""))
    await _raises(StorageError, storage.commit(Put("a", b"2")))
    await _raises(StorageError, storage.compact(revision))
    await _raises(StorageError, storage.check())
    await storage.close()


async def _raises(kind: type[E], awaitable: Awaitable[object]) -> E:
    try:
        async with asyncio.timeout(PATIENCE):
            await awaitable
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def _conflict(storage: Storage, *operations: Operation) -> tuple[str, int]:
    error = await _raises(RevisionConflict, storage.commit(*operations))
    return error.key, error.revision


async def _events(watch: Watch, count: int) -> list[Event]:
    """The next events of a watch, at least so many."""
    events: list[Event] = []
    async with asyncio.timeout(PATIENCE):
        while len(events) < count:
            events += await anext(watch)
    return events


async def _yield_to_tasks() -> None:
    """Let every other task run until it waits."""
    await asyncio.sleep(0.001)


async def _next(watch: Watch) -> Sequence[Event]:
    async with asyncio.timeout(PATIENCE):
        return await anext(watch)


async def _all(storage: Storage, prefix: str) -> Sequence[Entry]:
    return (await storage.list(prefix)).entries


async def _state(storage: Storage, revision: int) -> list[tuple[str, bytes]]:
    return [(entry.key, entry.value) for entry in (await storage.list("", revision=revision)).entries]


def _keys(entries: Sequence[Entry]) -> list[str]:
    return [entry.key for entry in entries]


def _found(entry: Entry | None) -> Entry:
    assert entry is not None
    return entry
