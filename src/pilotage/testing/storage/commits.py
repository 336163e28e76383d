"""Checks of commits: revisions, conflicts, atomicity, limits."""

from __future__ import annotations

from pilotage.errors import RevisionConflict, StorageError
from pilotage.storage.interface import Check, Delete, Put, Storage
from pilotage.testing.storage.checks import check, conflict, found, read_events


@check
async def fresh_storage_is_empty(storage: Storage) -> None:
    assert storage.revision >= 1
    assert storage.oldest == storage.revision
    assert (await storage.list("")).entries == []
    assert await storage.get("a") is None
    await storage.check()


@check
async def commit_moves_revision_by_one(storage: Storage) -> None:
    first = storage.revision
    assert await storage.commit(Put("a", b"1")) == first + 1
    assert await storage.commit(Put("a", b"1"), Put("b", b"2")) == first + 2
    assert await storage.commit(Delete("a")) == first + 3
    assert storage.revision == first + 3


@check
async def get_gives_what_was_put(storage: Storage) -> None:
    for value in (b"", b"\0", b"text", bytes(range(256)) * 64):
        revision = await storage.commit(Put("key", value))
        entry = await storage.get("key")
        assert entry is not None
        assert (entry.key, entry.value, entry.revision) == ("key", value, revision)


@check
async def update_keeps_created_and_recreation_renews_it(storage: Storage) -> None:
    created = await storage.commit(Put("a", b"1"))
    await storage.commit(Put("a", b"2"))
    assert found(await storage.get("a")).created == created
    await storage.commit(Delete("a"))
    again = await storage.commit(Put("a", b"3"))
    assert found(await storage.get("a")).created == again


@check
async def put_for_missing_key_refuses_existing_one(storage: Storage) -> None:
    revision = await storage.commit(Put("a", b"1", expected=0))
    assert await conflict(storage, Put("a", b"2", expected=0)) == ("a", revision)
    assert found(await storage.get("a")).value == b"1"


@check
async def put_refuses_other_revision_than_expected(storage: Storage) -> None:
    first = await storage.commit(Put("a", b"1"))
    second = await storage.commit(Put("a", b"2", expected=first))
    assert await conflict(storage, Put("a", b"3", expected=first)) == ("a", second)
    assert await conflict(storage, Put("b", b"3", expected=first)) == ("b", 0)
    assert storage.revision == second


@check
async def delete_needs_the_key_at_the_expected_revision(storage: Storage) -> None:
    assert await conflict(storage, Delete("a")) == ("a", 0)
    first = await storage.commit(Put("a", b"1"))
    second = await storage.commit(Put("a", b"2"))
    assert await conflict(storage, Delete("a", expected=first)) == ("a", second)
    await storage.commit(Delete("a", expected=second))
    assert await storage.get("a") is None
    assert await conflict(storage, Delete("a")) == ("a", 0)


@check
async def check_guards_a_commit(storage: Storage) -> None:
    guard = await storage.commit(Put("guard", b""))
    await storage.commit(Check("guard", guard), Check("none", 0), Put("a", b"1"))
    await storage.commit(Put("guard", b""))
    assert await conflict(storage, Check("guard", guard), Put("a", b"2")) == ("guard", guard + 2)
    assert await conflict(storage, Put("a", b"2"), Check("guard", 0)) == ("guard", guard + 2)
    assert found(await storage.get("a")).value == b"1"


@check
async def commit_of_checks_does_not_move_the_revision(storage: Storage) -> None:
    revision = await storage.commit(Put("a", b"1"))
    assert await storage.commit(Check("a", revision), Check("b", 0)) == revision
    assert await storage.commit() == revision
    assert storage.revision == revision


@check
async def failed_commit_changes_nothing(storage: Storage) -> None:
    revision = await storage.commit(Put("a", b"1"), Put("b", b"1"))
    await conflict(storage, Put("a", b"2"), Put("new", b"2"), Delete("b", expected=revision + 5))
    snapshot = await storage.list("")
    assert [(entry.key, entry.value, entry.revision) for entry in snapshot.entries] == [
        ("a", b"1", revision),
        ("b", b"1", revision),
    ]
    assert snapshot.revision == storage.revision == revision


@check
async def operations_of_a_commit_share_its_revision(storage: Storage) -> None:
    watch = storage.watch("", since=storage.revision)
    await storage.commit(Put("old", b""))
    revision = await storage.commit(Put("b", b"1"), Delete("old"), Put("a", b"2"))
    events = await read_events(watch, 4)
    assert [(event.key, event.revision) for event in events[1:]] == [
        ("b", revision),
        ("old", revision),
        ("a", revision),
    ]


@check
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
            raise AssertionError(f"{error!r}, although the commit has no condition") from error
        except StorageError:
            continue
        else:
            raise AssertionError(f"{str(operations)[:100]} was accepted")
    assert storage.revision == revision
    assert (await storage.list("")).entries == []
