"""`pilotage serve` started again: clients that were running go on, with the kubeconfig that they have."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Request, Result
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.models import ObjectMeta
from pilotage.types.core.v1 import ConfigMap

from .processes import serving

KEPT = [["--storage", "sqlite:state.db"], ["--storage", "memory:", "--credentials", "credentials"]]


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


class Reconciled:
    """A reconciler that records the names of its requests, each with an event to wait for."""

    def __init__(self) -> None:
        self._names: dict[str, asyncio.Event] = {}

    async def reconcile(self, request: Request) -> Result:
        self._event(request.name).set()
        return Result()

    async def name(self, name: str) -> None:
        async with asyncio.timeout(60):
            await self._event(name).wait()

    def _event(self, name: str) -> asyncio.Event:
        return self._names.setdefault(name, asyncio.Event())


@asynccontextmanager
async def operator(kubeconfig: Path) -> AsyncIterator[Reconciled]:
    """An operator on the cluster that the kubeconfig names."""
    options = ManagerOptions(handle_signals=False, metrics_bind_address="0", health_probe_bind_address="0")
    async with Manager(Cluster.connect(kubeconfig=str(kubeconfig)), options) as manager:
        reconciled = Reconciled()
        ControllerBuilder(manager).for_(ConfigMap).complete(reconciled)
        running = asyncio.create_task(manager.start())
        yield reconciled
        running.cancel()
        await asyncio.wait([running])


@pytest.mark.parametrize("options", KEPT, ids=["sqlite", "memory"])
async def test_an_operator_that_runs_goes_on_after_a_restart(tmp_path: Path, options: list[str]) -> None:
    async with AsyncExitStack() as exits:
        with serving(tmp_path, *options) as first:
            first.kubeconfig.rename(tmp_path / "config")
            reconciled = await exits.enter_async_context(operator(tmp_path / "config"))
            async with Cluster.connect(kubeconfig=str(tmp_path / "config")) as cluster:
                for number in range(20):  # so that a server that counts from 1 again is behind
                    await cluster.client.create(config_map(f"before-{number}"))
            await reconciled.name("before-19")
        with serving(tmp_path, *options, bind=first.bind) as second:
            async with Cluster.connect(kubeconfig=str(tmp_path / "config")) as cluster:
                await cluster.client.create(config_map("after"))
            await reconciled.name("after")
            assert second.kubeconfig.read_text() == (tmp_path / "config").read_text()
            await exits.aclose()
