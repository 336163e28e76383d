"""Reconcilers that trigger themselves are reported; load and steps that converge are not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from pilotage.client import Client
from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Request, Result
from pilotage.controller.hotloops import IN_A_ROW
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap, Event

from .fakes import metric

pytestmark = pytest.mark.virtual_time

KEY = Request("a", "default")

Function = Callable[[Client, Request], Awaitable[Result | None]]


@asynccontextmanager
async def started(controllers: dict[str, Function]) -> AsyncIterator[Client]:
    """A manager that runs, with a controller of ConfigMaps for each function; yields the client of another program."""
    options = ManagerOptions(metrics_bind_address="0", handle_signals=False)
    async with Cluster.embedded() as cluster, Manager(cluster, options) as manager:
        for name, function in controllers.items():
            ControllerBuilder(manager).for_(ConfigMap).named(name).complete(only_key(manager.client, function))
        running = asyncio.create_task(manager.start())
        try:
            await asyncio.sleep(1)
            yield cluster.client
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def only_key(client: Client, function: Function) -> Callable[[Request], Awaitable[Result | None]]:
    async def reconcile(request: Request) -> Result | None:
        return await function(client, request) if request == KEY else None

    return reconcile


def made() -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=KEY.name, namespace=KEY.namespace))


async def count_up(client: Client, key: str, most: int = 10**9) -> None:
    """Write the next number, until it is `most`."""
    found = await client.get(ConfigMap, KEY)
    number = int(found.data.get(key, "0"))
    if number < most:
        await client.patch(found, {"data": {key: str(number + 1)}})


def reports(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(record.msg) for record in caplog.records if record.getMessage().startswith("Hot loop")]


async def test_a_reconciler_that_triggers_itself_is_a_log_line_an_event_and_a_metric(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def loops(client: Client, _: Request) -> None:
        await asyncio.sleep(0.01)
        await count_up(client, "n")

    async with started({"hot": loops}) as other:
        await other.create(made())
        await asyncio.sleep(20)
        assert metric("pilotage_hot_loops", controller="hot") == 1
        (event,) = [one for one in await other.list(Event, namespace="default") if one.reason == "HotLoop"]
    sentence = (
        f"default/a was reconciled {IN_A_ROW} times in a row because of the writes of reconciles; the last write of "
        f"its reconcile was: patch ConfigMap default/a: data.n: '{IN_A_ROW}' → '{IN_A_ROW + 1}'; "
    )
    assert event.message is not None
    assert event.message.startswith(sentence)
    assert event.message.endswith(
        "a reconcile that changes a watched object at each run triggers itself: write only differences"
    )
    assert (event.type, event.involved_object.name, event.involved_object.uid != "") == ("Warning", "a", True)
    (line,) = reports(caplog)  # of some 2,000 reconciles
    assert sentence in line


async def test_a_hot_loop_that_goes_on_is_reported_again_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    async def loops(client: Client, _: Request) -> None:
        await asyncio.sleep(0.5)
        await count_up(client, "n")

    async with started({"long": loops}) as other:
        await other.create(made())
        await asyncio.sleep(500)
    assert len(reports(caplog)) == 2


async def test_controllers_that_trigger_each_other_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    def writes(value: str) -> Function:
        async def reconcile(client: Client, _: Request) -> None:
            await asyncio.sleep(0.01)
            found = await client.get(ConfigMap, KEY)
            if found.data.get("x") != value:
                await client.patch(found, {"data": {"x": value}})

        return reconcile

    async with started({"first": writes("1"), "second": writes("2")}) as other:
        await other.create(made())
        await asyncio.sleep(20)
    lines = reports(caplog)
    assert {line.partition("controller=")[2].split()[0] for line in lines} == {"first", "second"}
    last, caused = (
        "the last write of its reconcile was: patch ConfigMap default/a",
        "caused it: patch ConfigMap default/a",
    )
    assert any(f"{last}: data.x: '2' → '1'; controller second {caused}: data.x: '1' → '2'; " in line for line in lines)
    assert any(f"{last}: data.x: '1' → '2'; controller first {caused}: data.x: '2' → '1'; " in line for line in lines)


async def test_own_writes_that_converge_are_not_a_hot_loop(caplog: pytest.LogCaptureFixture) -> None:
    async def converges(client: Client, _: Request) -> None:
        await count_up(client, "n", most=IN_A_ROW - 1)

    async with started({"converging": converges}) as other:
        await other.create(made())
        await asyncio.sleep(20)
        assert (await other.get(ConfigMap, KEY)).data == {"n": str(IN_A_ROW - 1)}
    assert not reports(caplog)


async def test_many_changes_by_other_programs_are_not_a_hot_loop(caplog: pytest.LogCaptureFixture) -> None:
    reconciles = 0

    async def observes(client: Client, _: Request) -> None:
        nonlocal reconciles
        reconciles += 1
        found = await client.get(ConfigMap, KEY)
        if found.data.get("seen") != found.data.get("n"):
            await client.patch(found, {"data": {"seen": found.data.get("n")}})

    async with started({"loaded": observes}) as other:
        await other.create(made())
        for _ in range(3 * IN_A_ROW):
            await count_up(other, "n")
            await asyncio.sleep(0.01)
    assert reconciles >= 3 * IN_A_ROW
    assert not reports(caplog)


async def test_a_reconciler_that_is_due_again_by_its_own_wish_is_not_a_hot_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def polls(client: Client, _: Request) -> Result:
        await client.patch(ConfigMap, {"data": {}}, name=KEY.name, namespace=KEY.namespace)
        return Result(requeue_after=0.01)

    async with started({"polling": polls}) as other:
        await other.create(made())
        await asyncio.sleep(20)
    assert not reports(caplog)
