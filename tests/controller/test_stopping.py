"""A single controller: its running reconciles, and stopping it while the other controllers run."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.cluster import Cluster
from pilotage.controller import (
    Controller,
    ControllerBuilder,
    ControllerOptions,
    InformerSource,
    Request,
    enqueue_request_for_object,
)
from pilotage.errors import InvalidDefinition
from pilotage.manager.manager import Manager
from pilotage.manager.work import ActiveWork
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap, Secret

from .fakes import FakeInformer, Feed, running, widget

pytestmark = pytest.mark.virtual_time


class Slow:
    """A slow reconciler that records the requests that it has finished."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.finished: list[str] = []

    async def reconcile(self, request: Request) -> None:
        await asyncio.sleep(self.seconds)
        self.finished.append(request.name)


async def test_a_controller_reports_what_it_is_working_on() -> None:
    controller = Controller("stopping", Slow(10), ControllerOptions(max_concurrent_reconciles=2))
    controller.watch(Feed("a", "b", "c"))
    assert not controller.has_active_work
    async with running(controller):
        await asyncio.sleep(3)
        assert controller.has_active_work
        assert controller.active_work() == [
            ActiveWork("controller.reconcile", "stopping a", 3.0),
            ActiveWork("controller.reconcile", "stopping b", 3.0),
        ]
        await asyncio.sleep(20)
        assert not controller.has_active_work
        assert controller.active_work() == []


async def test_stopping_a_controller_waits_for_what_runs_and_begins_nothing_more() -> None:
    reconciler, informer = Slow(10), FakeInformer(widget("a"), widget("b"))
    controller = Controller("stopping", reconciler)
    controller.watch(InformerSource(informer, enqueue_request_for_object))
    async with running(controller) as task:
        await asyncio.sleep(3)
        began = asyncio.get_running_loop().time()
        assert await controller.stop()
        assert asyncio.get_running_loop().time() - began == 7
        assert reconciler.finished == ["a"]
        assert informer.listeners == []
        await task  # it has ended, and has not failed
        assert await controller.stop()  # doing it twice is fine


async def test_a_reconcile_that_does_not_end_in_time_is_cancelled() -> None:
    reconciler = Slow(100)
    controller = Controller("stopping", reconciler)
    controller.watch(Feed("a"))
    async with running(controller) as task:
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        assert not await controller.stop(timeout=5)
        assert asyncio.get_running_loop().time() - began == 5
        await task
        assert reconciler.finished == []
        assert not controller.has_active_work


async def test_a_controller_can_be_stopped_before_it_starts_and_while_its_sources_sync() -> None:
    reconciler = Slow(0)
    early = Controller("early", reconciler)
    early.watch(Feed("a"))
    assert await early.stop()
    await early.start()

    syncing = Controller("syncing", reconciler)
    syncing.watch(InformerSource(FakeInformer(widget("a"), synced=False), enqueue_request_for_object))
    async with running(syncing) as task:
        await asyncio.sleep(1)
        assert await syncing.stop()
        await task
    assert reconciler.finished == []


async def test_a_controller_that_warms_up_leaves_its_sources_when_it_is_stopped() -> None:
    informer = FakeInformer(widget("a"))
    controller = Controller("warm", Slow(0), ControllerOptions(enable_warmup=True))
    controller.watch(InformerSource(informer, enqueue_request_for_object))
    assert controller.warm_up is not None
    warming = asyncio.ensure_future(controller.warm_up())
    await asyncio.sleep(1)
    assert len(informer.listeners) == 1
    assert await controller.stop()
    await warming
    assert informer.listeners == []


async def test_a_reconcile_may_stop_its_own_controller() -> None:
    answers: list[bool] = []

    async def reconcile(request: Request) -> None:
        answers.append(await controller.stop())

    controller = Controller("once", reconcile)
    controller.watch(Feed("a", "b"))
    async with running(controller) as task:
        await task
    assert answers == [False]


async def test_the_manager_and_its_other_controllers_go_on_when_one_is_stopped() -> None:
    stopped, other = Slow(0), Slow(0)
    async with Manager(Cluster.embedded()) as manager:
        controller = ControllerBuilder(manager).for_(ConfigMap).complete(stopped)
        ControllerBuilder(manager).for_(Secret).complete(other)
        await manager.run_until_idle(timeout=60)
        assert await controller.stop(timeout=10)
        await manager.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        await manager.client.create(Secret(metadata=ObjectMeta(name="a", namespace="default")))
        await manager.run_until_idle(timeout=60)
        assert manager.work.statistics("controller.reconcile").finished == 1
    assert (stopped.finished, other.finished) == ([], ["a"])


async def test_a_controller_is_removed_and_another_one_takes_its_name_and_its_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The program of a user who loads and unloads parts of it."""
    first, second = Slow(0), Slow(0)
    async with Manager(Cluster.embedded()) as manager:
        controller = ControllerBuilder(manager).for_(ConfigMap).complete(first)
        await manager.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        await manager.run_until_idle(timeout=60)
        with pytest.raises(InvalidDefinition, match="has a controller 'configmap' already"):
            ControllerBuilder(manager).for_(ConfigMap).complete(second)
        assert await manager.remove(controller, timeout=10)
        informer = manager.cache.informer(ConfigMap)
        assert informer is not None
        assert not informer.has_listeners
        manager.cache.remove_informer(ConfigMap)
        assert manager.cache.informers() == ()
        await manager.client.create(ConfigMap(metadata=ObjectMeta(name="b", namespace="default")))
        await manager.run_until_idle(timeout=60)
        assert manager.cache.informers() == ()
        ControllerBuilder(manager).for_(ConfigMap).complete(second)
        await manager.run_until_idle(timeout=60)
        assert (first.finished, sorted(second.finished)) == (["a"], ["a", "b"])
        with pytest.raises(InvalidDefinition, match="it is not a runnable of this manager"):
            await manager.remove(controller)
        assert not [record for record in caplog.records if record.levelname == "WARNING"]
        manager.cache.remove_informer(ConfigMap)
        assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
            'Informer removed although it has handlers, which get no more events kind="v1, Kind=ConfigMap"'
        ]


async def test_a_runnable_without_a_stop_is_cancelled_when_it_is_removed() -> None:
    ended: list[str] = []

    async def poll() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("poll")

    async with Manager(Cluster.embedded()) as manager:
        manager.add(poll)
        await manager.run_until_idle(timeout=60)
        assert not await manager.remove(poll)
        assert ended == ["poll"]
        await manager.run_until_idle(timeout=60)  # the manager has not failed


async def test_a_controller_that_is_removed_before_the_start_never_runs() -> None:
    removed = Slow(0)
    async with Manager(Cluster.embedded()) as manager:
        controller = ControllerBuilder(manager).for_(ConfigMap).complete(removed)
        assert await manager.remove(controller)
        await manager.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        await manager.run_until_idle(timeout=60)
        assert removed.finished == []
