"""Checks of watches: every commit once and whole, in order, from any revision."""

from __future__ import annotations

import asyncio

from pilotage.errors import Compacted
from pilotage.storage.interface import Delete, Event, Put, Storage
from pilotage.testing.storage.checks import TIMEOUT, check, found, next_batch, raises, read_events, yield_to_tasks


@check
async def watch_gives_every_commit_after_a_revision(storage: Storage) -> None:
    before = await storage.commit(Put("x", b"0"))
    first = await storage.commit(Put("a", b"1"))
    second = await storage.commit(Put("a", b"2"))
    await storage.commit(Delete("a"))
    creation, update, deletion = await read_events(storage.watch("", since=before), 3)
    assert (creation.previous, found(creation.entry).value) == (None, b"1")
    assert (found(update.previous).value, found(update.entry).value) == (b"1", b"2")
    assert (found(deletion.previous).value, deletion.entry) == (b"2", None)
    assert [event.revision for event in (creation, update, deletion)] == [first, second, second + 1]
    assert found(update.entry).created == first
    again = await read_events(storage.watch("", since=first), 2)
    assert again == [update, deletion]


@check
async def watch_gives_only_the_prefix(storage: Storage) -> None:
    watch = storage.watch("a/", since=storage.revision)
    await storage.commit(Put("b/1", b""))
    await storage.commit(Put("a/1", b""), Put("b/1", b""), Put("a/2", b""))
    await storage.commit(Put("a0", b""))
    await storage.commit(Delete("a/2"))
    assert [event.key for event in await read_events(watch, 3)] == ["a/1", "a/2", "a/2"]


@check
async def watch_never_splits_a_commit(storage: Storage) -> None:
    since = storage.revision
    for _ in range(30):
        await storage.commit(*(Put(f"k{number}", b"") for number in range(100)))
    watch = storage.watch("", since=since)
    count = 0
    while count < 3000:
        batch = await next_batch(watch)
        count += len(batch)
        assert len(batch) % 100 == 0
    assert count == 3000


@check
async def waiting_watch_is_woken(storage: Storage) -> None:
    watch = storage.watch("a", since=storage.revision)
    waiting = asyncio.ensure_future(next_batch(watch))
    await yield_to_tasks()
    await storage.commit(Put("b", b"1"))
    await storage.commit(Put("a", b"2"))
    events = await asyncio.wait_for(waiting, TIMEOUT)
    assert [event.key for event in events] == ["a"]


@check
async def watch_from_the_future_waits_for_it(storage: Storage) -> None:
    since = storage.revision + 2
    waiting = asyncio.ensure_future(read_events(storage.watch("", since=since), 1))
    for number in range(4):
        await yield_to_tasks()
        await storage.commit(Put(f"k{number}", b""))
    assert (await waiting)[0].key == "k2"


@check
async def watch_behind_the_log_raises_compacted(storage: Storage) -> None:
    since = storage.revision
    await storage.commit(Put("a", b"1"))
    revision = await storage.commit(Put("a", b"2"))
    overtaken = storage.watch("", since=since)
    assert len(await read_events(storage.watch("", since=since), 2)) == 2
    await storage.compact(revision)
    for _ in range(2):
        error = await raises(Compacted, anext(overtaken))
        assert error.oldest == revision
    await storage.commit(Put("a", b"3"))
    assert [event.revision for event in await read_events(storage.watch("", since=revision), 1)] == [revision + 1]


@check
async def waiting_watch_is_not_overtaken_by_others(storage: Storage) -> None:
    watch = storage.watch("a", since=storage.revision)
    waiting = asyncio.ensure_future(read_events(watch, 1))
    await yield_to_tasks()
    for _ in range(10):
        await storage.commit(Put("b", b""))
    await storage.compact(storage.revision)
    await storage.commit(Put("a", b"mine"))
    assert found((await waiting)[0].entry).value == b"mine"


@check
async def cancelled_wait_loses_nothing(storage: Storage) -> None:
    watch = storage.watch("a", since=storage.revision)
    seen: list[Event] = []
    for number in range(6):
        waiting = asyncio.ensure_future(next_batch(watch))
        await yield_to_tasks()
        await storage.commit(Put(f"{'ab'[number % 2]}{number}", b""))  # woken and cancelled at once, or only cancelled
        waiting.cancel()
        for outcome in await asyncio.gather(waiting, return_exceptions=True):
            seen += () if isinstance(outcome, BaseException) else outcome
        await storage.commit(Put(f"a{number}!", b""))
    seen += await read_events(watch, 9 - len(seen))
    assert [event.key for event in seen] == ["a0", "a0!", "a1!", "a2", "a2!", "a3!", "a4", "a4!", "a5!"]


@check
async def position_promises_no_more_than_was_given(storage: Storage) -> None:
    first = storage.revision
    watch = storage.watch("a", since=first)
    assert watch.position == first
    revision = await storage.commit(Put("a", b"1"))
    assert watch.position == first
    await read_events(watch, 1)
    assert watch.position == revision
    waiting = asyncio.ensure_future(read_events(watch, 1))
    await yield_to_tasks()
    other = await storage.commit(Put("b", b"1"))
    assert watch.position == other
    await storage.commit(Put("a", b"2"))
    assert watch.position >= other
    assert [event.revision for event in await waiting] == [other + 1]
    assert watch.position == other + 1


@check
async def many_watches_see_the_same(storage: Storage) -> None:
    since = storage.revision
    waiting = [asyncio.ensure_future(read_events(storage.watch("k", since=since), 20)) for _ in range(100)]
    for number in range(20):
        await storage.commit(Put(f"k{number % 3}", str(number).encode()))
    seen = await asyncio.gather(*waiting)
    assert all(events == seen[0] for events in seen)
    assert [event.revision for event in seen[0]] == list(range(since + 1, since + 21))
