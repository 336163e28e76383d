"""Sweeper: one timer while there is something to check, and no timer otherwise."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from pilotage.net.sweeper import Sweeper, sweep_interval


class Swept:
    """A sweep that finds something to check so many times, and records when it was called."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.at: list[float] = []

    def __call__(self, now: float) -> bool:
        self.at.append(round(now, 3))
        return len(self.at) < self.times


@pytest.mark.virtual_time
async def test_a_sweep_is_repeated_until_nothing_is_left_to_check() -> None:
    loop, swept = asyncio.get_running_loop(), Swept(3)
    began = loop.time()
    sweeper = Sweeper(loop, 0.5, swept)
    sweeper.start()
    sweeper.start()  # once is enough
    await asyncio.sleep(10)
    assert [at - began for at in swept.at] == [0.5, 1.0, 1.5]
    sweeper.start()
    await asyncio.sleep(10)
    assert len(swept.at) == 4


@pytest.mark.virtual_time
async def test_a_stopped_sweeper_sweeps_no_more() -> None:
    swept = Swept(100)
    sweeper = Sweeper(asyncio.get_running_loop(), 0.5, swept)
    sweeper.stop()
    sweeper.start()
    await asyncio.sleep(0.6)
    sweeper.stop()
    await asyncio.sleep(10)
    assert len(swept.at) == 1


@pytest.mark.parametrize(
    ("deadlines", "interval"), [((10.0, 2.0), 0.5), ((75.0, inf), 1.0), ((inf,), 1.0), ((0.0, 3.0), 0.005)]
)
def test_the_interval_is_a_quarter_of_the_shortest_deadline_within_bounds(
    deadlines: tuple[float, ...], interval: float
) -> None:
    assert sweep_interval(*deadlines) == interval
