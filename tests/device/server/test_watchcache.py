from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pilotage.device.server import metrics
from pilotage.device.server.registry import DeviceRegistry
from pilotage.device.server.watchcache import WatchCache, WatchCacheOptions
from pilotage.device.wire.generation import RESOURCE
from pilotage.errors import (
    ApiError,
    BadRequest,
    Gone,
    InternalError,
    Invalid,
    ServiceUnavailable,
    StorageFull,
    TooManyRequests,
)
from pilotage.grpc.rpc import Code, RPCError
from pilotage.meta.documents import Document
from pilotage.rest import APIRequest, ListOptions, Verb, WatchEvent
from pilotage.storage.interface import Put

from .fakes import Api, Out, api, condition, gpu, plain_encode, registry, virtual_clock

pytestmark = pytest.mark.virtual_time


class Stage:
    """A watch cache on a registry, with its watches."""

    def __init__(self, watch_cache: WatchCache, opened: DeviceRegistry, tasks: asyncio.TaskGroup) -> None:
        self.watch_cache = watch_cache
        self.registry = opened
        self.api: Api = api(opened)
        self._tasks = tasks

    def watch(self, out: Out | None = None, generation: str = "v6", caller: str = "", **options: Any) -> Watch:
        out = out or Out()
        request = APIRequest(Verb.WATCH, RESOURCE, options=ListOptions(**options))
        return Watch(
            out, self._tasks.create_task(_outcome(self.watch_cache.serve(request, generation, out, caller=caller)))
        )

    async def toggle(self, count: int, name: str = "gpu-0") -> Document:
        document: Document = {}
        for _ in range(count):
            self._flipped = not getattr(self, "_flipped", False)
            document = await self.api.set_status(name, condition(status="True" if self._flipped else "False"))
        return document


class Watch:
    def __init__(self, out: Out, task: asyncio.Task[BaseException | None]) -> None:
        self.out = out
        self.task = task

    async def kinds(self, count: int) -> list[str]:
        return [kind for kind, _ in await self.out.until(count)]


async def _outcome(watch: Any) -> BaseException | None:
    try:
        await watch
    except (ApiError, RPCError) as error:
        return error
    return None


@asynccontextmanager
async def stage(encode: Any = plain_encode, **options: Any) -> AsyncIterator[Stage]:
    options = {"subscriptions_per_second": 1000.0, "subscription_burst": 1000} | options
    async with registry(clock=virtual_clock) as opened:
        await api(opened).create(gpu())
        watch_cache = WatchCache(
            opened.context.storage, opened.info, opened.prefix, encode, WatchCacheOptions(**options)
        )
        async with (
            asyncio.timeout(3600),
            watch_cache,
            asyncio.TaskGroup() as tasks,
        ):  # of virtual time: a test that waits in vain
            yield Stage(watch_cache, opened, tasks)
            watch_cache.close()


async def settled() -> None:
    """Until everything that can run has run: a moment of virtual time."""
    await asyncio.sleep(0.001)


async def test_a_watch_gets_what_is_there_and_then_each_change_once() -> None:
    async with stage() as here:
        watch = here.watch()
        await watch.kinds(1)
        await here.toggle(3)
        await here.api.create(gpu("gpu-1"))
        await here.api.delete("gpu-0")
        assert await watch.kinds(6) == ["ADDED", *["MODIFIED"] * 3, "ADDED", "DELETED"]
        versions = [int(document["metadata"]["resourceVersion"]) for _, document in watch.out.events()]
        assert versions == sorted(set(versions))


async def test_what_only_the_server_uses_is_not_sent() -> None:
    async with stage() as here:
        watch = here.watch()
        await watch.kinds(1)
        await here.api.set_status("gpu-0", condition(), action="RESTART_BM")
        for _, document in await watch.out.until(2):
            assert "providers" not in document.get("status", {})
            assert all("provider" not in one for one in document["status"].get("conditions", ()))


