"""The event loop of tests on a remote API server."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime

from pilotage.testing.remoteloop import RemoteLoop


def test_a_long_wait_is_skipped_and_the_clocks_show_it() -> None:
    async def wait() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.sleep(3 * 3600)
        return loop.time() - began

    with asyncio.Runner(loop_factory=RemoteLoop) as runner:
        assert runner.run(wait()) >= 3 * 3600
        loop = runner.get_loop()
        assert isinstance(loop, RemoteLoop)
        assert (loop.now() - datetime.now(UTC)).total_seconds() > 3 * 3600 - 60


def test_nothing_is_skipped_while_a_function_runs_in_a_thread() -> None:
    finish = threading.Event()
    looks: list[bool] = []

    async def wait() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, RemoteLoop)

        def is_busy() -> bool:
            looks.append(True)
            return False

        loop.is_busy = is_busy
        function = loop.run_in_executor(None, finish.wait)
        loop.call_later(0.2, finish.set)
        async with asyncio.timeout(3600):  # which would be over at once
            await function

    with asyncio.Runner(loop_factory=RemoteLoop) as runner:
        runner.run(wait())
    assert looks == []


def test_nothing_is_skipped_while_the_environment_is_busy() -> None:
    async def wait() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, RemoteLoop)
        answers = [True, True, False]
        loop.is_busy = lambda: answers.pop(0)
        await asyncio.sleep(3600)
        return len(answers)

    with asyncio.Runner(loop_factory=RemoteLoop) as runner:
        assert runner.run(wait()) == 0
