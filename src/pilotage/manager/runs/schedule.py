"""Runs on a schedule, in a process that keeps running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pilotage.manager import signals
from pilotage.manager.errors import ManagerStopped, NotIdle
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.tasks import is_set_within
from pilotage.telemetry.logs import logger

log = logger("pilotage.manager")


async def every(period: Seconds, run: Callable[[], Awaitable[object]]) -> None:
    """Call `run` now and then once in each `period`, until SIGTERM, SIGINT or cancellation.

    Two runs never overlap: after one that takes longer, the next time is used. A run that ends with NotIdle is logged,
    and the next one continues its work; another error is raised. A signal during a run is handled by its manager.
    """
    between = seconds(period, "period", zero=False)
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    began = loop.time()
    with signals.handled(lambda _: stopped.set()):
        while not stopped.is_set():
            try:
                await run()
            except NotIdle as error:
                log.error("Not everything is reconciled, the next run continues", pending=error.busy)
            except ManagerStopped:
                if not stopped.is_set():
                    raise
                return
            passed = loop.time() - began
            await is_set_within(stopped, between - passed % between)
