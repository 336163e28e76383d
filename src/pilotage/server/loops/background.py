"""Runs the background loops of the server: termination, garbage collection, aggregated roles, history, Events, storage.

They read the storage's log; none of them is a controller, and no single request depends on them. Several processes on
one storage may all run them: every step is conditional and may be done twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from pilotage.errors import Compacted, StorageError
from pilotage.server import controllers
from pilotage.server.context import RegistryContext
from pilotage.server.loops.garbage.collection import Collector
from pilotage.server.loops.progress import LogLoop, Note
from pilotage.server.loops.rounds import HistoryCompaction, check_storage
from pilotage.server.loops.termination import Terminator
from pilotage.tasks import loop_is_ending
from pilotage.telemetry.logs import logger

_RETRY_SECONDS = 1.0
_log = logger("pilotage.server")


class BackgroundLoops:
    """Owns the loops: they run from the beginning of the block to its end, and a loop that fails is restarted."""

    def __init__(self, context: RegistryContext, note: Note) -> None:
        self._context = context
        of_kinds = context.kinds.loops(context, note)
        self._loops: list[LogLoop] = [Terminator(context, note), *of_kinds.logs]
        self._others = of_kinds.others
        if controllers.GARBAGE_COLLECTOR in context.controllers:
            self._loops.append(Collector(context, note))
        self._tasks: list[asyncio.Task[None]] = []
        self._is_closing = False

    async def __aenter__(self) -> BackgroundLoops:
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            **{loop.name: loop.run for loop in self._loops},
            "history": HistoryCompaction(self._context).run,
            "storage": lambda: check_storage(self._context),
            **self._others,
        }
        for loop in self._loops:
            await loop.prepare()
        self._tasks = [asyncio.create_task(self._supervise(name, run), name=name) for name, run in loops.items()]
        return self

    def busy(self) -> list[str]:
        """The work that the writes so far have caused and that is not finished, as sentences; empty if there is
        none."""
        return [loop.busy() for loop in self._loops if not loop.idle]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _supervise(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        failures = _LoopFailures(name)
        while True:
            try:
                with failures.attempt():
                    await loop()
            except Compacted:
                continue  # compacted past the reader: start again from the current state
            except Exception as error:
                failures.log(error)
            except asyncio.CancelledError:
                if self._is_closing or loop_is_ending():
                    raise
                _log.error("Background loop was cancelled by other code, starting it again", loop=name)
            await asyncio.sleep(_RETRY_SECONDS)


class _LoopFailures:
    """Logs when a loop begins to fail, and when it has recovered; the retries between are for debugging."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._logged = ""

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """A run of the loop: it has recovered when it has run for longer than the time to a retry."""
        recovery = asyncio.get_running_loop().call_later(2 * _RETRY_SECONDS, self._recover)
        try:
            yield
        finally:
            recovery.cancel()

    def log(self, error: Exception) -> None:
        """Log a failure; one that is not of the storage has its traceback."""
        text = f"{type(error).__name__}: {error}"
        if text == self._logged:
            log = _log.debug
        else:
            log = _log.warning if isinstance(error, StorageError) else _log.exception
        self._logged = text
        log("Background loop failed, retrying", loop=self._name, seconds=_RETRY_SECONDS, error=error)

    def _recover(self) -> None:
        if self._logged:
            _log.info("Background loop runs again", loop=self._name)
        self._logged = ""
