from __future__ import annotations

import asyncio

import pytest

from pilotage.workqueue import parallelize


@pytest.mark.covers("T18")
@pytest.mark.virtual_time
async def test_each_piece_is_done_once_by_so_many_workers_at_a_time() -> None:
    done: list[int] = []
    running, most = 0, 0

    async def do(piece: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(1)
        running -= 1
        done.append(piece)

    await parallelize(3, range(10), do)
    assert sorted(done) == list(range(10))
    assert most == 3
    assert asyncio.get_running_loop().time() == 4


@pytest.mark.covers("T18")
@pytest.mark.virtual_time
async def test_cancelling_stops_early() -> None:
    done: list[int] = []

    async def do(piece: int) -> None:
        await asyncio.sleep(1)
        done.append(piece)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2.5):
            await parallelize(2, range(100), do)
    assert sorted(done) == [0, 1, 2, 3]
