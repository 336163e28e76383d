"""Silence: a watch without an event for too long is considered dead."""

from __future__ import annotations

import asyncio
from types import TracebackType

from pilotage.errors import ConnectionLost
from pilotage.tasks import Background

_TICKS = 8


class Silent(ConnectionLost):
    """A watch was silent for longer than a live one can be."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"the watch was silent for {seconds:g} s and is considered dead")


class SilenceTimeout:
    """Ends the block with `Silent` once nothing arrived for `seconds` while the block waited.

    The block sets `received` for each event, and clears `waiting` while the consumer has the last event. Both are plain
    attributes, because they are set for each event. Silence is counted in ticks of the event loop and not by the clock:
    while the loop is blocked, events may have arrived that nothing could read.
    """

    def __init__(self, seconds: float) -> None:
        self.received = False
        self.waiting = True
        self.seconds = seconds
        self._count = 0
        self._fired = False
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0

    def shorten(self, seconds: float) -> None:
        """Reduce the deadline to `seconds`; a longer one is ignored."""
        if seconds < self.seconds:
            self.seconds = seconds
            if self._timer is not None:
                self._timer.cancel()
            self._arm()

    def _tick(self) -> None:
        self._count = self._count + 1 if self.waiting and not self.received else 0
        self.received = False
        if self._count >= _TICKS and self._task is not None:
            self._fired = True
            self._task.cancel()
        else:
            self._arm()

    def _arm(self) -> None:
        # One tick more than is counted, because the first one may be shorter than the interval.
        with Background():
            self._timer = asyncio.get_running_loop().call_later(self.seconds / (_TICKS + 1), self._tick)

    def __enter__(self) -> SilenceTimeout:
        self._task = asyncio.current_task()
        # As in asyncio.timeout: a cancellation that was requested before the block is not ours to convert.
        self._cancelling = self._task.cancelling() if self._task is not None else 0
        self._arm()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._fired or self._task is None:
            return
        # A cancellation by another caller in the meantime must pass through: only the deadline's own becomes an error.
        ours = self._task.uncancel() <= self._cancelling
        if ours and kind is not None and issubclass(kind, asyncio.CancelledError):
            raise Silent(self.seconds) from None
