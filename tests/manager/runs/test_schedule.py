"""A run on a schedule."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.manager.errors import ManagerStopped, NotIdle
from pilotage.manager.runs.schedule import every
from pilotage.manager.signals import handled

from ..fakes import elapsed


@pytest.mark.virtual_time
async def test_runs_begin_at_their_times_do_not_overlap_and_go_on_after_one_that_was_not_idle() -> None:
    began: list[float] = []

    async def run() -> None:
        began.append(elapsed())
        if len(began) == 2:
            await asyncio.sleep(25)  # longer than the interval
        if len(began) == 3:
            raise NotIdle(("busy",), 1)
        if len(began) == 5:
            raise RuntimeError("ended")

    with pytest.raises(RuntimeError, match="ended"):
        await every(10, run)
    assert began == [0, 10, 40, 50, 60]


async def test_a_signal_ends_the_schedule_between_runs_and_in_a_run() -> None:
    async def interrupted(error: Exception | None) -> None:
        received = asyncio.Event()
        with handled(lambda _: received.set()):
            os.kill(os.getpid(), signal.SIGTERM)
            await received.wait()
        if error is not None:
            raise error

    await every(1000, lambda: interrupted(None))
    await every(1000, lambda: interrupted(ManagerStopped("stopped")))


async def test_a_period_must_be_positive() -> None:
    with pytest.raises(InvalidDefinition, match=r"period=.*more than 0"):
        await every(0, lambda: asyncio.sleep(0))
