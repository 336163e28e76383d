"""Owns the tasks of a server's connections: no task outlives the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager

from pilotage.telemetry.logs import logger

log = logger("pilotage.net")


class ConnectionTasks:
    """A task for each connection. `on_end` is called after one has ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, on_end: Callable[[], None] = lambda: None) -> None:
        self._loop = loop
        self._on_end = on_end
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, serving: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = self._loop.create_task(serving, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    @asynccontextmanager
    async def draining(self) -> AsyncIterator[None]:
        """The block of a shutdown. At its end, also if it is cancelled, the tasks that are left are cancelled."""
        try:
            yield
        finally:
            for task in self._tasks:
                task.cancel()
            while self._tasks:
                await asyncio.wait(self._tasks)

    async def wait(self, seconds: float) -> None:
        """Wait for the end of all connections, at most `seconds`."""
        await wait(self._tasks, seconds)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._on_end()
        if task.cancelled():
            return
        try:
            task.result()
        except Exception:
            log.exception("Connection task failed", task=task.get_name())


async def wait(tasks: Collection[asyncio.Task[None]], seconds: float) -> None:
    """Wait for the end of tasks, if there are any, at most `seconds`."""
    if tasks:
        await asyncio.wait(tasks, timeout=seconds)
