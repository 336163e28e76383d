"""The supervisor: a thread with its own event loop, for tasks that must run while the program's loop is blocked.

It renews the leader lease, answers the health probes, and runs the watchdog that detects a blocked loop. No code of the
program itself runs in it, so reconcilers need no locks.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

from pilotage.errors import PilotageError
from pilotage.telemetry.logs import logger

T = TypeVar("T")

THREAD_NAME = "pilotage supervisor"

STOP_SECONDS = 5.0
"""How long `stop` waits for the thread. A host name lookup, for example, cannot be cancelled."""

log = logger("pilotage.manager")


class SupervisorEnded(PilotageError):
    """The supervisor thread has ended."""


def has_threads(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a loop works with threads. A loop with virtual time, which has a clock of its own (`now`), does not."""
    return not hasattr(loop, "now")


class Supervisor:
    """One thread, from `start` to `stop`. Both are called on the program's loop."""

    def __init__(self) -> None:
        # A daemon: a lookup that hangs in it must not keep the interpreter from ending.
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._begun = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stop_asked: asyncio.Event

    def start(self) -> None:
        self._thread.start()
        # The loop exists only once the thread runs, and callers submit to it at once.
        self._begun.wait()

    def stop(self) -> None:
        """Cancel the tasks of the thread, and wait for its end."""
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._stop_asked.set)
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            log.warning("Supervisor thread did not end, no longer waiting for it; a host name lookup may hang")

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the supervisor's loop, and wait for it on the caller's. A cancellation is passed on, and
        the end of the coroutine is waited for."""
        job = _Job(coroutine, asyncio.get_running_loop())
        self._submit(job.begin, coroutine)
        try:
            await asyncio.wait([job.ended])
        except asyncio.CancelledError:
            self._submit(job.cancel)
            await asyncio.wait([job.ended])
            raise
        return job.ended.result()

    def run_threadsafe(self, coroutine: Coroutine[Any, Any, T]) -> T | None:
        """Run a coroutine on the supervisor's loop, and block the calling thread until it ends; for threads without a
        loop. None if the supervisor has ended, or if it takes longer than `STOP_SECONDS`."""
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(STOP_SECONDS)
        except RuntimeError:
            coroutine.close()
            return None
        except TimeoutError:
            return None

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine on the supervisor's loop until the thread ends."""
        self._submit(lambda: self._tasks.add(self._loop.create_task(coroutine, name="supervisor")), coroutine)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function in the supervisor's thread; the returned function cancels the call."""
        timers: list[asyncio.TimerHandle] = []
        self._submit(lambda: timers.append(self._loop.call_later(seconds, callback)))

        def cancel() -> None:
            for timer in timers:
                timer.cancel()

        return lambda: self._submit(cancel)

    def _submit(self, callback: Callable[[], object], coroutine: Coroutine[Any, Any, Any] | None = None) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError as error:
            if coroutine is not None:
                coroutine.close()
            raise SupervisorEnded("the manager has ended, and its supervisor thread with it") from error

    def _run(self) -> None:
        with asyncio.Runner() as runner:  # cancels the remaining tasks at its end
            runner.run(self._wait())

    async def _wait(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself keeps only weak references
        self._begun.set()
        await self._stop_asked.wait()


class _Job(Generic[T]):
    """A coroutine on one loop, and the future that another loop awaits."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], waiting: asyncio.AbstractEventLoop) -> None:
        self._coroutine = coroutine
        self._waiting = waiting
        self._task: asyncio.Task[T] | None = None
        self.ended: asyncio.Future[T] = waiting.create_future()

    def begin(self) -> None:
        name = f"supervisor: {getattr(self._coroutine, '__qualname__', 'coroutine')}"
        self._task = asyncio.get_running_loop().create_task(self._coroutine, name=name)
        self._task.add_done_callback(self._report)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _report(self, task: asyncio.Task[T]) -> None:
        with suppress(RuntimeError):  # the other loop is closed: nothing waits
            self._waiting.call_soon_threadsafe(self._end, task)

    def _end(self, task: asyncio.Task[T]) -> None:
        if self.ended.done():
            return
        if task.cancelled():
            self.ended.cancel()
        elif (error := task.exception()) is not None:
            self.ended.set_exception(error)
            self.ended.exception()  # without a waiter asyncio would log it
        else:
            self.ended.set_result(task.result())
