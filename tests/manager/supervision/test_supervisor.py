"""The supervisor's thread runs coroutines, and the test's thread waits for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from pilotage.manager.supervision.supervisor import THREAD_NAME, Supervisor, SupervisorEnded


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    made = Supervisor()
    made.start()
    yield made
    made.stop()


async def where() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def failing() -> None:
    raise KeyError("here")


async def test_a_coroutine_runs_in_the_thread_and_its_result_or_error_comes_back(supervisor: Supervisor) -> None:
    assert await supervisor.run(where()) == THREAD_NAME
    with pytest.raises(KeyError, match="here"):
        await supervisor.run(failing())


async def test_cancelling_the_wait_cancels_the_coroutine_and_waits_for_its_end(supervisor: Supervisor) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def stubborn() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    waiting = asyncio.ensure_future(supervisor.run(stubborn()))
    await asyncio.to_thread(begun.wait, 60)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()


async def test_a_timer_can_be_taken_back(supervisor: Supervisor) -> None:
    fired: list[str] = []
    take_back = supervisor.call_later(0.0, lambda: fired.append("first"))
    await supervisor.run(asyncio.sleep(0))
    take_back()
    supervisor.call_later(3600, lambda: fired.append("never"))()
    assert fired == ["first"]


async def test_after_its_end_nothing_runs_and_what_ran_was_cancelled() -> None:
    supervisor = Supervisor()
    supervisor.start()
    waiting = asyncio.ensure_future(supervisor.run(asyncio.Event().wait()))
    await supervisor.run(where())
    supervisor.stop()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(SupervisorEnded):
        await supervisor.run(where())
    supervisor.stop()  # doing it twice is fine
