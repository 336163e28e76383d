"""Writes that are not interrupted."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.webhook.registration import complete


async def test_a_cancelled_caller_waits_for_its_write() -> None:
    may_end, done = asyncio.Event(), False

    async def write() -> None:
        nonlocal done
        await may_end.wait()
        done = True

    caller = asyncio.ensure_future(complete(write()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.sleep(0)
    assert not caller.done()
    may_end.set()
    await asyncio.wait([caller])
    assert (caller.cancelled(), done) == (True, True)


async def test_results_and_errors_are_passed_on() -> None:
    async def fail() -> None:
        raise KeyError("oops")

    async def succeed() -> int:
        return 3

    assert await complete(succeed()) == 3
    with pytest.raises(KeyError, match="oops"):
        await complete(fail())
