"""The storage on an etcd with failures that cannot be forced on a real one."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from pilotage.errors import StorageBroken, StorageError, StorageUnavailable
from pilotage.storage import Put
from pilotage.storage.etcd.leases import Leases
from pilotage.storage.etcd.messages import message
from pilotage.storage.etcd.slots import Slot
from pilotage.storage.etcd.transactions import conflict, fence, fenced, slot_revision

from .fake import KEYS, FakeEtcd, opened

pytestmark = pytest.mark.virtual_time


def _deletion(key: str, revision: int) -> Any:
    event = message("WatchResponse")().events.add()
    event.type = event.DELETE
    event.kv.key, event.kv.mod_revision = KEYS.encoded(key), revision
    return event


def _put(key: str, revision: int) -> Any:
    event = message("WatchResponse")().events.add()
    event.kv.key, event.kv.mod_revision = KEYS.encoded(key), revision
    return event


async def test_a_log_that_takes_long_is_loaded_at_the_start_as_long_as_the_watch_makes_progress() -> None:
    etcd = FakeEtcd(revision=10)
    etcd.answers_progress = False

    async def feed() -> None:
        await etcd.new_stream.wait()
        for revision in range(2, 11):
            await asyncio.sleep(1.5)
            etcd.streams[0].push(_put("/a", revision))

    feeding = asyncio.create_task(feed())
    async with opened(etcd) as storage:
        assert (storage.oldest, storage.revision) == (1, 10)
    await feeding


async def test_a_start_fails_when_the_watch_stops_to_make_progress() -> None:
    etcd = FakeEtcd(revision=10)
    etcd.answers_progress = False
    with pytest.raises(StorageUnavailable, match="at revision 1 and does not reach 10"):
        async with opened(etcd):
            pass


async def test_fragments_are_applied_as_far_as_their_revisions_are_complete() -> None:
    etcd = FakeEtcd(revision=10)
    async with opened(etcd) as storage:
        watch = storage.watch("/", since=10)
        etcd.streams[-1].push(_put("/a", 11), _put("/b", 11), _put("/c", 12), fragment=True)
        assert [event.key for event in await anext(watch)] == ["/a", "/b"]
        etcd.streams[-1].push(_put("/d", 12), fragment=True)
        etcd.streams[-1].push(_put("/e", 12))
        assert [event.key for event in await anext(watch)] == ["/c", "/d", "/e"]


async def test_readers_do_not_interrupt_a_load_that_takes_long() -> None:
    etcd = FakeEtcd()
    async with opened(etcd) as storage:
        etcd.revision = etcd.compacted = 100_000
        etcd.seconds = 0.4  # a load has 17 calls and more
        etcd.streams[-1].push(canceled=True, compact_revision=etcd.compacted)

        async def read(after: float) -> None:
            await asyncio.sleep(after)
            await storage.get("/a")

        results = await asyncio.gather(*(read(number / 2) for number in range(5)), return_exceptions=True)
        assert results == [None] * 5
        assert storage.revision == 100_000


async def test_readers_restart_a_watch_that_stalls_once_and_not_each() -> None:
    etcd = FakeEtcd()
    async with opened(etcd) as storage:
        etcd.answers_progress = False
        etcd.revision += 1
        readers: list[asyncio.Task[None]] = []
        for _ in range(5):
            readers.append(asyncio.create_task(storage._mirror.reach(etcd.revision)))
            await asyncio.sleep(0.2)
        await asyncio.sleep(2.5)
        assert len(etcd.streams) == 2
        etcd.streams[-1].push()
        await asyncio.gather(*readers)


async def test_the_revision_does_not_decrease_when_the_copy_is_loaded_again() -> None:
    etcd = FakeEtcd(revision=50)
    async with opened(etcd) as storage:
        etcd.new_stream.clear()
        etcd.streams[-1].push(_deletion("/unknown", 51))
        etcd.revision = 51
        await etcd.new_stream.wait()
        assert storage.revision >= 50


async def test_a_watch_ends_when_etcd_has_lost_its_data_although_nothing_is_read() -> None:
    etcd = FakeEtcd(revision=50)
    async with opened(etcd) as storage:
        watching = asyncio.ensure_future(anext(aiter(storage.watch("/", since=50))))
        await asyncio.sleep(0)
        etcd.revision = 3
        etcd.streams[-1].responses.put_nowait(b"")
        with pytest.raises(StorageBroken, match="restored from a backup"):
            await watching
        with pytest.raises(StorageBroken):
            await storage.get("/a")


async def test_an_unexpected_error_of_the_watch_is_reported_at_once() -> None:
    etcd = FakeEtcd()
    async with opened(etcd) as storage:
        etcd.streams[-1].responses.put_nowait(b"\xff")
        with pytest.raises(StorageBroken, match="the watch of etcd failed: DecodeError"):
            await anext(aiter(storage.watch("/", since=storage.revision)))
        with pytest.raises(StorageBroken, match="the watch of etcd failed: DecodeError"):
            await storage.get("/a")


async def test_an_error_that_every_reader_has_stopped_to_wait_for_is_not_logged() -> None:
    logged: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    etcd = FakeEtcd()
    async with opened(etcd) as storage:
        etcd.seconds, etcd.unavailable = 1.0, True
        reader = asyncio.create_task(storage.get("/a"))
        await asyncio.sleep(0.1)
        reader.cancel()
        await asyncio.sleep(5)
        gc.collect()
    assert logged == []


async def test_a_read_ends_with_an_error_when_the_storage_is_closed() -> None:
    etcd = FakeEtcd()
    async with opened(etcd) as storage:
        etcd.seconds = 60
        reader = asyncio.create_task(storage.get("/a"))
        await asyncio.sleep(0.1)
        await storage.close()
        with pytest.raises(StorageError, match="the storage is closed"):
            await reader
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_closing_waits_for_a_commit_that_runs() -> None:
    etcd = FakeEtcd()
    async with opened(etcd) as storage:
        etcd.seconds = 5
        commit = asyncio.create_task(storage.commit(Put("/a", b"1")))
        await asyncio.sleep(0.1)
        await storage.close()
        assert await commit == etcd.revision


async def test_a_block_of_reads_waits_for_its_own_commit_if_the_watch_is_late() -> None:
    etcd = FakeEtcd()
    async with opened(etcd) as storage, storage.request():
        etcd.answers_progress = False
        revision = await storage.commit(Put("/a", b"1"))
        assert storage.revision < revision
        with pytest.raises(StorageUnavailable, match=f"does not reach {revision}"):
            await storage.get("/a")


async def test_a_block_of_reads_waits_for_the_commit_of_a_nested_block_if_the_watch_is_late() -> None:
    etcd = FakeEtcd()
    async with opened(etcd) as storage, storage.request():
        etcd.answers_progress = False
        async with storage.request():
            revision = await storage.commit(Put("/a", b"1"))
        with pytest.raises(StorageUnavailable, match=f"does not reach {revision}"):
            await storage.get("/a")


async def test_a_commit_whose_response_was_lost_is_not_taken_for_that_of_another_writer() -> None:
    """Both write the same bytes, such as the next number of a counter."""
    slot = Slot(b"slot", revision=7)
    mine, other = Put("/count", b"6", expected=8), 9
    response = message("TxnResponse")()
    for revision in (other, slot.revision):
        response.responses.add().response_range.kvs.add(mod_revision=revision)
    assert not slot.written(slot_revision([mine], response))
    found = conflict([mine], response)
    assert (found.key, found.revision) == ("/count", other)
    response.responses[1].response_range.kvs[0].mod_revision = other
    assert slot.written(slot_revision([mine], response))


async def test_a_fence_whose_response_was_lost_is_not_taken_for_the_commit() -> None:
    response = message("TxnResponse")()
    found = response.responses.add().response_range.kvs.add(mod_revision=9)
    put = fence(Slot(b"slot", revision=7)).success[0].request_put
    found.value = put.value
    assert fenced(response) == 9
    found.value = b""  # that of the commit
    assert fenced(response) == 0


async def test_callers_at_the_same_time_share_a_lease() -> None:
    granted: list[int] = []

    class Granting(Leases):
        async def _grant(self, seconds: int) -> int:
            await asyncio.sleep(1)
            granted.append(seconds)
            return len(granted)

    leases = Granting(FakeEtcd())  # type: ignore[arg-type] # it is not called
    assert await asyncio.gather(*(leases.share(60, 0.0) for _ in range(5))) == [1] * 5
    assert granted == [120]


async def test_a_read_in_an_outage_fails_after_the_patience_though_others_have_asked_before() -> None:
    etcd = FakeEtcd()
    async with opened(etcd) as storage:
        etcd.seconds, etcd.unavailable = 9.0, True
        loop = asyncio.get_running_loop()

        async def read(after: float) -> tuple[float, str]:
            await asyncio.sleep(after)
            begun = loop.time()
            with pytest.raises(StorageUnavailable) as caught:
                await storage.get("/a")
            assert not caught.value.sent
            return loop.time() - begun, str(caught.value)

        reads = await asyncio.gather(*(read(second) for second in range(9)))
        assert max(seconds for seconds, _ in reads) <= etcd.timeouts.total + 0.001
        assert reads[1][1] == "etcd://fake: no member of etcd answers within 10 s: connection refused"
        etcd.seconds, etcd.unavailable = 0.0, False
