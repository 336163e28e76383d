"""Progress: the version that an informer has reached, and the waiters for a later one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilotage.meta.scalars import times


class Progress:
    """The state of an informer that callers can wait for."""

    def __init__(self) -> None:
        self.version = ""
        self.synced = False
        self.stopped = False
        self.live = False
        self.not_live_since = times.system_clock()
        """Since when it is not live."""
        self.contact: float | None = None
        self.setbacks = 0
        """How often a list was older than the store: the server was reset, and its versions started again."""
        self._waiters: dict[asyncio.Future[None], Callable[[], bool]] = {}

    @property
    def number(self) -> int:
        """The version as a number; -1 before there is one."""
        return int(self.version) if self.version.isdecimal() else -1

    def advance(self, version: str) -> None:
        """The store has reached this version."""
        if version:
            self.version = version
        if self._waiters:
            self._wake()

    def record_list(self, version: str) -> None:
        """The store was replaced by a list of this version."""
        if version.isdecimal() and int(version) < self.number:
            self.setbacks += 1
        self.advance(version)

    def mark_live(self) -> None:
        """A watch works."""
        if not self.live:
            self.live = True
            self._wake()

    def mark_failed(self) -> None:
        """The list or the watch failed."""
        self._lose()
        self._wake()

    def mark_synced(self) -> None:
        """The whole collection is stored, and the listeners are notified of it."""
        self.synced = True
        self._wake()

    def stop(self) -> None:
        """The informer has stopped."""
        self.stopped = True
        self._lose()
        self._wake()

    async def until(self, holds: Callable[[], bool], timeout: float | None = None) -> None:
        """Wait until a condition holds, which is evaluated after each change; raises TimeoutError."""
        if holds():
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = holds
        try:
            async with asyncio.timeout(timeout):
                await waiter
        finally:
            self._waiters.pop(waiter, None)

    def _lose(self) -> None:
        if self.live:
            self.live, self.not_live_since = False, times.system_clock()

    def _wake(self) -> None:
        for waiter, holds in list(self._waiters.items()):
            if not waiter.done() and holds():
                waiter.set_result(None)
