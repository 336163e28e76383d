"""ConnectionTasks: a shutdown waits for the connections, and leaves no task behind."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pilotage.net.connectiontasks import ConnectionTasks


async def endless() -> None:
    await asyncio.Event().wait()


@pytest.mark.virtual_time
async def test_a_drain_waits_for_the_connections_and_then_cancels_what_is_left() -> None:
    loop = asyncio.get_running_loop()
    tasks, began, waits = ConnectionTasks(loop), loop.time(), list[float]()
    tasks.start(asyncio.sleep(1), "short")
    long = tasks.start(endless(), "long")
    async with tasks.draining():
        await tasks.wait(2.0)
        waits.append(round(loop.time() - began, 3))
        assert len(tasks) == 1
    assert waits == [2.0]
    assert long.cancelled()
    assert not len(tasks)


@pytest.mark.virtual_time
async def test_a_wait_ends_with_the_last_task() -> None:
    loop = asyncio.get_running_loop()
    tasks, began = ConnectionTasks(loop), loop.time()
    await tasks.wait(30.0)
    tasks.start(asyncio.sleep(1), "short")
    await tasks.wait(30.0)
    assert loop.time() - began == pytest.approx(1.0)


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

    async def close() -> None:
        async with tasks.draining():
            await tasks.wait(1000.0)

    tasks.start(connection(), "connection")
    drain = loop.create_task(close())
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
