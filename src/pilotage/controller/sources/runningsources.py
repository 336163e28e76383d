"""The running sources of a controller: started once, together, and run until the controller ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pilotage.controller.request import Request
from pilotage.controller.sources.sources import Kind, Source
from pilotage.errors import PilotageError
from pilotage.tasks import OwnedTasks
from pilotage.telemetry.logs import Logger
from pilotage.workqueue import WorkQueue

_PERMISSION_SECONDS = 10.0
"""The minimum interval between two checks of a source that waits for a permission."""


class CacheSyncTimeout(PilotageError, TimeoutError):
    """A source did not start, or was not synced, within `cache_sync_timeout`."""


class _Stopped(Exception):
    """Ends the task group of the sources; never raised to a caller."""


class RunningSources:
    """Sources that run while `run` runs, and add their requests to `queue`. One that is added later starts at once."""

    def __init__(self, queue: WorkQueue[Request], timeout: float, log: Logger) -> None:
        self._queue = queue
        self._timeout = timeout
        self._log = log
        self._sources: list[Source] = []
        self._tasks: asyncio.TaskGroup | None = None
        self._synced: asyncio.Future[None] | None = None
        self._ready: set[Source] = set()
        self._stop_asked = asyncio.Event()

    def add(self, source: Source) -> None:
        self._sources.append(source)
        if self._tasks is not None:
            self._tasks.create_task(self._start(source, self._tasks), name=f"start of {source}")

    @property
    def kinds(self) -> list[Kind]:
        """The sources that read from a cache."""
        return [source for source in self._sources if isinstance(source, Kind)]

    def claim(self) -> bool:
        """Whether the caller is the first one, which must call `run`."""
        if self._synced is not None:
            return False
        self._synced = asyncio.get_running_loop().create_future()
        return True

    async def run(self) -> None:
        """Start the sources and keep them until cancelled or stopped. An error before they are synced is raised by
        `wait_for_sync`."""
        assert self._synced is not None  # the caller has claimed it
        try:
            async with OwnedTasks() as tasks:
                self._tasks = tasks
                tasks.create_task(self._sync(tasks, self._synced), name="start of the sources")
                try:
                    await self._stop_asked.wait()
                finally:
                    self._tasks = None
                raise _Stopped
        except BaseExceptionGroup as several:
            self._end(several.exceptions[0])
        finally:
            for source in self._sources:
                source.stop()
            self._synced.cancel()

    def stop(self) -> None:
        """End `run`. `wait_for_sync` then returns normally."""
        self._stop_asked.set()

    async def wait_for_sync(self) -> None:
        """Wait until all sources that were added before the start are synced. Raises the error of a source."""
        assert self._synced is not None  # a caller has claimed it
        await asyncio.shield(self._synced)

    @property
    def has_synced(self) -> bool:
        """Whether the sources have started, and the objects that existed then are on the queue."""
        return self._synced is not None and self._synced.done()

    def idle(self, horizon: float) -> bool:
        """Whether all events of the sources are on the queue."""
        synced = self._synced is not None and self._synced.done()
        return synced and all(source.idle(horizon) for source in self._sources)

    def busy(self, horizon: float) -> list[str]:
        """Why the sources are not idle, as sentences."""
        if self._synced is None:
            return ["it has not started"]
        if not self._synced.done():
            unsynced = [source for source in self._sources if source not in self._ready]
            shown = [f"{source} ({reason})" if (reason := source.waits_for) else str(source) for source in unsynced]
            return [f"it has not started: it waits for {', '.join(shown) or 'its sources'} to sync"]
        return [f"{source}: {found}" for source in self._sources if (found := source.busy(horizon))]

    def _end(self, error: BaseException) -> None:
        """Report the end of the sources: they were stopped, or one has failed."""
        assert self._synced is not None
        if isinstance(error, _Stopped):
            if not self._synced.done():
                self._synced.set_result(None)
            return
        if self._synced.done():
            raise error from None
        self._synced.set_exception(error)
        self._synced.exception()  # marks it as retrieved: without a waiter asyncio would log it

    async def _sync(self, tasks: asyncio.TaskGroup, synced: asyncio.Future[None]) -> None:
        await self._start_all(tasks)
        synced.set_result(None)

    async def _start_all(self, tasks: asyncio.TaskGroup) -> None:
        starting = [
            tasks.create_task(self._start(source, tasks), name=f"start of {source}") for source in self._sources
        ]
        if starting:
            await asyncio.wait(starting)
            for started in starting:
                started.result()

    async def _start(self, source: Source, tasks: asyncio.TaskGroup) -> None:
        self._log.info("Starting EventSource", source=str(source))
        deadline = asyncio.get_running_loop().time() + self._timeout
        await self._wait_until(
            source.start(self._queue, tasks),
            deadline,
            lambda: f"{source} to start: its start must not block; long work belongs in a task of its group",
        )
        await self._sync_one(source, deadline)
        self._ready.add(source)

    async def _sync_one(self, source: Source, deadline: float) -> None:
        while True:
            try:
                await self._wait_until(source.wait_for_sync(), deadline, lambda: _sync_of(source))
            except CacheSyncTimeout:
                if source.missing_permission is None:
                    raise
                # It is logged and fails readiness, and a restart would not help: the source starts when the permission
                # is granted.
                deadline += max(self._timeout, _PERMISSION_SECONDS)
            else:
                return

    async def _wait_until(self, awaitable: Awaitable[None], deadline: float, what: Callable[[], str]) -> None:
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                await awaitable
        except TimeoutError:
            if not limit.expired():
                raise
            raise CacheSyncTimeout(
                f"timed out after the cache_sync_timeout of {self._timeout:g} s waiting for {what()}"
            ) from None


def _sync_of(source: Source) -> str:
    reason = source.waits_for
    return f"{source} to sync" + (
        f": {reason}" if reason else "; check that its kind is served, and that this program may list and watch it"
    )
