"""Admitted work runs to its end with all that it needs; then events are written, and the storage and locks are
released."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, ControllerOptions, Request
from pilotage.manager.errors import ShuttingDown
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.manager.work import WorkTracker
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap, Event, Secret


def open_files() -> list[str]:
    """All but the lock file, whose memory map is released with its last reader."""
    found = [os.readlink(path) for path in Path("/dev/fd").iterdir() if path.is_symlink()]
    return sorted(name for name in found if not name.endswith("-lock"))


def secret(name: str) -> Secret:
    return Secret(metadata=ObjectMeta(name=name, namespace="default"))


@pytest.mark.virtual_time
@pytest.mark.covers("K43", "K44", "WG1", "WG2", "WD6", "WS6", "WA1", "WA2", "WA8")
async def test_a_reconcile_that_was_admitted_reads_and_writes_until_its_end() -> None:
    async with Cluster.embedded() as cluster:
        await cluster.client.create(secret("a"))
        finished = asyncio.Event()
        async with Manager(cluster) as manager:

            async def reconcile(request: Request) -> None:
                await asyncio.sleep(10)  # the shutdown begins
                assert not manager.work.accepting
                found = await manager.client.get(Secret, request.name, namespace="default")  # from the cache
                made = ConfigMap(metadata=ObjectMeta(name=found.metadata.name, namespace="default"))
                await manager.client.create(made)
                await manager.api_reader.get(ConfigMap, request.name, namespace="default")
                finished.set()

            ControllerBuilder(manager).for_(Secret).complete(reconcile)
            await manager.start(timeout=5)
        assert finished.is_set()
        assert manager.work.statistics("controller.reconcile").failed == 0


@pytest.mark.virtual_time
@pytest.mark.covers("WC4", "WT3")
async def test_the_reconciles_of_all_controllers_share_one_limit() -> None:
    async with Cluster.embedded() as cluster:
        for number in range(20):
            await cluster.client.create(secret(f"a-{number}"))
        async with Manager(cluster, ManagerOptions(max_active_work=7)) as manager:

            async def reconcile(request: Request) -> None:
                await asyncio.sleep(1)

            for name in ("one", "two"):
                builder = ControllerBuilder(manager).for_(Secret).named(name)
                builder.with_options(ControllerOptions(max_concurrent_reconciles=10)).complete(reconcile)
            await manager.run_until_idle(timeout=100)
        statistics = manager.work.statistics("controller.reconcile")
        assert (statistics.finished, statistics.peak, statistics.in_flight) == (40, 7, 0)


@pytest.mark.virtual_time
@pytest.mark.covers("K48")
async def test_what_waits_on_the_queue_at_a_shutdown_is_the_next_runs_work() -> None:
    async with Cluster.embedded() as cluster:
        for name in ("a", "b", "c"):
            await cluster.client.create(secret(name))
        reconciled: list[str] = []

        async def reconcile(request: Request) -> None:
            await asyncio.sleep(10)
            reconciled.append(request.name)

        for _ in range(2):
            async with Manager(cluster, ManagerOptions(checkpoint="run")) as manager:
                ControllerBuilder(manager).for_(Secret).complete(reconcile)
                await manager.start(timeout=5 if not reconciled else 100)
        assert sorted(set(reconciled)) == ["a", "b", "c"]


async def record_events_while_stopping(place: str, count: int) -> None:
    async with Manager(Cluster.embedded(place)) as manager:
        recorder = manager.event_recorder_for("test")
        running, stopping = asyncio.Event(), asyncio.Event()

        async def reconcile(request: Request) -> None:
            running.set()
            await stopping.wait()
            assert not manager.work.accepting
            found = await manager.client.get(Secret, request.name, namespace="default")
            for number in range(count):
                recorder.event(found, "Normal", f"Reason{number}", "the last words")

        ControllerBuilder(manager).for_(Secret).complete(reconcile)
        starting = asyncio.ensure_future(manager.start())
        await running.wait()
        manager._lifecycle.ask_stop("the test")
        stopping.set()
        await starting


async def stored_events(place: str) -> int:
    async with Cluster.embedded(place) as cluster:
        return len(await cluster.client.list(Event, namespace="default"))


@pytest.mark.covers("K37", "K49", "WD5", "WE5", "WA7")
async def test_events_of_the_last_reconcile_are_stored_and_then_storage_and_files_are_closed(tmp_path: Path) -> None:
    place = f"sqlite:{tmp_path}/run.db"
    async with Cluster.embedded(place) as cluster:
        await cluster.client.create(secret("a"))
    del cluster
    assert await stored_events(place) == 0
    files, tasks = open_files(), len(asyncio.all_tasks())
    await record_events_while_stopping(place, 20)
    assert (open_files(), len(asyncio.all_tasks())) == (files, tasks)
    assert await stored_events(place) == 20


@pytest.mark.covers("K45")
async def test_a_waiter_sees_all_work_that_was_admitted() -> None:
    tracker = WorkTracker()
    loop, many, ended = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    late: list[str] = []

    def work() -> None:
        try:
            while True:
                if tracker.statistics().finished > 1000:
                    loop.call_soon_threadsafe(many.set)
                with tracker.track("upload", "a"):
                    if ended.is_set():
                        late.append("work was active after the wait had ended")
        except ShuttingDown:
            return

    threads = [asyncio.create_task(asyncio.to_thread(work)) for _ in range(4)]
    await many.wait()
    tracker.stop_accepting()
    assert await tracker.wait_idle(30)
    ended.set()
    await asyncio.gather(*threads)
    assert late == []


@pytest.mark.virtual_time
@pytest.mark.covers("K46", "K47")
async def test_a_shutdown_without_work_takes_no_time_though_watches_are_open() -> None:
    async with Cluster.embedded() as cluster:
        async with Manager(cluster) as manager:

            async def reconcile(request: Request) -> None:
                pass

            ControllerBuilder(manager).for_(Secret).owns(ConfigMap).complete(reconcile)
            await manager.run_until_idle()
            began = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() == began
