from __future__ import annotations

import asyncio

import pytest

from pilotage.reflector.silence import SilenceTimeout, Silent
from pilotage.testing.loop import VirtualLoop


@pytest.mark.virtual_time
async def test_silence_ends_the_block_within_the_deadline_and_not_much_before() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(Silent, match="silent for 9 s"), SilenceTimeout(9.0):
        await asyncio.Event().wait()
    assert 8 <= loop.time() <= 9


@pytest.mark.virtual_time
async def test_a_source_with_events_or_without_a_wait_is_not_silent() -> None:
    with SilenceTimeout(9.0) as deadline:
        for _ in range(10):
            await asyncio.sleep(5)
            deadline.received = True
        deadline.waiting = False
        await asyncio.sleep(100)


@pytest.mark.virtual_time
async def test_a_cancellation_from_outside_stays_one() -> None:
    async def wait() -> None:
        with SilenceTimeout(9.0):
            await asyncio.Event().wait()

    for seconds in (1.0, 8.0):  # in the middle, and at the very moment of the deadline
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(seconds)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.virtual_time
async def test_other_errors_pass() -> None:
    with pytest.raises(ValueError, match="mine"), SilenceTimeout(9.0):
        raise ValueError("mine")


async def shortened() -> None:
    with SilenceTimeout(90.0) as deadline:
        await asyncio.sleep(5)
        deadline.shorten(9.0)
        deadline.shorten(50.0)
        await asyncio.Event().wait()


@pytest.mark.virtual_time
async def test_a_shorter_deadline_counts_from_now() -> None:
    with pytest.raises(Silent):
        await shortened()
    assert 13 <= asyncio.get_running_loop().time() <= 14


@pytest.mark.virtual_time
async def test_a_blocked_loop_is_not_the_servers_silence() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    with SilenceTimeout(9.0) as deadline:
        loop._virtual_time += 18  # the loop is blocked: time passes, and nothing can be received
        await asyncio.sleep(2)
        deadline.received = True
        await asyncio.sleep(2)
