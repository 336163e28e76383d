"""An event loop for tests on a remote API server: long waits are skipped while nothing happens.

Sockets and threads work, and time passes as it does elsewhere. But when the next timer is more than half a second away,
no request is in flight, and nothing has come from the server for a moment, the time jumps to that timer. So a test may
wait for hours, and timeouts and retries of seconds happen in real time.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, TypeVarTuple

from pilotage.testing.runningthreads import RunningThreads

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SHORT = 0.5
"""Seconds of a wait that is never skipped."""
QUIET = 0.05
"""Seconds of silence after which a longer wait is skipped: an API server sends the event of a write sooner."""


class RemoteLoop(asyncio.SelectorEventLoop):
    """The loop. `is_busy` returns whether work is in progress that no socket shows."""

    def __init__(self) -> None:
        super().__init__(_Selector(self._wait))
        self.is_busy: Callable[[], bool] = bool
        self._skipped = 0.0
        self._functions = 0
        self._threads = RunningThreads()
        self.run_thread, self.on_thread_wait = self._threads.run, self._threads.on_wait
        """For threads that no wait is skipped for until they end or wait for the loop; see `pilotage.threads`."""

    def time(self) -> float:
        """Seconds of the machine's clock, and those that were skipped."""
        return time.monotonic() + self._skipped

    def now(self) -> datetime:
        """The wall clock, with the time that was skipped."""
        return datetime.now(UTC) + timedelta(seconds=self._skipped)

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        future: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        self._functions += 1
        future.add_done_callback(self._on_function_end)
        return future

    def _on_function_end(self, future: asyncio.Future[Any]) -> None:
        self._functions -= 1

    def _wait(self, select: Callable[[float | None], list[Any]], timeout: float | None) -> list[Any]:
        if timeout is None or timeout <= SHORT:
            return select(timeout)
        began = time.monotonic()
        events = select(QUIET)
        if events or self._functions or self._threads.any_running or self.is_busy():
            return events  # the loop calls again with the time that is left
        self._skipped += timeout - (time.monotonic() - began)
        return []


class _Selector(selectors.BaseSelector):
    """The selector of the platform, with another way to wait."""

    def __init__(self, wait: Callable[[Callable[[float | None], list[Any]], float | None], list[Any]]) -> None:
        self._inner = selectors.DefaultSelector()
        self._wait = wait

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._wait(self._inner.select, timeout)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def close(self) -> None:
        self._inner.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()