@pytest.mark.parametrize("seed", range(5))
def test_no_change_falls_between_snapshot_and_subscription(seed: int) -> None:
    from pilotage.testing import loop

    async def run() -> None:
        async with stage() as here, asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(here.toggle(50))
            watches = []
            for _ in range(10):
                watches.append(here.watch())
                await asyncio.sleep(0)
            last = (await writing)["metadata"]["resourceVersion"]
            await settled()
            for watch in watches:
                events = watch.out.events()
                versions = [int(document["metadata"]["resourceVersion"]) for _, document in events]
                assert versions == list(range(versions[0], int(last) + 1))
                assert [kind for kind, _ in events] == ["ADDED", *["MODIFIED"] * (len(events) - 1)]

    loop.run(run(), seed=seed)


async def test_an_event_is_encoded_once_for_all_watches_and_changes_of_one_turn_are_one_write() -> None:
    encoded: list[WatchEvent] = []

    def counting(generation: str, event: WatchEvent) -> bytes:
        encoded.append(event)
        return plain_encode(generation, event)

    async with stage(counting) as here:
        watches = [here.watch() for _ in range(20)]
        for watch in watches:
            await watch.kinds(1)
        assert len(encoded) == 1
        encoded.clear()
        writes = watches[0].out.writes
        storage, key = here.registry.context.storage, f"{here.registry.prefix}gpu-0"
        entry = await storage.get(key)
        assert entry is not None
        for number in range(3):  # without running other tasks
            await storage.commit(Put(key, entry.value.replace(b"GPU-gpu-0", b"GPU-%d" % number)))
        for watch in watches:
            assert await watch.kinds(4) == ["ADDED", *["MODIFIED"] * 3]
        assert len(encoded) == 3
        assert watches[0].out.writes == writes + 1


async def test_each_generation_of_the_wire_has_its_own_bytes() -> None:
    async with stage(lambda generation, event: f"{generation.upper()} ".encode() + bytes(event.object)) as here:
        old, new = here.watch(generation="v6"), here.watch(generation="v8")
        await old.kinds(1)
        await new.kinds(1)
        await here.toggle(1)
        assert await old.kinds(2) == ["V6", "V6"]
        assert await new.kinds(2) == ["V8", "V8"]


async def test_a_watch_without_room_serves_itself_and_joins_the_others_again() -> None:
    async with stage() as here:
        slow, fast = here.watch(), here.watch()
        for watch in (slow, fast):
            await watch.kinds(1)
        slow.out.room = 0
        await here.toggle(100)
        assert len(await fast.out.until(101)) == 101
        assert len(slow.out.events()) == 1
        slow.out.drain()
        assert len(await slow.out.until(101)) == 101
        await here.toggle(1)
        assert slow.out.events() == fast.out.events() or await slow.out.until(102) == await fast.out.until(102)


@pytest.mark.covers("D10")
async def test_a_watch_too_far_behind_gets_an_error_and_others_go_on() -> None:
    async with stage(lag_events=50) as here:
        slow, fast = here.watch(), here.watch()
        for watch in (slow, fast):
            await watch.kinds(1)
        await settled()  # from now on the watch cache itself writes to both
        slow.out.room = 0
        await here.toggle(51)
        await fast.kinds(52)
        error = await slow.task
        assert isinstance(error, Gone)
        assert "changes behind, and the limit is 50" in str(error)
        await here.toggle(1)
        assert len(await fast.kinds(53)) == 53
        assert here.watch_cache.subscribers == 1


async def test_a_watch_behind_the_history_gets_an_error_and_skips_nothing() -> None:
    async with stage(log_events=8, lag_events=50) as here:
        slow = here.watch()
        await slow.kinds(1)
        slow.out.room = 0
        for _ in range(20):
            await here.toggle(1)
            await settled()
        slow.out.drain()
        assert isinstance(await slow.task, Gone)
        assert len(slow.out.events()) <= 2


