"""The queue of one user's connections: they are processed in turn, within the user's share of CPU time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilotage.net.cpushare import CPUShare

Turn = Callable[[], object]
_OVERHEAD = 50e-6  # seconds of a turn outside the measured part: the loop's wake-up, the read, a timer


class FairQueue:
    """A queue with one timer: a connection that waits costs nothing until its turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop, share: CPUShare) -> None:
        self._loop = loop
        self._share = share
        self._waiting: dict[Turn, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def free(self) -> bool:
        """Whether a connection may be processed at once."""
        return not self._waiting and not self._share.wait(self._loop.time())

    def spend(self, seconds: float) -> None:
        """Charge the CPU time of a turn."""
        self._share.spend(seconds + _OVERHEAD)

    def join(self, turn: Turn) -> None:
        """Call `turn` after those that wait already, when CPU time is available."""
        self._waiting[turn] = None
        if self._timer is None:
            self._schedule()

    def leave(self, turn: Turn) -> None:
        """Remove `turn` from the queue."""
        self._waiting.pop(turn, None)

    def _schedule(self) -> None:
        self._timer = self._loop.call_later(self._share.wait(self._loop.time()), self._run_next)

    def _run_next(self) -> None:
        try:
            for turn in self._waiting:
                del self._waiting[turn]
                turn()
                break
        finally:
            self._timer = None
            if self._waiting:
                self._schedule()
