"""Owns the tasks of a server's connections: no task outlives the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import NamedTuple

from pilotage.telemetry.logs import logger

log = logger("pilotage.net")

Tasks = Collection[asyncio.Task[None]]


class DrainStep(NamedTuple):
    """One step of a shutdown: `action`, and then a wait of at most `seconds`."""

    action: Callable[[], None]
    seconds: float
    tasks: Callable[[], Tasks] | None = None
    """The tasks to wait for; None: those of all connections."""


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
        task.add_done_callback(self._ended)
        return task

    async def drain(self, *steps: DrainStep) -> None:
        """Go through the steps of a shutdown, then cancel what is left. A caller that is cancelled skips the steps."""
        try:
            for step in steps:
                step.action()
                tasks = self._tasks if step.tasks is None else step.tasks()
                if tasks:
                    await asyncio.wait(tasks, timeout=step.seconds)
        finally:
            for task in self._tasks:
                task.cancel()
            while self._tasks:
                await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._on_end()
        if task.cancelled():
            return
        try:
            task.result()
        except Exception:
            log.exception("Connection task failed", task=task.get_name())
