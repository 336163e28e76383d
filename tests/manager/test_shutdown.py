"""A shutdown starts no more work, lets running work finish, and reports the outcome."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.manager.errors import ManagerStopped, ShutdownForced, ShutdownTimeout, ShuttingDown
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.manager.shutdown import ShutdownCallbacks
from pilotage.manager.work import ActiveWork

from .fakes import FakeCluster, Recorded, elapsed, recorded_logs, turns

pytestmark = pytest.mark.virtual_time


class Worker:
    """A minimal controller: one piece of work after the other, each taking `seconds`."""

    def __init__(self, manager: Manager, seconds: float, name: str = "worker") -> None:
        self.name = name
        self.finished = 0
        self.cancelled = 0
        self.refused = asyncio.Event()
        self._manager = manager
        self._seconds = seconds

    async def start(self) -> None:
        while True:
            try:
                with self._manager.work.track("reconcile", f"shop/{self.name}"):
                    await asyncio.sleep(self._seconds)
                    self.finished += 1
            except ShuttingDown:
                self.refused.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise


async def test_what_runs_is_finished_and_nothing_new_begins() -> None:
    async with Manager(FakeCluster()) as manager:
        worker = Worker(manager, 10)
        manager.add(worker)
        await manager.start(timeout=15)
        assert (worker.finished, worker.refused.is_set()) == (2, True)
        assert elapsed() == 20
        assert manager.work.statistics("reconcile").failed == 0


async def test_the_phases_are_logged_with_what_runs_and_for_how_long() -> None:
    async with Manager(FakeCluster()) as manager:
        manager.add(Worker(manager, 2))
        with recorded_logs() as lines:
            await manager.start(timeout=1)
    told = [line for line in lines if not line.startswith(("A ", "Shutting"))]
    assert told[0].startswith("Phase 1: Stopping acceptance of new reconcile requests")
    assert told[1].startswith("Phase 2: Waiting for active reconciliation to complete")
    assert "reconcile shop/worker (1.0 s)" in told[1]
    assert told[2].startswith("Still waiting for active work")
    assert "reconcile shop/worker (1.5 s)" in told[2]
    assert told[-3] == "All reconciliation work completed"
    assert told[-2].startswith("Phase 3: Force stopping all controllers")
    assert told[-1] == "All controllers shut down gracefully"
    assert len(told) in (6, 7)  # the second line of progress may coincide with the end


async def test_progress_is_reported_every_half_second() -> None:
    async with Manager(FakeCluster()) as manager:
        manager.add(Worker(manager, 10.1))
        with recorded_logs() as lines:
            await manager.start(timeout=0.05)
    assert len([line for line in lines if line.startswith("Still waiting for active work")]) == 20


async def test_work_that_outlives_the_grace_is_cut_and_named() -> None:
    async with Manager(FakeCluster(), ManagerOptions(graceful_shutdown_timeout=3)) as manager:
        worker = Worker(manager, 100)
        manager.add(worker)
        with recorded_logs() as lines, pytest.raises(ShutdownTimeout) as raised:
            await manager.start(timeout=1)
        assert raised.value.cut == ("reconcile shop/worker (4.0 s)",)
        assert worker.cancelled == 1
        assert elapsed() == 4
    assert any(line.startswith("Grace period is over") for line in lines)
    assert lines[-1].startswith("Shut down, but not gracefully")
    assert "shop/worker" in lines[-1]


async def test_runnables_stop_accepting_before_anything_is_cancelled() -> None:
    journal: list[str] = []

    class Listening(Recorded):
        def stop_accepting(self) -> None:
            journal.append(f"{self.name} told")
            if self.name == "broken":
                raise RuntimeError("cannot")

    async with Manager(FakeCluster()) as manager:
        manager.add(Listening(journal, "broken"))
        manager.add(Listening(journal, "other", needs_leader_election=False))
        with recorded_logs() as lines:
            await manager.start(timeout=1)
    assert sorted(journal[2:4]) == ["broken told", "other told"]
    assert any("Failed to stop accepting work" in line and "broken" in line for line in lines)


async def test_users_own_work_is_waited_for_too() -> None:
    finished = False

    async def backup(manager: Manager) -> None:
        nonlocal finished
        with manager.work.track("backup", "shop"):
            await asyncio.sleep(5)
            finished = True

    async with Manager(FakeCluster()) as manager, asyncio.TaskGroup() as tasks:
        tasks.create_task(backup(manager))
        await manager.start(timeout=1)
    assert finished


async def test_a_hundred_pieces_in_flight_all_finish() -> None:
    async with Manager(FakeCluster()) as manager:
        workers = [Worker(manager, 0.2, f"worker-{number}") for number in range(100)]
        for worker in workers:
            manager.add(worker)
        await manager.start(timeout=0.05)
        assert [worker.finished for worker in workers] == [1] * 100
        assert not manager.work.has_active_work


@pytest.mark.covers("T80")
async def test_the_first_signal_asks_and_the_second_forces() -> None:
    async with Manager(FakeCluster()) as manager:
        worker = Worker(manager, 100)
        manager.add(worker)
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        manager._lifecycle.on_signal(signal.SIGTERM)
        await asyncio.sleep(5)
        assert not running.done()
        assert worker.cancelled == 0
        manager._lifecycle.on_signal(signal.SIGTERM)
        with pytest.raises(ShutdownForced, match="shop/worker"):
            await running
        assert elapsed() == 6


async def test_a_signal_in_run_until_idle_stops_in_order_and_is_reported() -> None:
    async with Manager(FakeCluster()) as manager:
        worker = Worker(manager, 10)
        manager.add(worker)
        running = asyncio.ensure_future(manager.run_until_idle())
        await asyncio.sleep(1)
        manager._lifecycle.on_signal(signal.SIGINT)
        with pytest.raises(ManagerStopped, match="before it was idle"):
            await running
        assert worker.finished == 1


async def test_readers_of_the_cache_end_before_the_cache() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "leader", ending=2))
        manager.add(Recorded(cluster.journal, "other", ending=2, needs_leader_election=False))
        await manager.start(timeout=1)
        await turns()
    assert cluster.journal[-4:-1] == ["other stopped", "leader stopped", "cache stopped"]


async def test_forcing_twice_still_leaves_cancelled_tasks_their_time_to_unwind() -> None:
    unwound = False

    async def slow_to_end() -> None:
        nonlocal unwound
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.5)
            unwound = True

    manager = Manager(FakeCluster(), ManagerOptions(graceful_shutdown_timeout=0))

    async def main() -> None:
        async with manager:
            manager.add(slow_to_end)
            await manager.start()

    running = asyncio.ensure_future(main())
    await asyncio.sleep(1)
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0.1)
    await asyncio.wait([running])
    assert running.cancelled()
    assert unwound
    assert elapsed() == 1.5


async def test_progress_lines_are_warnings_after_a_while_and_the_wait_goes_on() -> None:
    options = ManagerOptions(shutdown_progress_interval=2, shutdown_warning_after=5)
    async with Manager(FakeCluster(), options) as manager:
        worker = Worker(manager, 11)
        manager.add(worker)
        with recorded_logs() as lines, recorded_logs(least=logging.WARNING) as warnings:
            await manager.start(timeout=0.5)
    assert worker.finished == 1
    waiting = [line for line in lines if line.startswith("Still waiting for active work")]
    assert len(waiting) == 5
    assert warnings == waiting[2:]


@pytest.mark.parametrize("value", [0, -1])
def test_a_progress_interval_must_be_positive(value: float) -> None:
    with pytest.raises(InvalidDefinition, match="shutdown_progress_interval"):
        ManagerOptions(shutdown_progress_interval=value)


class Observed:
    """What the callbacks of a shutdown were called with."""

    def __init__(self) -> None:
        self.signals: list[signal.Signals] = []
        self.waiting: list[tuple[list[str], float]] = []
        self.stopped: list[Sequence[str]] = []
        self.callbacks = ShutdownCallbacks(self.signals.append, self._on_waiting, self.stopped.append)

    def _on_waiting(self, active: Sequence[ActiveWork], seconds: float) -> None:
        self.waiting.append(([str(work) for work in active], seconds))


async def test_callbacks_get_what_a_shutdown_waits_for_and_what_it_cut() -> None:
    observed = Observed()
    options = ManagerOptions(
        graceful_shutdown_timeout=3, shutdown_progress_interval=2, shutdown_callbacks=observed.callbacks
    )
    async with Manager(FakeCluster(), options) as manager:
        manager.add(Worker(manager, 100))
        with pytest.raises(ShutdownTimeout):
            await manager.start(timeout=1)
    assert observed.waiting == [(["reconcile shop/worker (1.0 s)"], 3), (["reconcile shop/worker (3.0 s)"], 1)]
    assert observed.stopped == [("reconcile shop/worker (4.0 s)",)]
    assert observed.signals == []


async def test_a_shutdown_without_active_work_waits_for_nothing() -> None:
    observed = Observed()
    async with Manager(FakeCluster(), ManagerOptions(shutdown_callbacks=observed.callbacks)) as manager:
        await manager.start(timeout=1)
    assert (observed.waiting, observed.stopped) == ([], [()])


async def test_a_callback_that_fails_is_logged_and_the_shutdown_goes_on() -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("broken")

    options = ManagerOptions(shutdown_callbacks=ShutdownCallbacks(fail, fail, fail))
    async with Manager(FakeCluster(), options) as manager:
        worker = Worker(manager, 2)
        manager.add(worker)
        with recorded_logs() as lines:
            await manager.start(timeout=1)
    assert worker.finished == 1
    assert "Callback of the shutdown failed" in lines