async def test_a_watch_that_reads_nothing_for_too_long_gets_an_error() -> None:
    async with stage(drain_seconds=30) as here:
        dropped = metrics.DROPPED.labels().value
        slow = here.watch()
        await slow.kinds(1)
        slow.out.room = 0
        await here.toggle(2)
        began = asyncio.get_running_loop().time()
        error = await slow.task
        assert isinstance(error, Gone)
        assert "has read nothing for 30 s" in str(error)
        assert asyncio.get_running_loop().time() - began == pytest.approx(30, abs=0.1)
        assert metrics.DROPPED.labels().value == dropped + 2


async def test_a_watch_that_never_reads_its_first_event_gets_an_error() -> None:
    async with stage(lag_events=10) as here:
        slow = here.watch(Out(room=0))
        await slow.out.opened.wait()
        await here.toggle(11)
        assert isinstance(await slow.task, Gone)


async def test_a_watch_that_comes_from_far_has_time_to_catch_up() -> None:
    async with stage(lag_events=5) as here:
        version = (await here.api.get())["metadata"]["resourceVersion"]
        await here.toggle(100)
        watch = here.watch(resource_version=version)
        assert await watch.kinds(100) == ["MODIFIED"] * 100
        assert not watch.task.done()


async def test_a_watch_from_before_the_log_goes_on_from_the_storages_history() -> None:
    async with stage(log_events=8) as here:
        version = (await here.api.get())["metadata"]["resourceVersion"]
        await here.toggle(100)
        watch = here.watch(resource_version=version)
        await here.toggle(5)
        events = await watch.out.until(105)
        first = int(version) + 1
        assert [int(document["metadata"]["resourceVersion"]) for _, document in events] == list(
            range(first, first + 105)
        )


async def test_changes_from_before_a_watch_do_not_count_as_its_lag() -> None:
    async with stage(lag_events=5) as here:
        await here.toggle(100)  # the reader has not had its turn, and delivers all of them at once
        watch = here.watch()
        await watch.kinds(1)
        await settled()
        await here.toggle(1)
        assert (await watch.kinds(2))[1] == "MODIFIED"


@pytest.mark.covers("D8")
async def test_a_version_before_the_history_is_gone() -> None:
    async with stage(log_events=8) as here:
        version = (await here.api.get())["metadata"]["resourceVersion"]
        await here.toggle(20)
        storage = here.registry.context.storage
        await storage.compact(storage.revision)
        assert isinstance(await here.watch(resource_version=version).task, Gone)
        assert isinstance(await here.watch(resource_version="1").task, Gone)


async def test_the_log_remembers_what_the_storage_has_forgotten() -> None:
    async with stage() as here:
        version = (await here.api.get())["metadata"]["resourceVersion"]
        await here.toggle(3)
        await settled()
        storage = here.registry.context.storage
        await storage.compact(storage.revision)
        assert await here.watch(resource_version=version).kinds(3) == ["MODIFIED"] * 3


async def test_a_version_ahead_of_the_server_is_gone_not_silent() -> None:
    async with stage() as here:
        error = await here.watch(resource_version=str(here.registry.context.storage.revision + 1)).task
        assert isinstance(error, Gone)
        assert "was restarted without its storage" in str(error)


@pytest.mark.covers("D8")
async def test_bookmarks_come_to_those_who_asked_after_silence_alone() -> None:
    async with stage(bookmark_seconds=3) as here:
        asked, other = here.watch(allow_watch_bookmarks=True), here.watch()
        await asked.kinds(1)
        await asyncio.sleep(2)
        document = await here.toggle(1)
        await asked.kinds(2)
        await asyncio.sleep(2)
        assert len(asked.out.events()) == 2
        await asyncio.sleep(1.1)
        kind, bookmark = asked.out.events()[2]
        assert kind == "BOOKMARK"
        assert int(bookmark["metadata"]["resourceVersion"]) >= int(document["metadata"]["resourceVersion"])
        assert bookmark["metadata"].keys() == {"resourceVersion"}
        await asyncio.sleep(6)
        assert len(asked.out.events()) == 5
        assert len(other.out.events()) == 2


