from __future__ import annotations

import asyncio

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.workqueue import gather, parallelize


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


@pytest.mark.virtual_time
async def test_each_call_has_its_result_or_its_error_in_their_order() -> None:
    running, most = 0, 0

    async def call(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(10 - number)
        running -= 1
        if number == 2:
            raise ValueError(number)
        return number

    outcomes = await gather((call(number) for number in range(6)), limit=3)
    assert [repr(one) for one in outcomes] == ["0", "1", "ValueError(2)", "3", "4", "5"]
    assert most == 3
    assert await gather([]) == []


@pytest.mark.virtual_time
async def test_a_cancellation_ends_the_running_calls_and_begins_no_other() -> None:
    begun: list[int] = []

    async def call(number: int) -> None:
        begun.append(number)
        await asyncio.sleep(1)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1.5):
            await gather([call(number) for number in range(10)], limit=2)
    assert begun == [0, 1, 2, 3]


@pytest.mark.parametrize("limit", [0, -1, True])
async def test_a_limit_is_at_least_one(limit: int) -> None:
    with pytest.raises(InvalidDefinition, match=f"limit={limit}: must be a whole number, 1 or more"):
        await gather([asyncio.sleep(0)], limit=limit)
