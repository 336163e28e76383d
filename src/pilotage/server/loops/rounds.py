"""Loops that work at intervals: history is compacted, a failed storage is detected."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from pilotage.errors import StorageError
from pilotage.server.context import RegistryContext
from pilotage.tasks import Background

_ROUND_SECONDS = 30.0
HISTORY_SECONDS = 300.0
"""How long history is kept for watches to resume from."""
HISTORY_COMMITS = 100_000
"""The limit of history in memory: older revisions are compacted, even if they are recent."""
_CHECK_SECONDS = 5.0


class HistoryCompaction:
    """Compacts history that is old, or too large."""

    def __init__(self, context: RegistryContext) -> None:
        self._storage = context.storage
        self._marks: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            with Background():
                await asyncio.sleep(_ROUND_SECONDS)
            target = self.target(loop.time())
            if target > self._storage.oldest:
                await self._storage.compact(target)

    def target(self, now: float) -> int:
        """The revision before which history may be compacted, as of `now`."""
        revision = self._storage.revision
        self._marks.append((now, revision))
        target = max(self._storage.oldest, revision - HISTORY_COMMITS)
        while self._marks and self._marks[0][0] <= now - HISTORY_SECONDS:
            target = max(target, self._marks.popleft()[1])
        return target


async def check_storage(context: RegistryContext) -> None:
    """Check the storage even if no request uses it: a storage that has failed logs the reason, once."""
    while True:
        with Background():
            await asyncio.sleep(_CHECK_SECONDS)
        with suppress(StorageError):
            await context.storage.check()
