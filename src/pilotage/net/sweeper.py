"""One timer for the deadlines of all connections, so that setting a deadline costs a connection nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_SHORTEST_INTERVAL = 0.005
_LONGEST_INTERVAL = 1.0


class Sweeper:
    """Calls `sweep(now)` at intervals after `start`, until it returns False: nothing is left to check.

    A server without connections has no timer, so that an idle process is not woken up.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, interval: float, sweep: Callable[[float], bool]) -> None:
        self._loop = loop
        self._interval = interval
        self._sweep = sweep
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the timer unless it runs."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._interval, self._run)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._timer = None
        if self._sweep(self._loop.time()):
            self.start()


def sweep_interval(*deadlines: float) -> float:
    """A quarter of the shortest of these deadlines, so that none is noticed late by much; at most a second."""
    return min(_LONGEST_INTERVAL, max(_SHORTEST_INTERVAL, min(deadlines) / 4))
