"""Whether there is anything left to do, for programs that end when there is not."""

from __future__ import annotations

import asyncio

from pilotage.manager.errors import NotIdle
from pilotage.manager.lag import Lag
from pilotage.manager.lifecycle import Lifecycle
from pilotage.manager.work import WorkTracker

_SHORTEST = 0.001  # seconds between two looks
_LONGEST = 0.05


class Idleness:
    """Looks at everything that could still have something to do."""

    def __init__(self, lifecycle: Lifecycle, work: WorkTracker, lag: Lag | None) -> None:
        self._lifecycle = lifecycle
        self._work = work
        self._lag = lag

    def busy(self, horizon: float = 0) -> tuple[str, ...]:
        """What is not idle, in words."""
        if not self._lifecycle.ready:
            return ("the manager is starting",)
        if not self._lifecycle.elected.is_set():
            return ("waiting for the leader lease",)
        behind = self._lag.behind() if self._lag is not None else ()
        found = [f"the cache has not seen what was written: {kind}" for kind in behind]
        found += [str(work) for work in self._work.active()]
        for entry in self._lifecycle.groups.running():
            idle = getattr(entry.runnable, "idle", None)
            if callable(idle) and not idle(horizon):
                found.append(f"{entry.name} has work to do")
        return tuple(found)

    async def wait(self, timeout: float | None, horizon: float) -> bool:
        """Wait until two looks in a row find nothing; False if the manager is asked to stop first. Raises NotIdle."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        pause, quiet = _SHORTEST, 0
        while not self._lifecycle.stop_asked:
            busy = self.busy(horizon)
            quiet = 0 if busy else quiet + 1
            if quiet == 2:  # between the looks, an event may have been on its way from a cache to a queue
                return True
            if busy and deadline is not None and loop.time() >= deadline:
                raise NotIdle(busy, timeout or 0)
            pause = min(_LONGEST, pause * 2) if busy else _SHORTEST
            await self._lifecycle.wait_stop_asked(pause)
        return False
