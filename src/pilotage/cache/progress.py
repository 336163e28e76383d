"""Progress: how far an informer has come, and those who wait until it has come further."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pilotage.meta import times


class Progress:
    """The version that is kept, and what else can be waited for."""

    def __init__(self) -> None:
        self.version = ""
        self.synced = False
        self.stopped = False
        self.live = False
        self.not_live_since = times.system_clock()
        """Since when it is not live, where it is not."""
        self.contact: float | None = None
        self.setbacks = 0
        """How often a list was older than what was kept: the server has lost what it had, and began anew."""
        self._waiters: dict[asyncio.Future[None], Callable[[], bool]] = {}

    @property
    def number(self) -> int:
        """The version as a number, as all API servers count; -1 before there is one."""
        return int(self.version) if self.version.isdecimal() else -1

    def moved(self, version: str) -> None:
        """A change or a bookmark of this version is kept now."""
        if version:
            self.version = version
        if self._waiters:
            self._wake()

    def listed(self, version: str) -> None:
        """A list of this version is kept now, and nothing else."""
        if version.isdecimal() and int(version) < self.number:
            self.setbacks += 1
        self.moved(version)

    def recovered(self) -> None:
        """The collection is followed (again)."""
        if not self.live:
            self.live = True
            self._wake()

    def failed(self) -> None:
        """The collection could not be followed."""
        self._lose()
        self._wake()

    def sync(self) -> None:
        """The whole collection is kept and told."""
        self.synced = True
        self._wake()

    def stop(self) -> None:
        """Nothing will be kept or told any more."""
        self.stopped = True
        self._lose()
        self._wake()

    async def until(self, holds: Callable[[], bool], timeout: float | None = None) -> None:
        """Wait until a condition holds, which is looked at after each change; raises TimeoutError."""
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
