"""Checks of lists: order, prefixes, pages, the past."""

from __future__ import annotations

from pilotage.errors import Compacted, FutureRevision
from pilotage.storage.interface import Delete, Put, Storage
from pilotage.testing.storage.checks import all_entries, check, found, keys_of, raises, state


@check
async def list_is_in_the_order_of_bytes(storage: Storage) -> None:
    endings = ["", "\x01", "-", "/", "0", "A", "a", "a/", "a/b", "a0", "\x7f", "é", "\ud7ff", "\ue000", "\uffff", "😀"]
    keys = [f"k{ending}" for ending in endings]
    for key in reversed(keys):
        await storage.commit(Put(key, b""))
    assert keys_of(await all_entries(storage, "")) == sorted(keys, key=str.encode) == sorted(keys)


@check
async def list_gives_only_the_prefix(storage: Storage) -> None:
    await storage.commit(*(Put(key, b"") for key in ("a", "a.", "a/", "a/1", "a/2/3", "a0", "b/1", "\U0010ffff/x")))
    assert keys_of(await all_entries(storage, "a/")) == ["a/", "a/1", "a/2/3"]
    assert keys_of(await all_entries(storage, "a")) == ["a", "a.", "a/", "a/1", "a/2/3", "a0"]
    assert keys_of(await all_entries(storage, "\U0010ffff")) == ["\U0010ffff/x"]
    assert keys_of(await all_entries(storage, "c")) == []


@check
async def list_comes_in_pages(storage: Storage) -> None:
    keys = [f"p/{number:02}" for number in range(10)]
    await storage.commit(Put("o", b""), Put("q", b""), *(Put(key, b"") for key in keys))
    first = await storage.list("p/", limit=4)
    assert (keys_of(first.entries), first.remaining) == (keys[:4], 6)
    second = await storage.list("p/", start=keys[3] + "\0", limit=4)
    assert (keys_of(second.entries), second.remaining) == (keys[4:8], 2)
    third = await storage.list("p/", start=keys[8], limit=4)
    assert (keys_of(third.entries), third.remaining) == (keys[8:], 0)
    assert keys_of((await storage.list("p/", start="a")).entries) == keys
    assert keys_of((await storage.list("p/", start="q")).entries) == []


@check
async def list_at_a_revision_shows_the_past(storage: Storage) -> None:
    first = await storage.commit(Put("a", b"1"), Put("b", b"1"), Put("d", b"1"))
    second = await storage.commit(Put("a", b"2"), Delete("b"), Put("c", b"2"))
    third = await storage.commit(Delete("a"), Put("b", b"3"))
    assert await state(storage, first) == [("a", b"1"), ("b", b"1"), ("d", b"1")]
    assert await state(storage, second) == [("a", b"2"), ("c", b"2"), ("d", b"1")]
    assert await state(storage, third) == [("b", b"3"), ("c", b"2"), ("d", b"1")]
    assert found((await storage.list("b", revision=first)).entries[0]).created == first


@check
async def pages_of_one_revision_fit_together(storage: Storage) -> None:
    keys = [f"{number:02}" for number in range(20)]
    revision = await storage.commit(*(Put(key, b"then") for key in keys))
    found: list[str] = []
    start, remaining = "", 1
    while remaining:
        page = await storage.list("", start=start, limit=3, revision=revision)
        found += keys_of(page.entries)
        start, remaining = page.entries[-1].key + "\0", page.remaining
        assert page.revision == revision
        assert len(found) + remaining == len(keys)
        assert all(entry.value == b"then" for entry in page.entries)
        await storage.commit(Delete(page.entries[0].key), Put(f"{start}new", b"now"))
        await storage.commit(Put(keys[-1], b"now"))
    assert found == keys


@check
async def snapshot_does_not_change_afterwards(storage: Storage) -> None:
    await storage.commit(Put("a", b"1"), Put("b", b"1"))
    snapshot = await storage.list("")
    await storage.commit(Put("a", b"2"), Delete("b"), Put("c", b"2"))
    assert [(entry.key, entry.value) for entry in snapshot.entries] == [("a", b"1"), ("b", b"1")]


@check
async def list_refuses_revisions_that_are_not_there(storage: Storage) -> None:
    await storage.commit(Put("a", b"1"))
    revision = await storage.commit(Put("a", b"2"))
    future = await raises(FutureRevision, storage.list("", revision=revision + 1))
    assert (future.revision, future.current) == (revision + 1, revision)
    await storage.compact(revision)
    compacted = await raises(Compacted, storage.list("", revision=revision - 1))
    assert (compacted.revision, compacted.oldest) == (revision - 1, revision)
