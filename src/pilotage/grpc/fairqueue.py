"""A fair queue of the connections of one user: they take turns to be read, within their share of CPU time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilotage.net.cpushare import CPUShare

Turn = Callable[[], object]
_AROUND = 50e-6  # seconds that the loop needs for a turn besides what is measured of it: to wake up, to read, a timer


class FairQueue:
    """A queue with one timer for all in it: however many wait, until their turn they cost nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop, share: CPUShare) -> None:
        self._loop = loop
        self._share = share
        self._waiting: dict[Turn, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def free(self) -> bool:
        """Whether one may have its turn at once."""
        return not self._waiting and not self._share.wait(self._loop.time())

    def spend(self, seconds: float) -> None:
        """A turn has taken so long."""
        self._share.spend(seconds + _AROUND)

    def join(self, turn: Turn) -> None:
        """Call it when its turn has come: after those who wait already, and when there is time."""
        self._waiting[turn] = None
        if self._timer is None:
            self._set()

    def leave(self, turn: Turn) -> None:
        """Do not wait any more."""
        self._waiting.pop(turn, None)

    def _set(self) -> None:
        self._timer = self._loop.call_later(self._share.wait(self._loop.time()), self._next)

    def _next(self) -> None:
        try:
            for turn in self._waiting:
                del self._waiting[turn]
                turn()
                break
        finally:
            self._timer = None
            if self._waiting:
                self._set()
