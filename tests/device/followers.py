"""Informers of GPUs that record every version they received."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from pilotage.cache import Informer, InformerOptions
from pilotage.cache.event import InformerEvent
from pilotage.device.client.gpus import GPUs
from pilotage.device.v1alpha1 import GPU


class Follower:
    """An informer, and the events that it delivered."""

    def __init__(self, gpus: GPUs) -> None:
        self.informer: Informer[GPU] = Informer(gpus, InformerOptions(GPU))
        self.informer.add_event_handler(self._heard)
        self.versions: list[int] = []
        """Of every event after the first list, in the order of delivery."""
        self._changed = asyncio.Event()

    def _heard(self, event: InformerEvent[GPU]) -> None:
        if event.new_header is not None and not event.is_in_initial_list:
            self.versions.append(int(event.new_header.resource_version))
        self._changed.set()

    async def until(self, holds: Callable[[], bool], *, within: float = 20.0) -> None:
        """Wait until something holds that a change may bring about; raises TimeoutError."""
        async with asyncio.timeout(within):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    def reached(self, version: int) -> bool:
        """Whether it has received an event of this version or a later one."""
        return bool(self.versions) and self.versions[-1] >= version

    def state(self) -> dict[str, str]:
        """The versions that are kept, by name."""
        return {gpu.metadata.name: gpu.metadata.resource_version for gpu in self.informer.list()}

    def ready(self, name: str) -> str:
        """The status of a GPU's condition Ready, as last heard of."""
        found = self.informer.find(name)
        conditions = found.status.conditions if found is not None else []
        return next((condition.status for condition in conditions if condition.type == "Ready"), "")


async def each(followers: list[Follower], holds: Callable[[Follower], bool], *, within: float = 20.0) -> None:
    """Wait until something holds for every one of them; raises TimeoutError."""
    async with asyncio.timeout(within):
        for follower in followers:
            await follower.until(partial(holds, follower), within=within)


@asynccontextmanager
async def following(*sources: GPUs) -> AsyncIterator[list[Follower]]:
    """A follower of each, all of them synced."""
    followers = [Follower(source) for source in sources]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follower.informer.run()) for follower in followers]
        async with asyncio.timeout(60):
            for follower in followers:
                await follower.informer.wait_for_sync()
        yield followers
        for task in tasks:
            task.cancel()