async def test_a_bookmark_never_has_a_version_after_the_events_sent() -> None:
    async with stage(bookmark_seconds=3) as here:
        watch = here.watch(allow_watch_bookmarks=True)
        await watch.kinds(1)
        watch.out.room = 0
        await here.toggle(3)
        await asyncio.sleep(10)
        watch.out.drain()
        events = await watch.out.until(5)
        assert [kind for kind, _ in events] == ["ADDED", *["MODIFIED"] * 3, "BOOKMARK"]


@pytest.mark.covers("D8")
async def test_a_watch_ends_well_when_its_time_is_up() -> None:
    async with stage() as here:
        began = asyncio.get_running_loop().time()
        watch = here.watch(timeout_seconds=7)
        assert await watch.task is None
        assert asyncio.get_running_loop().time() - began == pytest.approx(7)
        assert here.watch_cache.subscribers == 0


async def test_a_watch_may_begin_now_with_nothing() -> None:
    async with stage() as here:
        watch = here.watch(send_initial_events=False, resource_version_match="NotOlderThan")
        await watch.out.opened.wait()
        await settled()
        await here.toggle(1)
        assert await watch.kinds(1) == ["MODIFIED"]


async def test_options_that_make_no_sense_are_refused_before_the_stream_is_open() -> None:
    async with stage() as here:
        for options, error in (
            ({"label_selector": "a=("}, BadRequest),
            ({"resource_version": "seven"}, BadRequest),
            ({"send_initial_events": True}, Invalid),
            ({"resource_version_match": "Exact"}, Invalid),
        ):
            watch = here.watch(**options)
            assert isinstance(await watch.task, error)
            assert not watch.out.opened.is_set()


async def test_there_are_only_so_many_watches() -> None:
    async with stage(subscribers=2) as here:
        first, second = here.watch(caller="a"), here.watch(caller="b")
        await settled()
        assert isinstance(await here.watch().task, TooManyRequests)
        first.out.gone = True
        await here.toggle(1)
        first.task.cancel()
        await settled()
        assert await here.watch().kinds(1) == ["ADDED"]
        assert await second.kinds(2) == ["ADDED", "MODIFIED"]


async def test_watches_are_begun_only_so_fast() -> None:
    async with stage(subscriptions_per_second=10, subscription_burst=20) as here:
        await asyncio.sleep(1)
        watches = [here.watch() for _ in range(25)]
        await settled()
        refused = [watch for watch in watches if watch.task.done()]
        assert len(refused) == 5
        error = refused[0].task.result()
        assert isinstance(error, TooManyRequests)
        assert error.retry_after_seconds
        await asyncio.sleep(0.1)
        assert await here.watch().kinds(1) == ["ADDED"]


async def test_one_caller_cannot_take_all_the_room_nor_all_the_turns() -> None:
    async with stage(subscribers=8, subscriptions_per_second=10, subscription_burst=20) as here:
        await asyncio.sleep(1)
        greedy = [here.watch(caller="uid:1") for _ in range(30)]
        await settled()
        assert sum(not watch.task.done() for watch in greedy) == 6
        assert await here.watch(caller="uid:2").kinds(1) == ["ADDED"]


async def test_a_change_that_cannot_be_sent_ends_the_watches_instead_of_being_left_out() -> None:
    def choosy(generation: str, event: WatchEvent) -> bytes:
        if b"GPU-unspeakable" in bytes(event.object):
            raise ValueError("no words for it")
        return plain_encode(generation, event)

    async with stage(choosy) as here:
        watch = here.watch()
        await watch.kinds(1)
        await here.api.update(gpu(spec={"uuid": "GPU-unspeakable"}))
        assert isinstance(await watch.task, InternalError)
        await here.api.update(gpu(spec={"uuid": "GPU-1"}))
        again = here.watch()
        await again.kinds(1)
        await here.toggle(1)
        assert await again.kinds(2) == ["ADDED", "MODIFIED"]


