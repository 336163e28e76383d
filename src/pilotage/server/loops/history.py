"""Compacts the storage: history that is old, or too much, is forgotten."""

from __future__ import annotations

import asyncio
from collections import deque

from pilotage.server.context import RegistryContext

HISTORY_SECONDS = 300.0
"""How long history is kept for watches to resume from."""
HISTORY_COMMITS = 100_000
"""More than this is not kept, however young: history takes memory."""
_ROUND_SECONDS = 30.0


class HistoryCompaction:
    """Forgets history that is old, or too much."""

    def __init__(self, context: RegistryContext) -> None:
        self._storage = context.storage
        self._marks: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_ROUND_SECONDS)
            target = self.target(loop.time())
            if target > self._storage.oldest:
                await self._storage.compact(target)

    def target(self, now: float) -> int:
        """The revision before which everything may be forgotten, as of `now`."""
        revision = self._storage.revision
        self._marks.append((now, revision))
        target = max(self._storage.oldest, revision - HISTORY_COMMITS)
        while self._marks and self._marks[0][0] <= now - HISTORY_SECONDS:
            target = max(target, self._marks.popleft()[1])
        return target
