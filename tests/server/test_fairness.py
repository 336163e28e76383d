"""A caller that never waits does not block other tasks, even with storage in memory."""

from __future__ import annotations

import asyncio

import pytest

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap


@pytest.mark.virtual_time
async def test_a_tight_loop_of_writes_lets_a_reconciler_run_meanwhile() -> None:
    seen: list[str] = []
    stop = asyncio.Event()

    async def reconcile(request: pt.Request) -> pt.Result:
        seen.append(request.name)
        stop.set()
        return pt.Result()

    cluster = pt.Cluster.embedded("memory:")
    async with pt.Manager(cluster, pt.ManagerOptions(handle_signals=False)) as manager:
        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        await manager.run_until_idle(timeout=10)
        held = await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))
        writes = 0
        while not stop.is_set():
            writes += 1
            assert writes < 5_000, "no reconcile ran while somebody wrote"
            await cluster.client.patch(held, {"data": {"n": str(writes)}})
    assert seen == ["a"] * len(seen)
