"""ConnectionTasks: the steps of a shutdown in order, and no task is left behind."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pilotage.net.connectiontasks import ConnectionTasks, DrainStep


async def endless() -> None:
    await asyncio.Event().wait()


@pytest.mark.virtual_time
async def test_each_step_acts_and_then_waits_for_the_connections() -> None:
    loop = asyncio.get_running_loop()
    began, steps = loop.time(), list[tuple[str, float]]()
    tasks, released = ConnectionTasks(loop), asyncio.Event()

    async def connection() -> None:
        await released.wait()

    def step(name: str) -> None:
        steps.append((name, round(loop.time() - began, 3)))
        if name == "release":
            released.set()

    tasks.start(connection(), "connection")
    await tasks.drain(
        DrainStep(lambda: step("finish"), 2.0),
        DrainStep(lambda: step("release"), 30.0),
        DrainStep(lambda: step("nothing left"), 30.0),
    )
    assert steps == [("finish", 0.0), ("release", 2.0), ("nothing left", 2.0)]
    assert loop.time() - began == pytest.approx(2.0)


@pytest.mark.virtual_time
async def test_a_step_may_wait_for_other_tasks() -> None:
    loop = asyncio.get_running_loop()
    tasks, began = ConnectionTasks(loop), loop.time()
    tasks.start(endless(), "connection")
    call = loop.create_task(asyncio.sleep(1))
    await tasks.drain(DrainStep(lambda: None, 30.0, lambda: {call}))
    assert loop.time() - began == pytest.approx(1.0)
    assert not len(tasks)


@pytest.mark.virtual_time
async def test_a_drain_that_is_cancelled_still_ends_every_task() -> None:
    loop = asyncio.get_running_loop()
    tasks, ended = ConnectionTasks(loop), list[str]()

    async def connection() -> None:
        try:
            await endless()
        finally:
            await asyncio.sleep(1)  # a connection may need a moment to clean up
            ended.append("connection")

    tasks.start(connection(), "connection")
    drain = loop.create_task(tasks.drain(DrainStep(lambda: None, 1000.0)))
    await asyncio.sleep(1)
    drain.cancel()
    with pytest.raises(asyncio.CancelledError):
        await drain
    assert ended == ["connection"]


async def test_the_end_of_a_task_is_reported_and_its_error_logged(caplog: pytest.LogCaptureFixture) -> None:
    loop, ends = asyncio.get_running_loop(), list[int]()

    async def failing() -> None:
        raise LookupError("no such thing")

    tasks = ConnectionTasks(loop, on_end=lambda: ends.append(len(tasks)))
    with caplog.at_level(logging.ERROR):
        await asyncio.wait([tasks.start(failing(), "failing"), tasks.start(asyncio.sleep(0), "fine")])
    assert ends == [1, 0]
    assert caplog.text.count("Connection task failed") == 1
    assert "no such thing" in caplog.text
