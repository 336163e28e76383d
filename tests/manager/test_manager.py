"""A manager starts runnables in order, supervises them, and stops them in order."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest

from pilotage.cache.plan import CacheOptions
from pilotage.errors import InvalidDefinition
from pilotage.manager.errors import AlreadyStarted, ManagerStopped, NotIdle, RunnableCancelled, ShutdownTimeout
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.manager.runs.beginning import Beginning
from pilotage.meta.bounds.amounts import Seconds

from .fakes import FakeCache, FakeCluster, FakeInformer, Recorded, elapsed, recorded_logs, turns

pytestmark = pytest.mark.virtual_time


class Warming:
    name = "warming"

    def __init__(self, journal: list[str]) -> None:
        self._journal = journal

    async def warm_up(self) -> None:
        self._journal.append("warm-up")

    async def start(self) -> None:
        self._journal.append("start")
        await asyncio.Event().wait()


class Queue:
    """A runnable with something to do until `idle_at`."""

    def __init__(self, idle_at: float, due: float = 1000) -> None:
        self.idle_at = idle_at
        self.due = due
        self.name = "queue"

    async def start(self) -> None:
        await asyncio.Event().wait()

    def idle(self, horizon: float) -> bool:
        return elapsed() >= self.idle_at and self.due > horizon


@pytest.mark.covers("T59")
async def test_everything_starts_after_the_cache_and_stops_before_it() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "leader"))
        manager.add(Recorded(cluster.journal, "other", needs_leader_election=False))
        await manager.start(timeout=1)
    assert cluster.journal == [
        "cluster opened",
        "cache started",
        "other started",
        "leader started",
        "other stopped",
        "leader stopped",
        "cache stopped",
        "cluster closed",
    ]


@pytest.mark.covers("T59")
async def test_nothing_that_reads_starts_before_all_caches_are_filled() -> None:
    cluster = FakeCluster()
    further = FakeCache(cluster.journal, "further")
    further.synced.clear()
    async with Manager(cluster) as manager:
        manager.add(further)
        manager.add(Recorded(cluster.journal, "leader"))
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(10)
        assert "leader started" not in cluster.journal
        assert not manager.elected.is_set()
        further.synced.set()
        await turns()
        assert cluster.journal[-1] == "leader started"
        assert manager.elected.is_set()
        late = FakeCache(cluster.journal, "late")
        manager.add(late)
        await turns()
        assert cluster.journal[-1] == "late started"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.mark.covers("T60")
async def test_a_cache_that_fails_to_start_fails_the_manager() -> None:
    cluster = FakeCluster()
    cluster.cache.error = RuntimeError("no list")
    cluster.cache.synced.clear()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "leader"))
        with pytest.raises(RuntimeError, match="no list"):
            await manager.start()
    assert "leader started" not in cluster.journal


async def test_a_stop_while_a_cache_is_awaited_ends_at_once() -> None:
    cluster = FakeCluster()
    cluster.cache.synced.clear()
    async with Manager(cluster) as manager:
        await manager.start(timeout=5)
    assert elapsed() == 5


@pytest.mark.covers("T61")
async def test_a_failing_runnable_ends_the_manager_after_the_others_have_stopped() -> None:
    cluster = FakeCluster()
    error = RuntimeError("broken")
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "slow", ending=3))
        manager.add(Recorded(cluster.journal, "wrong", life=1, error=error))
        with pytest.raises(RuntimeError) as raised:
            await manager.start()
        assert raised.value is error
        assert "slow stopped" in cluster.journal
        assert elapsed() == 4


async def test_a_runnable_that_has_nothing_left_to_do_ends_alone() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "done", life=1))
        await manager.start(timeout=10)
    assert elapsed() == 10


async def test_system_exit_in_a_runnable_ends_the_program_in_order() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "slow", ending=3))
        manager.add(Recorded(cluster.journal, "leaving", life=1, error=SystemExit(3)))
        with pytest.raises(SystemExit) as raised:
            await manager.start()
    assert raised.value.code == 3
    assert "slow stopped" in cluster.journal


@pytest.mark.covers("T62")
@pytest.mark.parametrize(("grace", "timeout"), [(5, 1), (timedelta(seconds=5), timedelta(seconds=1))])
async def test_a_stop_waits_no_longer_than_the_grace(grace: Seconds, timeout: Seconds) -> None:
    cluster = FakeCluster()
    async with Manager(cluster, ManagerOptions(graceful_shutdown_timeout=grace)) as manager:
        manager.add(Recorded(cluster.journal, "stubborn", ending=100))
        with pytest.raises(ShutdownTimeout, match=r"5 s.*stubborn") as raised:
            await manager.start(timeout)
        assert raised.value.cut == ("leader-election: stubborn",)
    assert elapsed() == 1 + 5 + 1


@pytest.mark.covers("T62")
async def test_without_grace_nothing_is_waited_for_and_that_is_no_error() -> None:
    cluster = FakeCluster()
    async with Manager(cluster, ManagerOptions(graceful_shutdown_timeout=0)) as manager:
        manager.add(Recorded(cluster.journal, "stubborn", ending=100))
        await manager.start(timeout=1)
    assert elapsed() == 2  # a second for cancelled tasks to unwind


@pytest.mark.parametrize(("grace", "seconds"), [(5, 2), (-1, 2), (1, 1)])
async def test_the_grace_can_be_made_shorter_while_the_manager_runs(grace: float, seconds: float) -> None:
    cluster = FakeCluster()
    async with Manager(cluster, ManagerOptions(graceful_shutdown_timeout=grace)) as manager:
        manager.add(Recorded(cluster.journal, "stubborn", ending=100))
        manager.limit_grace(2)
        with pytest.raises(ShutdownTimeout, match=rf"{seconds} s.*stubborn"):
            await manager.start(timeout=1)
    assert elapsed() == 1 + seconds + 1


@pytest.mark.covers("T62")
async def test_a_negative_grace_waits_for_ever() -> None:
    cluster = FakeCluster()
    async with Manager(cluster, ManagerOptions(graceful_shutdown_timeout=-1)) as manager:
        manager.add(Recorded(cluster.journal, "stubborn", ending=1000))
        await manager.start(timeout=1)
    assert elapsed() == 1001
    assert cluster.journal[-2:] == ["cache stopped", "cluster closed"]


@pytest.mark.covers("T63")
async def test_the_error_and_the_failed_stop_are_both_raised() -> None:
    cluster = FakeCluster()
    error = RuntimeError("broken")
    async with Manager(cluster, ManagerOptions(graceful_shutdown_timeout=5)) as manager:
        manager.add(Recorded(cluster.journal, "stubborn", ending=100))
        manager.add(Recorded(cluster.journal, "wrong", life=1, error=error))
        with pytest.raises(ExceptionGroup) as raised:
            await manager.start()
        first, second = raised.value.exceptions
        assert first is error
        assert isinstance(second, ShutdownTimeout)


@pytest.mark.covers("T64")
async def test_errors_during_the_stop_are_logged_and_not_raised() -> None:
    async def wrong() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("while stopping")

    async with Manager(FakeCluster()) as manager:
        manager.add(wrong)
        with recorded_logs() as lines:
            await manager.start(timeout=1)
    assert any("while stopping" in line for line in lines)


@pytest.mark.covers("T65")
async def test_what_is_added_after_the_start_starts_at_once_and_during_the_stop_is_refused() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "slow", ending=5))
        running = asyncio.ensure_future(manager.start(timeout=10))
        await asyncio.sleep(1)
        manager.add(Recorded(cluster.journal, "late"))
        await turns()
        assert cluster.journal[-1] == "late started"
        await asyncio.sleep(11)
        with pytest.raises(ManagerStopped, match="too late"):
            manager.add(Recorded(cluster.journal, "too late"))
        await running
        with pytest.raises(ManagerStopped):
            manager.add(Recorded(cluster.journal, "far too late"))


@pytest.mark.covers("T66")
async def test_a_second_start_is_an_error_while_running_and_afterwards() -> None:
    async with Manager(FakeCluster()) as manager:
        running = asyncio.ensure_future(manager.start(timeout=10))
        await asyncio.sleep(1)
        with pytest.raises(AlreadyStarted):
            await manager.start()
        await running
        with pytest.raises(AlreadyStarted):
            await manager.start()
        with pytest.raises(ManagerStopped):
            await manager.run_until_idle()


@pytest.mark.covers("T74")
async def test_warm_up_comes_before_the_start() -> None:
    journal: list[str] = []
    async with Manager(FakeCluster()) as manager:
        manager.add(Warming(journal))
        await manager.start(timeout=1)
    assert journal == ["warm-up", "start"]


@pytest.mark.covers("T77")
async def test_no_task_is_left_when_the_block_has_ended() -> None:
    before = asyncio.all_tasks()
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "slow", ending=2, error=RuntimeError("late")))
        manager.add(Warming(cluster.journal))
        await manager.start(timeout=1)
    assert asyncio.all_tasks() == before


async def test_every_task_of_a_running_manager_has_a_name_of_ours() -> None:
    before = asyncio.all_tasks()
    async with Manager(FakeCluster()) as manager:
        manager.add(Recorded([], "mine"))
        await manager.run_until_idle(5)
        names = sorted(task.get_name() for task in asyncio.all_tasks() - before)
    assert names == ["caches: cache", "leader-election: mine"]


@pytest.mark.covers("T57")
async def test_a_cache_that_cannot_be_made_is_an_error_and_the_cluster_is_closed() -> None:
    cluster = FakeCluster()
    cluster.cache_error = RuntimeError("no cache")
    with pytest.raises(RuntimeError, match="no cache"):
        async with Manager(cluster):
            pytest.fail("it was opened")
    assert not cluster.is_open


async def test_the_cluster_is_closed_also_if_the_block_is_cancelled_while_the_checkpoint_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster, writing = FakeCluster(), asyncio.Event()

    async def save(_: Beginning) -> None:
        writing.set()
        await asyncio.Event().wait()

    async def run() -> None:
        async with Manager(cluster) as manager:
            await manager.run_until_idle(5)

    monkeypatch.setattr(Beginning, "save", save)
    running = asyncio.create_task(run())
    await writing.wait()
    running.cancel()
    await asyncio.wait([running])
    assert not cluster.is_open


@pytest.mark.covers("T57")
async def test_a_manager_needs_a_cluster() -> None:
    with pytest.raises(InvalidDefinition, match="needs a cluster"):
        Manager(cast(Any, None))


@pytest.mark.covers("T79")
async def test_what_the_manager_hands_out_is_the_clusters() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        assert manager.client is cluster.reading_client
        assert manager.api_reader is cluster.live_client
        assert manager.cache is cast(Any, cluster.cache)
        assert manager.scheme is cluster.scheme
        assert manager.rest_mapper is cluster.rest_mapper
        assert manager.event_recorder_for("me") is cluster.recorder
        assert manager.cluster is cluster


async def test_one_namespace_is_an_option_of_the_cache() -> None:
    cluster = FakeCluster()
    own = CacheOptions(default_namespaces=["shop"])
    async with Manager(cluster, ManagerOptions(cache=own)):
        assert cluster.cache_options is own
    with pytest.raises(InvalidDefinition, match="twice"):
        ManagerOptions(namespace_selector={"tenant": "yes"}, cache=own)


async def test_a_task_of_the_managers_own_does_not_vanish_silently() -> None:
    cluster = FakeCluster()
    cluster.cache.synced.clear()
    async with Manager(cluster) as manager:
        running = asyncio.ensure_future(manager.start())
        await turns()
        [starting] = [task for task in asyncio.all_tasks() if task.get_name() == "manager: start"]
        starting.cancel()
        with pytest.raises(RunnableCancelled, match="manager: start"):
            await running


async def test_a_shutdown_that_others_cancel_is_finished_all_the_same() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "slow", ending=5))
        running = asyncio.ensure_future(manager.start(timeout=1))
        await asyncio.sleep(2)
        [stopping] = [task for task in asyncio.all_tasks() if task.get_name() == "manager: shutdown"]
        stopping.cancel()
        with pytest.raises(ShutdownTimeout):
            await running
    assert cluster.journal[-1] == "cluster closed"


async def test_a_cluster_that_is_open_stays_open() -> None:
    cluster = FakeCluster()
    async with cluster:
        async with Manager(cluster):
            pass
        assert cluster.is_open


@pytest.mark.covers("T78")
async def test_options_are_not_changed() -> None:
    options = ManagerOptions(metrics_extra_handlers={}, leader_election_labels={"a": "b"})
    before = repr(options)
    async with Manager(FakeCluster(), options) as manager:
        await manager.start(timeout=1)
        assert manager.options is options
    assert repr(options) == before


async def test_using_a_closed_manager_is_an_error() -> None:
    manager = Manager(FakeCluster())
    for use in (lambda: manager.client, lambda: manager.cache, lambda: manager.metrics_address):
        with pytest.raises(InvalidDefinition, match="not open"):
            use()
    with pytest.raises(InvalidDefinition, match="async with"):
        await manager.start()


async def test_runnables_may_be_added_before_the_manager_is_opened() -> None:
    journal: list[str] = []
    manager = Manager(FakeCluster())
    manager.add(Recorded(journal, "early"))
    async with manager:
        await manager.start(timeout=1)
    assert journal == ["early started", "early stopped"]


async def test_cancelling_start_shuts_down_and_goes_on_as_a_cancellation() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "slow", ending=3))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await manager.start()
        assert cluster.journal[-2:] == ["slow stopped", "cache stopped"]
    assert elapsed() == 4


async def test_cancelling_twice_ends_the_grace() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "stubborn", ending=20))
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(1)
        running.cancel()
        await asyncio.sleep(1)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert elapsed() == 3


async def test_run_until_idle_waits_for_runnables_work_and_caches() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Queue(idle_at=2))
        work = manager.work.start("backup", "shop")
        asyncio.get_running_loop().call_later(5, work.end)
        informer = FakeInformer()
        cluster.cache.kept.append(informer)
        cluster.wrote(2)
        asyncio.get_running_loop().call_later(7, setattr, informer, "resource_version", "2")
        await manager.run_until_idle(30)
        assert 7 <= elapsed() < 7.2


async def test_after_run_until_idle_everything_goes_on_until_the_block_ends() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "mine"))
        await manager.run_until_idle()
        await manager.run_until_idle()
        assert cluster.journal[-1] == "mine started"
    assert cluster.journal[-3:] == ["mine stopped", "cache stopped", "cluster closed"]


async def test_start_may_follow_run_until_idle() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Recorded(cluster.journal, "mine"))
        await manager.run_until_idle()
        await manager.start(timeout=3)
    assert cluster.journal.count("mine started") == 1
    assert elapsed() >= 3


async def test_run_until_idle_looks_as_far_ahead_as_its_horizon() -> None:
    async with Manager(FakeCluster()) as manager:
        manager.add(Queue(idle_at=0, due=5))
        await manager.run_until_idle(1, horizon=0)
        with pytest.raises(NotIdle):
            await manager.run_until_idle(1, horizon=10)


async def test_run_until_idle_reports_what_is_busy_at_the_timeout() -> None:
    cluster = FakeCluster()
    async with Manager(cluster) as manager:
        manager.add(Queue(idle_at=1000))
        cluster.cache.kept.append(FakeInformer())
        cluster.wrote(2)
        with pytest.raises(TimeoutError) as raised, manager.work.track("backup", "shop"):
            await manager.run_until_idle(2)
    assert isinstance(raised.value, NotIdle)
    text = str(raised.value)
    for part in ("2 s", "queue has work to do", "backup shop", "Secret"):
        assert part in text


async def test_run_until_idle_that_cannot_start_raises() -> None:
    cluster = FakeCluster()
    cluster.cache.synced.clear()
    async with Manager(cluster) as manager:
        with pytest.raises(NotIdle, match=r"the manager is starting: it waits for cache$"):
            await manager.run_until_idle(3)


async def test_a_failure_during_run_until_idle_is_raised_by_it() -> None:
    async with Manager(FakeCluster()) as manager:
        manager.add(Queue(idle_at=1000))
        manager.add(Recorded([], "wrong", life=1, error=RuntimeError("broken")))
        with pytest.raises(RuntimeError, match="broken"):
            await manager.run_until_idle(30)


async def test_a_failure_between_two_calls_is_raised_when_the_block_ends() -> None:
    async def block() -> None:
        async with Manager(FakeCluster()) as manager:
            manager.add(Recorded([], "wrong", life=1, error=RuntimeError("broken")))
            await manager.run_until_idle(30)
            await asyncio.sleep(5)

    with pytest.raises(RuntimeError, match="broken"):
        await block()


async def test_an_error_of_the_block_is_not_hidden_by_the_shutdown() -> None:
    cluster = FakeCluster()

    async def block() -> None:
        async with Manager(cluster) as manager:
            manager.add(Recorded(cluster.journal, "wrong", life=1, error=RuntimeError("broken")))
            await manager.run_until_idle(30)
            await asyncio.sleep(5)
            raise KeyError("mine")

    with pytest.raises(KeyError):
        await block()
    assert not cluster.is_open


async def test_a_block_that_starts_nothing_stops_nothing() -> None:
    with recorded_logs() as lines:
        async with Manager(FakeCluster()) as manager:
            manager.add(Recorded([], "never"))
    assert lines == []
