from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from pilotage.controller import (
    CacheSyncTimeout,
    Controller,
    ControllerOptions,
    Event,
    InformerSource,
    Kind,
    Request,
    Source,
    enqueue_request_for_object,
)
from pilotage.controller.controller import ManagerSettings
from pilotage.controller.options import ResolvedOptions, resolve
from pilotage.errors import InvalidDefinition
from pilotage.manager.options import ControllerDefaults
from pilotage.manager.work import WorkTracker
from pilotage.meta.kinds import GroupKind
from pilotage.testing.loop import run
from pilotage.workqueue import ItemFastSlowRateLimiter, RateLimiter, WorkQueue
from tests.seeds import seeds

from .fakes import FakeCache, FakeInformer, Feed, Widget, running, widget

pytestmark = pytest.mark.virtual_time


class Recorder:
    """A reconciler that records its requests."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def reconcile(self, request: Request) -> None:
        self.names.append(request.name)


def now() -> float:
    return asyncio.get_running_loop().time()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.mark.covers("T35")
def test_a_name_and_a_reconciler_are_required() -> None:
    with pytest.raises(InvalidDefinition, match="needs a name"):
        Controller("", Recorder())
    for bad in (None, 5, Recorder):
        nonsense: Any = bad
        with pytest.raises(InvalidDefinition, match="not a reconciler"):
            Controller("x", nonsense)


@pytest.mark.covers("T36")
def test_options_fall_back_to_the_manager_s_and_then_to_the_built_in_ones() -> None:
    assert resolve(ControllerOptions()) == ResolvedOptions(
        max_concurrent_reconciles=1,
        cache_sync_timeout=120,
        recover_panic=True,
        needs_leader_election=True,
        enable_warmup=False,
        reconciliation_timeout=0,
        skip_name_validation=False,
    )
    manager = ControllerDefaults(
        skip_name_validation=True,
        group_kind_concurrency={"Widget.demo.pilotage.dev": 7},
        max_concurrent_reconciles=3,
        cache_sync_timeout=5,
        recover_panic=False,
        needs_leader_election=False,
        enable_warmup=True,
        reconciliation_timeout=9,
    )
    assert resolve(ControllerOptions(), manager) == ResolvedOptions(3, 5, False, False, True, 9, True)
    own = ControllerOptions(2, 1, True, True, False, 8, skip_name_validation=False)
    assert resolve(own, manager) == ResolvedOptions(2, 1, True, True, False, 8, False)


@pytest.mark.covers("T157")
def test_the_number_of_workers_for_a_kind_goes_before_that_for_all() -> None:
    manager = ControllerDefaults(group_kind_concurrency={"Widget.demo.pilotage.dev": 7, "Pod": 4})
    widgets, pods = GroupKind("demo.pilotage.dev", "Widget"), GroupKind("", "Pod")
    assert resolve(ControllerOptions(), manager, widgets).max_concurrent_reconciles == 7
    assert resolve(ControllerOptions(), manager, pods).max_concurrent_reconciles == 4
    assert resolve(ControllerOptions(), manager, GroupKind("", "Node")).max_concurrent_reconciles == 1
    assert resolve(ControllerOptions(max_concurrent_reconciles=2), manager, pods).max_concurrent_reconciles == 2


@pytest.mark.parametrize(
    "options",
    [{"max_concurrent_reconciles": 0}, {"cache_sync_timeout": -1}, {"reconciliation_timeout": float("nan")}],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition, match=next(iter(options))):
        ControllerOptions(**options)


@pytest.mark.covers("T37")
async def test_building_starts_nothing_and_a_stopped_one_leaves_nothing_behind() -> None:
    before = asyncio.all_tasks()
    informer = FakeInformer(widget("a"))
    controller = Controller("tidy", Recorder())
    controller.watch(InformerSource(informer, enqueue_request_for_object))
    controller.watch(Kind(FakeCache({Widget: informer}), Widget, enqueue_request_for_object))
    assert asyncio.all_tasks() == before
    assert informer.listeners == []
    async with running(controller):
        await asyncio.sleep(1)
        assert len(informer.listeners) == 2
        assert len(asyncio.all_tasks()) > len(before)
    assert informer.listeners == []
    assert asyncio.all_tasks() == before
    assert controller.queue.statistics().shut_down


@pytest.mark.covers("T38")
async def test_nothing_is_reconciled_before_all_sources_have_synced() -> None:
    first, second = FakeInformer(widget("a")), FakeInformer(widget("b"), synced=False)
    recorder = Recorder()
    controller = Controller("patient", recorder)
    for informer in (first, second):
        controller.watch(InformerSource(informer, enqueue_request_for_object))
    async with running(controller):
        await asyncio.sleep(60)
        assert recorder.names == []
        assert not controller.idle()
        second.sync()
        await asyncio.sleep(1)
        assert sorted(recorder.names) == ["a", "b"]
        assert controller.idle()


@pytest.mark.covers("T39")
async def test_a_source_that_does_not_sync_in_time_fails_the_start_by_name() -> None:
    informer = FakeInformer(synced=False)
    controller = Controller("late", Recorder(), ControllerOptions(cache_sync_timeout=30))
    controller.watch(Kind(FakeCache({Widget: informer}), Widget, enqueue_request_for_object))
    with pytest.raises(CacheSyncTimeout, match=r"30 s waiting for kind source: \*v1\.Widget to sync"):
        await controller.start()
    assert now() == 30
    assert informer.listeners == []


@pytest.mark.covers("T39")
async def test_a_source_whose_sync_fails_fails_the_start() -> None:
    informer = FakeInformer()
    informer.sync_error = ZeroDivisionError("broken")
    controller = Controller("broken", Recorder())
    controller.watch(InformerSource(informer, enqueue_request_for_object))
    with pytest.raises(ZeroDivisionError, match="broken"):
        await controller.start()


async def test_a_time_out_of_a_source_s_own_is_not_taken_for_ours() -> None:
    informer = FakeInformer()
    informer.sync_error = TimeoutError("its own")
    controller = Controller("own-time-out", Recorder())
    controller.watch(InformerSource(informer, enqueue_request_for_object))
    with pytest.raises(TimeoutError, match="its own"):
        await controller.start()


class Blocking(Source):
    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        await asyncio.sleep(1e9)

    def __str__(self) -> str:
        return "blocking source"


@pytest.mark.covers("T40")
async def test_a_source_whose_start_blocks_is_reported() -> None:
    controller = Controller("blocked", Recorder())
    controller.watch(Blocking())
    with pytest.raises(CacheSyncTimeout, match="blocking source to start: its start must not block"):
        await controller.start()
    assert now() == 120


@pytest.mark.covers("T41")
async def test_cancelling_during_the_sync_is_no_error() -> None:
    controller = Controller("cancelled", Recorder())
    controller.watch(InformerSource(FakeInformer(synced=False), enqueue_request_for_object))
    async with running(controller) as task:
        await asyncio.sleep(1)
    assert task.cancelled()


@pytest.mark.covers("T42")
async def test_starting_twice_is_an_error_that_names_the_probable_cause() -> None:
    controller = Controller("twice", Recorder())
    feed = Feed()
    controller.watch(feed)
    async with running(controller):
        await asyncio.sleep(1)
        with pytest.raises(InvalidDefinition, match="added to a manager twice"):
            await controller.start()
    assert feed.started == 1


@pytest.mark.covers("T43")
async def test_a_source_that_is_added_later_starts_at_once() -> None:
    recorder = Recorder()
    controller = Controller("growing", recorder)
    async with running(controller):
        await asyncio.sleep(1)
        feed = Feed("later")
        controller.watch(feed)
        await asyncio.sleep(1)
        assert recorder.names == ["later"]
    assert feed.stopped == 1


async def test_a_source_that_is_added_later_and_fails_ends_the_controller_and_its_workers() -> None:
    async def reconcile(request: Request) -> None:
        await asyncio.sleep(1e9)

    controller = Controller("failing-later", reconcile, ControllerOptions(max_concurrent_reconciles=2))
    controller.watch(Feed("a"))
    task = asyncio.ensure_future(controller.start())
    await asyncio.sleep(1)
    controller.watch(Blocking())
    with pytest.raises(CacheSyncTimeout):
        await task
    assert now() == 121


@pytest.mark.covers("T44")
async def test_sources_get_the_controller_s_queue() -> None:
    feed = Feed()
    controller = Controller("queue", Recorder())
    controller.watch(feed)
    async with running(controller):
        await asyncio.sleep(1)
        assert feed.queue is controller.queue


async def test_a_queue_and_a_rate_limiter_of_one_s_own_are_used() -> None:
    limiter = ItemFastSlowRateLimiter[Request](1, 2, 3)
    made: list[tuple[str, RateLimiter[Any] | None]] = []

    def new_queue(name: str, rate_limiter: RateLimiter[Any] | None) -> WorkQueue[Request]:
        made.append((name, rate_limiter))
        return WorkQueue(rate_limiter=rate_limiter)

    Controller("own-queue", Recorder(), ControllerOptions(rate_limiter=limiter, new_queue=new_queue))
    assert made == [("own-queue", limiter)]


async def test_a_key_is_never_with_two_workers() -> None:
    running_now: list[str] = []
    most = 0

    async def reconcile(request: Request) -> None:
        nonlocal most
        assert request.name not in running_now
        running_now.append(request.name)
        most = max(most, len(running_now))
        await asyncio.sleep(1)
        running_now.remove(request.name)

    controller = Controller("concurrent", reconcile, ControllerOptions(max_concurrent_reconciles=4))
    async with running(controller) as task:
        for _ in range(20):
            for name in "abcdef":
                controller.queue.add(Request(name))
            await asyncio.sleep(0.3)
        assert not task.done()
    assert most == 4


async def test_when_no_more_is_accepted_what_runs_is_finished_and_the_controller_ends() -> None:
    done: list[str] = []

    async def reconcile(request: Request) -> None:
        await asyncio.sleep(5)
        done.append(request.name)

    controller = Controller("graceful", reconcile)
    controller.watch(feed := Feed("a", "b"))
    task = asyncio.ensure_future(controller.start())
    await asyncio.sleep(1)
    controller.stop_accepting()
    await task
    assert now() == 5
    assert done == ["a"]
    assert feed.stopped == 1


async def test_work_is_tracked_and_none_is_begun_when_none_is_accepted() -> None:
    tracker = WorkTracker()
    release = asyncio.Event()
    names: list[str] = []

    async def reconcile(request: Request) -> None:
        names.append(request.name)
        await release.wait()

    controller = Controller("tracked", reconcile, manager=ManagerSettings(tracker=tracker))
    controller.watch(Feed("a", "b"))
    task = asyncio.ensure_future(controller.start())
    await asyncio.sleep(1)
    assert [(work.kind, work.name, work.seconds) for work in tracker.active()] == [
        ("controller.reconcile", "tracked a", 1.0)
    ]
    tracker.stop_accepting()
    release.set()
    await task
    assert names == ["a"]
    assert not tracker.has_active_work


async def test_the_log_has_the_lines_that_a_controller_runtime_user_knows(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    gvk = Widget.__resource__.gvk
    controller = Controller("logged", Recorder(), ControllerOptions(max_concurrent_reconciles=2), kind=gvk)
    controller.watch(Kind(FakeCache(), Widget, enqueue_request_for_object))
    async with running(controller):
        await asyncio.sleep(1)
    who = "controller=logged controllerGroup=demo.pilotage.dev controllerKind=Widget"
    assert lines(caplog) == [
        f'Starting EventSource {who} source="kind source: *v1.Widget"',
        f"Starting Controller {who}",
        f"Starting workers {who} worker count=2",
    ]


@pytest.mark.covers("T55")
async def test_warm_up_fills_the_queue_and_does_not_work() -> None:
    recorder = Recorder()
    controller = Controller("warm", recorder, ControllerOptions(enable_warmup=True))
    informer = FakeInformer(widget("a"))
    controller.watch(InformerSource(informer, enqueue_request_for_object))
    assert controller.warm_up is not None
    warming = asyncio.ensure_future(controller.warm_up())
    await asyncio.sleep(100)
    informer.tell(Event.create(widget("b")))
    assert len(controller.queue) == 2
    assert recorder.names == []
    async with running(controller):
        await asyncio.sleep(1)
        assert recorder.names == ["b", "a"]
        assert len(informer.listeners) == 1
        controller.watch(late := Feed("c"))
        await asyncio.sleep(1)
        assert (late.started, recorder.names[-1]) == (1, "c")
    warming.cancel()
    await asyncio.wait([warming])
    assert informer.listeners == []


@pytest.mark.covers("T55")
def test_warm_up_is_off_by_default_and_where_there_is_no_election() -> None:
    assert Controller("cold", Recorder()).warm_up is None
    no_election = ControllerOptions(enable_warmup=True, needs_leader_election=False)
    controller = Controller("no-election", Recorder(), no_election)
    assert controller.warm_up is None
    assert not controller.needs_leader_election


@pytest.mark.covers("T42", "T55")
@seeds(3, 10)
def test_sources_start_once_when_warm_up_and_start_come_together(seed: int) -> None:
    async def main() -> None:
        feed = Feed("a")
        recorder = Recorder()
        controller = Controller("together", recorder, ControllerOptions(enable_warmup=True))
        controller.watch(feed)
        assert controller.warm_up is not None
        warming = asyncio.ensure_future(controller.warm_up())
        async with running(controller):
            await asyncio.sleep(1)
            assert feed.started == 1
            assert recorder.names == ["a"]
        warming.cancel()
        await asyncio.wait([warming])

    run(main(), seed=seed)


@pytest.mark.covers("T55")
async def test_an_error_in_warm_up_is_raised_there_and_at_the_start() -> None:
    controller = Controller("bad-warm-up", Recorder(), ControllerOptions(enable_warmup=True))
    controller.watch(Blocking())
    assert controller.warm_up is not None
    with pytest.raises(CacheSyncTimeout):
        await controller.warm_up()
    with pytest.raises(CacheSyncTimeout):
        await controller.start()
