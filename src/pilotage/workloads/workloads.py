"""Simulated workloads: the controllers on a manager of their own, beside the program."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random
from types import TracebackType

from pilotage.cluster.cachedclient import CachedClient
from pilotage.cluster.cluster import Cluster
from pilotage.errors import InvalidDefinition
from pilotage.history.options import HistoryOptions
from pilotage.manager.manager import Manager
from pilotage.manager.options import ControllerDefaults, ManagerOptions
from pilotage.types.core.v1 import Pod
from pilotage.workloads import controllers
from pilotage.workloads.context import Context
from pilotage.workloads.nodes.simulated import SimulatedNodes
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.pods.index import Pods


class Workloads:
    """The controllers of kube-controller-manager, a scheduler and simulated nodes on a cluster, inside `async with`.

    The cluster must be open. They have clients and caches of their own, so the program does not see their calls.
    """

    def __init__(self, cluster: Cluster, options: WorkloadOptions | None = None) -> None:
        self.options = options if options is not None else WorkloadOptions()
        controllers.chosen(self.options.controllers)  # raises here, where the options are given
        self._cluster = cluster
        self._exits = AsyncExitStack()
        self._manager: Manager | None = None

    @property
    def manager(self) -> Manager:
        """The manager of the controllers."""
        if self._manager is None:
            raise InvalidDefinition("the workloads are not running: use them inside `async with`")
        return self._manager

    async def __aenter__(self) -> Workloads:
        async with AsyncExitStack() as exits:
            options = ManagerOptions(
                handle_signals=False,
                history=HistoryOptions(enabled=False),
                controller=ControllerDefaults(skip_name_validation=True),
            )
            manager = await exits.enter_async_context(Manager(self._cluster.sibling(), options))
            await self._set_up(manager)
            task = asyncio.get_running_loop().create_task(manager.start(), name="workloads")
            exits.push_async_callback(_stopped, task)
            await manager.ready()
            self._manager = manager
            self._exits = exits.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._manager = None
        await self._exits.aclose()

    async def _set_up(self, manager: Manager) -> None:
        client = manager.client
        assert isinstance(client, CachedClient)
        pods = Pods(client)
        informer = await manager.cache.informer_for(Pod)
        informer.add_event_handler(pods.note)
        random = Random(self.options.seed)  # noqa: S311 - reproducible, and no secret
        controllers.set_up(Context(manager, self.options, pods, SimulatedNodes(manager.clock), random))


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