async def test_a_watcher_that_has_gone_disturbs_no_other() -> None:
    async with stage() as here:
        gone, other = here.watch(), here.watch()
        for watch in (gone, other):
            await watch.kinds(1)
        gone.out.gone = True
        await here.toggle(2)
        assert len(await other.kinds(3)) == 3
        gone.task.cancel()


async def test_closing_ends_all_watches_well_and_begins_no_more() -> None:
    async with stage() as here:
        quick, slow = here.watch(), here.watch()
        await quick.kinds(1)
        slow.out.room = 0
        await here.toggle(1)
        await settled()
        here.watch_cache.close()
        await here.watch_cache.wait_ended(1)
        assert here.watch_cache.subscribers == 0
        assert (await quick.task, await slow.task) == (None, None)
        assert isinstance(await here.watch().task, ServiceUnavailable)


async def test_history_is_compacted_when_it_grows_large() -> None:
    async with stage(history_bytes=20_000) as here:
        await here.toggle(200)
        await settled()
        storage = here.registry.context.storage
        assert storage.revision - storage.oldest < 100
        assert await here.watch(resource_version=str(storage.oldest)).kinds(1)


async def test_a_stream_that_has_ended_ends_its_watch_with_its_error() -> None:
    async with stage() as here:
        out = Out()
        out.gone = True
        error = await here.watch(out).task
        assert isinstance(error, RPCError)
        assert error.code is Code.CANCELLED


async def test_a_history_that_cannot_be_made_shorter_stops_no_watch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def full(revision: int) -> None:
        raise StorageFull("no room left")

    async with stage(history_bytes=2000) as here:
        monkeypatch.setattr(here.registry.context.storage, "compact", full)
        watch = here.watch()
        await watch.kinds(1)
        await here.toggle(50)
        assert len(await watch.kinds(51)) == 51
        assert await here.watch().kinds(1) == ["ADDED"]
        assert "Cannot compact the storage" in caplog.text


async def test_a_hub_that_fails_to_start_again_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage() as here:
        storage, failures = here.registry.context.storage, iter([True, True])
        whole = storage.list

        async def flaky(prefix: str, **options: Any) -> Any:
            if prefix == here.watch_cache.prefix and next(failures, False):
                raise OSError("the disk is busy")
            return await whole(prefix, **options)

        watch = here.watch()
        await watch.kinds(1)
        await settled()
        monkeypatch.setattr(storage, "list", flaky)
        monkeypatch.setattr(here.watch_cache, "_publish", None)  # once: it cannot be called
        await here.toggle(1)
        assert isinstance(await watch.task, Gone)
        monkeypatch.undo()
        monkeypatch.setattr(storage, "list", flaky)
        await asyncio.sleep(5)
        monkeypatch.undo()
        again = here.watch()
        await again.kinds(1)
        await here.toggle(1)
        assert await again.kinds(2) == ["ADDED", "MODIFIED"]


async def test_every_event_is_counted_once_however_it_was_sent() -> None:
    def told() -> float:
        return sum(metrics.EVENTS.labels(kind).value for kind in ("ADDED", "MODIFIED", "DELETED"))

    async with stage(log_events=8) as here:
        version = (await here.api.get())["metadata"]["resourceVersion"]
        await here.toggle(30)
        before = told()
        late = here.watch(resource_version=version)  # from history, then from the log, then as it comes
        picky = here.watch(resource_version=version, label_selector="tier=gold")
        await late.kinds(30)
        await settled()
        assert told() - before == 30
        late.out.room = 0
        await here.toggle(3)
        await settled()
        late.out.drain()
        await late.kinds(33)
        await here.api.update(gpu(metadata={"labels": {"tier": "gold"}}))
        await picky.kinds(1)
        await late.kinds(34)
        await settled()
        assert told() - before == 35
