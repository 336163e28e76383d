from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pilotage.tasks import OwnedTasks, TaskCancelled, is_set_within

pytestmark = pytest.mark.virtual_time


async def forever() -> None:
    await asyncio.Event().wait()


async def errors_of(body: Callable[[OwnedTasks], Awaitable[None]]) -> list[str]:
    """The errors of a group with some tasks, in which `body` runs."""
    try:
        async with OwnedTasks() as tasks:
            for number in range(3):
                tasks.create_task(forever(), name=f"task {number}")
            await body(tasks)
    except ExceptionGroup as several:
        return [repr(error) for error in several.exceptions]
    return []


async def test_a_task_that_other_code_cancels_fails_the_group() -> None:
    async def body(tasks: OwnedTasks) -> None:
        victim = tasks.create_task(forever(), name="victim")
        await asyncio.sleep(1)
        victim.cancel()
        await forever()

    assert await errors_of(body) == [repr(TaskCancelled("victim was cancelled, and not by its owner"))]


@pytest.mark.parametrize("seconds", [0, 1])
async def test_the_end_of_the_block_is_no_error_of_its_tasks(seconds: float) -> None:
    async def body(_: OwnedTasks) -> None:
        await asyncio.sleep(seconds)
        raise ValueError("the block failed")

    assert await errors_of(body) == ["ValueError('the block failed')"]


async def test_an_error_of_one_task_is_the_only_one() -> None:
    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError("it failed")

    async def body(tasks: OwnedTasks) -> None:
        tasks.create_task(fail())

    assert await errors_of(body) == ["ValueError('it failed')"]


async def test_the_owner_may_cancel_one_task() -> None:
    async with OwnedTasks() as tasks:
        task = tasks.create_task(forever())
        await asyncio.sleep(1)
        tasks.cancel(task)
    assert task.cancelled()


async def test_a_group_that_has_ended_takes_no_task() -> None:
    async with OwnedTasks() as tasks:
        pass
    with pytest.raises(RuntimeError, match="finished"):
        tasks.create_task(forever())


async def test_cancelling_the_owner_cancels_its_tasks() -> None:
    owner = asyncio.ensure_future(errors_of(lambda _: forever()))
    await asyncio.sleep(1)
    owner.cancel()
    await asyncio.wait([owner])
    assert owner.cancelled()


async def test_a_wait_for_an_event_ends_when_it_is_set_or_when_its_time_is_over() -> None:
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    began = loop.time()
    assert not await is_set_within(event, 2.0)
    assert loop.time() - began == 2.0
    loop.call_later(1.0, event.set)
    assert await is_set_within(event, 2.0)
    assert loop.time() - began == 3.0
    assert await is_set_within(event, 0.0)
    assert await is_set_within(event, None)
