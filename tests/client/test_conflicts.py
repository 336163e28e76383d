"""Retries after conflicts."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from pilotage.client.conflicts import PATIENT, Backoff, retry_on_conflict
from pilotage.errors import AlreadyExists, Conflict, InvalidDefinition, NotFound


class Attempts:
    """Fails with each of `errors` in turn, then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.times: list[float] = []

    async def __call__(self) -> str:
        self.times.append(asyncio.get_running_loop().time())
        if self.errors:
            raise self.errors.pop(0)
        return "done"


@pytest.mark.covers("T192")
@pytest.mark.virtual_time
async def test_a_conflict_is_tried_again_after_a_short_while() -> None:
    attempts = Attempts(Conflict("1"), Conflict("2"))
    assert await retry_on_conflict(attempts, random=Random(1)) == "done"
    waits = [after - before for before, after in zip(attempts.times, attempts.times[1:], strict=False)]
    assert len(waits) == 2
    assert all(0.01 <= wait <= 0.0111 for wait in waits)


@pytest.mark.covers("T192")
@pytest.mark.virtual_time
async def test_the_last_conflict_is_raised() -> None:
    attempts = Attempts(*(Conflict(str(number)) for number in range(9)))
    with pytest.raises(Conflict, match="4"):
        await retry_on_conflict(attempts)
    assert len(attempts.times) == 5
    with pytest.raises(Conflict, match="8"):
        await retry_on_conflict(attempts, Backoff(steps=4))


@pytest.mark.covers("T192")
@pytest.mark.parametrize("error", [AlreadyExists("x"), NotFound("x"), ValueError("x")])
async def test_anything_else_is_raised_at_once(error: Exception) -> None:
    attempts = Attempts(error)
    with pytest.raises(type(error), match="x"):
        await retry_on_conflict(attempts)
    assert len(attempts.times) == 1


@pytest.mark.virtual_time
async def test_an_attempt_that_creates_can_be_tried_again_after_another_writer_has_created() -> None:
    attempts = Attempts(AlreadyExists("1"), Conflict("2"), NotFound("3"))
    with pytest.raises(NotFound, match="3"):
        await retry_on_conflict(attempts, also=(AlreadyExists,))
    assert await retry_on_conflict(Attempts(NotFound("1"), AlreadyExists("2")), also=(AlreadyExists, NotFound))


@pytest.mark.virtual_time
async def test_patience_is_bounded() -> None:
    attempts = Attempts(*(Conflict(str(number)) for number in range(20)))
    with pytest.raises(Conflict, match="9"):
        await retry_on_conflict(attempts, PATIENT)
    assert 5 < attempts.times[-1] - attempts.times[0] < 8


@pytest.mark.covers("T192")
async def test_it_ends_with_its_caller() -> None:
    attempts = Attempts(*(Conflict("x") for _ in range(9)))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await retry_on_conflict(attempts, Backoff(delay=60))
    assert len(attempts.times) == 1


async def test_no_tries_at_all_are_a_mistake() -> None:
    with pytest.raises(InvalidDefinition, match="steps=0: must be a whole number, 1 or more"):
        await retry_on_conflict(Attempts(), Backoff(steps=0))
