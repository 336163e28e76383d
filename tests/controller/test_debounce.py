from __future__ import annotations

import asyncio

import pytest

import pilotage as pt
from pilotage.controller.debounce import Debounce, Debouncer
from pilotage.controller.request import Request
from pilotage.types.core.v1 import ConfigMap, Secret
from pilotage.workqueue import WorkQueue

pytestmark = pytest.mark.virtual_time


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"), data=data)


async def test_a_burst_is_one_reconcile_after_the_quiet_time() -> None:
    at: list[float] = []
    loop = asyncio.get_running_loop()
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        client = manager.cluster.client
        await client.create(config_map("a"))

        async def reconcile(request: pt.Request) -> None:
            at.append(loop.time())

        options = pt.ControllerOptions(debounce=pt.controller.Debounce(quiet=0.5, maximum=5))
        pt.ControllerBuilder(manager).for_(ConfigMap).with_options(options).complete(reconcile)
        await manager.run_until_idle()
        assert len(at) == 1  # an object of the initial list does not wait
        assert loop.time() < 0.1
        begun = loop.time()
        for number in range(10):
            await client.patch(config_map("a"), {"data": {"n": str(number)}})
            await asyncio.sleep(0.2)
        await manager.run_until_idle()  # waits for what is debounced
        assert [round(time - begun, 1) for time in at[1:]] == [2.3]  # 0.5 s after the last event, which was at 1.8 s


async def test_a_constant_stream_is_reconciled_after_the_maximum() -> None:
    queue: WorkQueue[Request] = WorkQueue()
    debouncer = Debouncer(Debounce(quiet=1, maximum=5))
    loop = asyncio.get_running_loop()
    taken: list[float] = []

    async def work() -> None:
        while True:
            async with queue.take():
                taken.append(round(loop.time(), 1))

    working = asyncio.ensure_future(work())
    for _ in range(40):
        debouncer.add(queue, Request("a"), 0)
        await asyncio.sleep(0.3)
    await asyncio.sleep(10)
    working.cancel()
    assert taken == [5.0, 10.1, 12.7]  # the second wait began with the event at 5.1 s; the last event was at 11.7 s
    assert len(debouncer) == 0


async def test_events_of_all_kinds_of_a_controller_count_together() -> None:
    seen: list[str] = []
    async with pt.Manager(pt.Cluster.embedded()) as manager:

        async def reconcile(request: pt.Request) -> None:
            seen.append(str(request))

        options = pt.ControllerOptions(debounce=pt.controller.Debounce(1))
        (
            pt.ControllerBuilder(manager)
            .for_(ConfigMap)
            .watches(Secret, pt.enqueue_request_for_object)
            .with_options(options)
            .complete(reconcile)
        )
        await manager.run_until_idle()
        await manager.client.create(config_map("a"))
        await asyncio.sleep(0.9)
        await manager.client.create(Secret(metadata=pt.ObjectMeta(name="a", namespace="default")))
        await manager.run_until_idle()
        assert seen == ["default/a"]


async def test_each_request_waits_for_itself_and_gets_the_highest_priority() -> None:
    queue: WorkQueue[Request] = WorkQueue()
    debouncer = Debouncer(Debounce(1))
    debouncer.add(queue, Request("a"), -100)
    debouncer.add(queue, Request("a"), 5)
    await asyncio.sleep(0.6)
    debouncer.add(queue, Request("b"), 0)
    await asyncio.sleep(0.5)
    async with queue.take() as request:
        assert request == Request("a")
        assert queue.priority_of(request) == 5
    assert len(debouncer) == 1
    debouncer.close()
    await asyncio.sleep(5)
    assert len(queue) == 0


async def test_a_channel_may_be_debounced_and_reports_what_waits() -> None:
    seen: list[str] = []
    events: asyncio.Queue[ConfigMap] = asyncio.Queue()
    async with pt.Manager(pt.Cluster.embedded()) as manager:

        async def reconcile(request: pt.Request) -> None:
            seen.append(request.name)

        source = pt.Channel(events, pt.enqueue_request_for_object, debounce=pt.controller.Debounce(60))
        pt.ControllerBuilder(manager).named("x").watches_raw_source(source).complete(reconcile)
        await manager.run_until_idle()
        for _ in range(3):
            events.put_nowait(config_map("a"))
        with pytest.raises(pt.NotIdle, match="1 request in a debounce period"):
            await manager.run_until_idle(10)
        await manager.run_until_idle()
        assert seen == ["a"]


@pytest.mark.parametrize(
    ("quiet", "maximum", "message"),
    [
        (0, None, "quiet=0: .* more than 0"),
        (-1, None, "quiet=-1: .* more than 0"),
        (2, 1, "must not be less than quiet"),
    ],
)
def test_times_that_cannot_work_are_refused(quiet: float, maximum: float | None, message: str) -> None:
    with pytest.raises(pt.InvalidDefinition, match=message):
        Debounce(quiet, maximum)
