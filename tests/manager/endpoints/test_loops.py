"""`pilotage why` of an object whose reconciles trigger themselves."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

import pilotage as pt
from pilotage.history.why.reasons import reasons
from pilotage.history.why.situation import HistoryState, Situation
from pilotage.types.core.v1 import ConfigMap

pytestmark = pytest.mark.virtual_time


async def test_a_loop_is_named_with_its_length_and_the_field_that_it_writes() -> None:
    async with pt.Manager(pt.Cluster.embedded("memory:"), pt.ManagerOptions(handle_signals=False)) as manager:

        async def counts(request: pt.Request) -> None:
            await asyncio.sleep(0.1)
            found = await manager.client.get(ConfigMap, request)
            number = int(found.data.get("n", "0"))
            if number < 30:
                await manager.client.patch(found, {"data": {"n": str(number + 1)}})

        pt.ControllerBuilder(manager).for_(ConfigMap).complete(counts)
        running = asyncio.create_task(manager.start())
        await asyncio.sleep(1)
        await manager.cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))
        await asyncio.sleep(2.7)
        latest = manager.history.reconciles(ConfigMap, "a", namespace="default")
        loop = next(each for each in reversed(latest) if each.writes)
        assert loop.in_a_row >= 20
        situation = Situation(kind="ConfigMap", name="a", now=manager.clock(), history=HistoryState(loop=loop))
        (found,) = [reason for reason in reasons(situation) if reason.code == "hot-loop"]
        assert (
            f"{loop.in_a_row} times in a row until #{loop.number}, which wrote patch ConfigMap default/a: data.n: '"
            in (found.text)
        )
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
