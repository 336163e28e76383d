"""client-go's metrics of informers."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

import pilotage as pt
from pilotage.errors import StaleCache
from pilotage.telemetry.metrics import REGISTRY
from pilotage.types.core.v1 import ConfigMap

pytestmark = pytest.mark.virtual_time

LABELS = 'name="pilotage",group="",version="v1",resource="configmaps"'


def values(name: str) -> dict[str, float]:
    """The samples of ConfigMaps by their names."""
    lines = [line for line in REGISTRY.render().splitlines() if line.startswith(name) and "configmaps" in line]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


async def test_an_informer_has_the_metrics_of_client_go_while_it_runs() -> None:
    async with pt.Manager(pt.Cluster.embedded("memory:"), pt.ManagerOptions(handle_signals=False)) as manager:

        async def reconcile(request: pt.Request) -> None:
            pass

        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        running = asyncio.create_task(manager.start())
        await asyncio.sleep(1)
        for number in range(32):
            meta = pt.ObjectMeta(name=f"n-{number}", namespace="default")
            made = await manager.cluster.client.create(ConfigMap(metadata=meta))
        await asyncio.sleep(1)
        version = float(made.metadata.resource_version)
        assert values("informer_store_resource_version") == {f"informer_store_resource_version{{{LABELS}}}": version}
        assert values("informer_queued_items") == {f"informer_queued_items{{{LABELS}}}": 0}
        count = f"informer_processing_latency_seconds_count{{{LABELS}}}"
        assert values("informer_processing_latency_seconds")[count] >= 2
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert not values("informer_")


async def test_a_reconcile_that_ends_with_a_stale_cache_is_counted() -> None:
    async def stale(request: pt.Request) -> None:
        raise StaleCache("late", resource="deployments.apps")

    async with pt.Manager(pt.Cluster.embedded("memory:"), pt.ManagerOptions(handle_signals=False)) as manager:
        pt.ControllerBuilder(manager).for_(ConfigMap).named("stale-reads").complete(stale)
        await manager.cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))
        with pytest.raises(pt.NotIdle):
            await manager.run_until_idle(timeout=1)
    wanted = 'stale_sync_skips_total{controller="stale-reads",group="apps",resource="deployments"}'
    (line,) = [line for line in REGISTRY.render().splitlines() if line.startswith(wanted)]
    assert float(line.rpartition(" ")[2]) >= 1
