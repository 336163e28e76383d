"""Runs on a schedule, in a process that keeps running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from pilotage.errors import InvalidDefinition
from pilotage.manager import signals
from pilotage.manager.errors import ManagerStopped, NotIdle
from pilotage.tasks import is_set_within
from pilotage.telemetry.logs import logger

log = logger("pilotage.manager")


async def every(seconds: float, run: Callable[[], Awaitable[object]]) -> None:
    """Call `run` now and then every `seconds` seconds, until SIGTERM, SIGINT or cancellation.

    Two runs never overlap: after one that takes longer, the next time is used. A run that ends with NotIdle is logged,
    and the next one continues its work; another error is raised. A signal during a run is handled by its manager.
    """
    if not seconds > 0:
        raise InvalidDefinition(f"the period must be more than 0 seconds, not {seconds!r}")
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
            await is_set_within(stopped, seconds - passed % seconds)
