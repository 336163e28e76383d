"""Work under way is known from its start to its end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pilotage.manager.errors import ShuttingDown
from pilotage.manager.work import ActiveWork, WorkStatistics, WorkTracker
from pilotage.telemetry.metrics import REGISTRY


def test_a_block_is_one_piece_of_work() -> None:
    tracker = WorkTracker()
    with tracker.track("reconcile", "a"):
        assert tracker.has_active_work
        assert tracker.statistics() == WorkStatistics(in_flight=1, peak=1, started=1)
    assert not tracker.has_active_work
    assert tracker.statistics() == WorkStatistics(in_flight=0, peak=1, started=1, finished=1)


def test_work_that_raises_has_failed() -> None:
    tracker = WorkTracker()
    with pytest.raises(KeyError), tracker.track("reconcile", "a"):
        raise KeyError("a")
    assert tracker.statistics("reconcile") == WorkStatistics(peak=1, started=1, failed=1)


def test_work_without_a_block_is_started_and_ended_once() -> None:
    tracker = WorkTracker()
    work = tracker.start("backup", "shop")
    work.end(failed=True)
    work.end()
    assert tracker.statistics("backup") == WorkStatistics(peak=1, started=1, failed=1)


def test_counters_are_kept_by_kind_and_together() -> None:
    tracker = WorkTracker()
    with tracker.track("reconcile", "a"), tracker.track("backup", "b"):
        pass
    assert set(tracker.kinds()) == {"reconcile", "backup"}
    assert tracker.kinds()["backup"].peak == 1
    assert tracker.statistics().peak == 2
    assert tracker.statistics("unknown") == WorkStatistics()


def test_active_work_is_listed_with_its_age_the_oldest_first() -> None:
    now = 10.0
    tracker = WorkTracker(clock=lambda: now)
    tracker.start("reconcile", "a")
    now = 12.0
    tracker.start("reconcile", "b")
    now = 13.0
    assert tracker.active() == [ActiveWork("reconcile", "a", 3.0), ActiveWork("reconcile", "b", 1.0)]
    assert str(tracker.active()[0]) == "reconcile a (3.0 s)"


def test_after_stop_accepting_new_work_is_refused_and_parts_of_old_work_are_not() -> None:
    tracker = WorkTracker()
    work = tracker.start("reconcile", "a")
    tracker.stop_accepting()
    tracker.stop_accepting()
    assert not tracker.accepting
    with pytest.raises(ShuttingDown, match="reconcile b"), tracker.track("reconcile", "b"):
        pytest.fail("it was begun")
    with work.part("write", "a"):
        assert len(tracker.active()) == 2
    assert tracker.statistics().started == 2


def test_what_is_under_way_in_all_trackers_is_a_metric() -> None:
    one, two = WorkTracker(), WorkTracker()
    with one.track("measured", "a"), two.track("measured", "b"):
        assert 'pilotage_work_in_flight{kind="measured"} 2' in REGISTRY.render()
    assert 'pilotage_work_in_flight{kind="measured"} 0' in REGISTRY.render()


@pytest.mark.virtual_time
async def test_waiting_ends_with_the_last_piece() -> None:
    tracker = WorkTracker()

    async def work(seconds: float) -> None:
        with tracker.track("reconcile", str(seconds)):
            await asyncio.sleep(seconds)

    async with asyncio.TaskGroup() as group:
        for seconds in (1, 3, 2):
            group.create_task(work(seconds))
        await asyncio.sleep(0.5)
        assert await tracker.wait_idle(10)
        assert asyncio.get_running_loop().time() == 3


@pytest.mark.virtual_time
async def test_waiting_gives_up_after_its_timeout() -> None:
    tracker = WorkTracker()
    tracker.start("reconcile", "a")
    assert not await tracker.wait_idle(5)
    assert asyncio.get_running_loop().time() == 5


async def test_waiting_for_nothing_ends_at_once() -> None:
    assert await WorkTracker().wait_idle(0)


@pytest.mark.virtual_time
async def test_a_thousand_pieces_at_once_leave_nothing_behind() -> None:
    tracker = WorkTracker()

    async def work(number: int) -> None:
        with tracker.track("create", str(number)):
            await asyncio.sleep(0.01)

    async with asyncio.TaskGroup() as group:
        for number in range(1000):
            group.create_task(work(number))
    assert tracker.statistics() == WorkStatistics(in_flight=0, peak=1000, started=1000, finished=1000)


async def test_work_in_threads_counts_and_wakes_the_loop() -> None:
    tracker = WorkTracker()
    gate = threading.Event()
    begun = threading.Barrier(9)

    def work(number: int) -> None:
        with tracker.track("reconcile", str(number)):
            begun.wait()
            gate.wait()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    begun.wait()
    assert len(tracker.active()) == 8
    waiting = asyncio.ensure_future(tracker.wait_idle(30))
    await asyncio.sleep(0)
    gate.set()
    assert await waiting
    for thread in threads:
        thread.join()
    assert tracker.statistics() == WorkStatistics(peak=8, started=8, finished=8)


@pytest.mark.virtual_time
async def test_back_pressure_lets_no_more_than_the_limit_run_and_all_come_to_their_turn() -> None:
    tracker = WorkTracker(limit=10)

    async def work(number: int) -> None:
        await tracker.wait_for_room()
        with tracker.track("upload", str(number)) as one, one.part("chunk", "a"):
            await asyncio.sleep(1)

    async with asyncio.TaskGroup() as tasks:
        for number in range(100):
            tasks.create_task(work(number))
    assert (tracker.statistics("upload").finished, tracker.statistics("upload").peak) == (100, 10)
    assert asyncio.get_running_loop().time() == 10


@pytest.mark.virtual_time
async def test_who_waits_for_room_and_is_cancelled_passes_its_turn_on() -> None:
    tracker = WorkTracker(limit=1)
    first = tracker.start("upload", "a")
    waiting = [asyncio.ensure_future(tracker.wait_for_room()) for _ in range(2)]
    await asyncio.sleep(1)
    first.end()
    waiting[0].cancel()
    await asyncio.wait_for(waiting[1], 1)


@pytest.mark.virtual_time
async def test_who_waits_for_room_and_starts_no_work_passes_its_turn_on() -> None:
    tracker = WorkTracker(limit=1)
    first = tracker.start("upload", "a")
    waiting = [asyncio.ensure_future(tracker.wait_for_room()) for _ in range(3)]
    await asyncio.sleep(1)
    first.end()
    async with asyncio.timeout(1):
        await asyncio.gather(*waiting)


@pytest.mark.virtual_time
async def test_a_shutdown_ends_the_wait_for_room() -> None:
    tracker = WorkTracker(limit=1)
    with tracker.track("upload", "a"):
        waiting = asyncio.ensure_future(tracker.wait_for_room())
        await asyncio.sleep(1)
        tracker.stop_accepting()
        await asyncio.wait_for(waiting, 1)
        with pytest.raises(ShuttingDown):
            tracker.start("upload", "b")
