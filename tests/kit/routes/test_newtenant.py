"""A storage in which a tenant seems to exist before its first write."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.errors import RevisionConflict
from pilotage.kit.routes.newtenant import NewTenantStorage
from pilotage.storage.interface import Check, Delete, Entry, Operation, Put
from pilotage.storage.memory import MemoryStorage

NAMES = ("/t/a", "/t/b", "/t/c", *(f"/t/m{number}" for number in range(6)))
CONTENTS = [Entry(key, b"new", 7, 7) for key in NAMES]


def new(real: MemoryStorage, most: int = 100) -> NewTenantStorage:
    async def opened() -> MemoryStorage:
        return real

    return NewTenantStorage(MemoryStorage(first_revision=real.revision), CONTENTS, opened, most)


async def commit(storage: NewTenantStorage, *operations: Operation) -> int:
    """A commit of the command."""
    with storage.writing():
        return await storage.commit(*operations)


async def stored(storage: MemoryStorage) -> dict[str, int]:
    return {entry.key: entry.revision for entry in (await storage.list("/t/")).entries}


async def test_what_is_pending_is_read_but_not_stored() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    found = await storage.get("/t/a")
    assert found is not None
    assert (found.value, found.revision) == (b"new", inner.revision)
    assert [entry.key for entry in (await storage.list("/t/")).entries] == list(NAMES)
    assert await stored(inner) == {}
    assert not storage.is_stored


@pytest.mark.parametrize(
    ("limit", "keys", "remaining"), [(2, ["/t/b", "/t/bb"], 8), (4, ["/t/b", "/t/bb", "/t/c", "/t/d"], 6)]
)
async def test_a_page_has_what_is_pending_in_its_place(limit: int, keys: list[str], remaining: int) -> None:
    storage = new(MemoryStorage())
    await storage.commit(Put("/t/bb", b""), Put("/t/d", b""))
    page = await storage.list("/t/", start="/t/b", limit=limit)
    assert ([entry.key for entry in page.entries], page.remaining) == (keys, remaining)


async def test_the_first_write_stores_it_in_the_same_commit() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    revision = await commit(storage, Put("/t/x", b"", expected=0), Check("/t/a", expected=storage.revision))
    assert await stored(inner) == dict.fromkeys((*NAMES, "/t/x"), revision)
    assert storage.is_stored
    assert await commit(storage, Put("/t/y", b"")) == revision + 1


async def test_what_a_commit_cannot_hold_is_stored_right_before() -> None:
    inner = MemoryStorage()
    revision = await commit(new(inner, most=6), Put("/t/x", b""))
    assert await stored(inner) == {
        **dict.fromkeys(NAMES[:6], revision - 1),
        **dict.fromkeys((*NAMES[6:], "/t/x"), revision),
    }


async def test_checks_alone_store_nothing() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    assert await commit(storage, Check("/t/a", expected=inner.revision), Check("/t/x", expected=0)) == inner.revision
    assert await commit(storage, Check("/t/a", expected=inner.revision)) == inner.revision
    assert await stored(inner) == {}


@pytest.mark.parametrize(
    "operation",
    [Put("/t/a", b"", expected=0), Put("/t/x", b"", expected=5), Delete("/t/a", expected=9), Check("/t/a", expected=0)],
)
async def test_a_condition_that_does_not_hold_is_a_conflict_and_stores_nothing(operation: Operation) -> None:
    inner = MemoryStorage()
    with pytest.raises(RevisionConflict):
        await commit(new(inner), Put("/t/y", b""), operation)
    assert await stored(inner) == {}


async def test_what_is_pending_can_be_replaced_and_deleted() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    await commit(storage, Put("/t/a", b"mine", expected=storage.revision), Delete("/t/b"))
    assert set(await stored(inner)) == {*NAMES} - {"/t/b"}
    found = await inner.get("/t/a")
    assert found is not None
    assert found.value == b"mine"


async def test_what_another_program_stores_meanwhile_is_left_as_it_is() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    await inner.commit(Put("/t/a", b"theirs"))
    revision = await commit(storage, Put("/t/x", b"", expected=0))
    assert await stored(inner) == {
        "/t/a": revision - 2,
        **dict.fromkeys(NAMES[1:], revision - 1),
        "/t/x": revision,
    }


class SharedStorage(MemoryStorage):
    """A storage in which another program stores one more entry of the tenant before each of the first commits."""

    def __init__(self) -> None:
        super().__init__()
        self.theirs = ["/t/a", "/t/c", "/t/m5"]

    async def commit(self, *operations: Operation) -> int:
        if self.theirs:
            await super().commit(Put(self.theirs.pop(0), b"theirs", expected=0))
        return await super().commit(*operations)


async def test_two_programs_can_store_it_at_the_same_time_in_several_commits() -> None:
    real = SharedStorage()
    revision = await commit(new(real, most=3), Put("/t/x", b"", expected=0))
    found = await stored(real)
    assert (set(found), found["/t/x"]) == ({*NAMES, "/t/x"}, revision)


async def test_watches_have_what_another_program_has_stored_since_the_beginning() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    watch = storage.watch("/t/", since=storage.revision)
    await inner.commit(Put("/t/a", b"theirs"), Put("/t/other", b"theirs"))
    await commit(storage, Put("/t/x", b"", expected=0))
    found: list[str] = []
    while "/t/x" not in found:
        found += [event.key for event in await anext(watch)]
    assert "/t/other" in found


async def test_two_writes_at_once_store_it_once() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    with storage.writing():
        await asyncio.gather(*(storage.commit(Put(f"/t/x{number}", b"", expected=0)) for number in range(3)))
    assert len(await stored(inner)) == len(NAMES) + 3


async def test_what_others_write_is_stored_with_the_first_write_of_the_command_and_no_revision_decreases() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    for number in range(3):
        await storage.commit(Put("/t/hook", b"%d" % number))
    await storage.commit(Put("/t/a", b"changed"), Delete("/t/b"))
    seen = {entry.key: entry.revision for entry in (await storage.list("/t/")).entries}
    assert (await stored(inner), storage.is_stored) == ({}, False)
    last = storage.revision
    revision = await commit(storage, Put("/t/hook", b"last", expected=seen["/t/hook"]))
    assert revision > last
    assert set(await stored(inner)) == {*NAMES, "/t/hook"} - {"/t/b"}
    assert await storage.commit(Put("/t/x", b"")) == revision + 1


async def test_a_tenant_that_another_program_has_created_is_read_again_after_a_conflict() -> None:
    inner = MemoryStorage()
    storage = new(inner)
    await inner.commit(Put("/t/a", b"theirs"))
    with pytest.raises(RevisionConflict):
        await commit(storage, Put("/t/a", b"mine", expected=1))
    found = await storage.get("/t/a")
    assert found is not None
    await commit(storage, Put("/t/a", b"mine", expected=found.revision))
    assert set(await stored(inner)) == set(NAMES)


async def test_the_file_is_opened_by_the_first_write_and_watches_continue_on_it() -> None:
    file = MemoryStorage()
    opened: list[MemoryStorage] = []

    async def open_file() -> MemoryStorage:
        opened.append(file)
        return file

    storage = NewTenantStorage(MemoryStorage(), CONTENTS, open_file)
    watch = storage.watch("/t/", since=storage.revision)
    await storage.commit(Put("/t/hook", b""))
    assert [event.key for event in await anext(watch)] == ["/t/hook"]
    events = asyncio.ensure_future(anext(watch))
    with pytest.raises(RevisionConflict):
        await commit(storage, Put("/t/a", b"", expected=0))
    assert not opened
    await commit(storage, Put("/t/x", b""))
    found = [event.key for event in await events]
    while "/t/x" not in found:
        found += [event.key for event in await anext(watch)]
    assert sorted(found) == sorted((*NAMES, "/t/hook", "/t/x"))
    await commit(storage, Put("/t/y", b""))
    assert [event.key for event in await anext(watch)] == ["/t/y"]
    assert (opened, watch.position) == ([file], storage.revision)
