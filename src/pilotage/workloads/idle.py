"""A run until idle of a program beside simulated workloads: each may give the other something to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pilotage.cluster.writes import WriteTracker
from pilotage.manager.manager import Manager
from pilotage.workloads.workloads import Workloads


async def run_until_idle(
    manager: Manager, workloads: Sequence[Workloads], timeout: float | None = None, horizon: float = 0
) -> None:
    """Run the manager and wait for the workloads in turn, until all have found nothing to do without a write in
    between. Raises NotIdle after `timeout` seconds."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeout if timeout is not None else None

    def left() -> float | None:
        return max(0.0, deadline - clock()) if deadline is not None else None

    await manager.run_until_idle(left(), horizon)
    while workloads:
        with _counted(manager.cluster.writes) as writes:
            for each in workloads:
                await each.run_until_idle(left(), horizon)
            await manager.run_until_idle(left(), horizon)
        if not writes:
            return


@contextmanager
def _counted(tracker: WriteTracker) -> Iterator[list[object]]:
    """The writes in the block, of the workloads and of the test, too."""
    found: list[object] = []
    stop = tracker.observe(lambda resource, write: found.append(resource))
    try:
        yield found
    finally:
        stop()
