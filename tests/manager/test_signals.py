"""SIGTERM and SIGINT: the first starts a shutdown, the second forces it, and the previous handlers are restored."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest

from pilotage.manager import signals
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.manager.shutdown import ShutdownCallbacks

from .fakes import FakeCluster, until

PROGRAM = """
import asyncio, sys
sys.path.insert(0, {root!r})
from tests.manager.fakes import FakeCluster
from pilotage.manager import signals
from pilotage.manager.manager import Manager

async def main():
    asked = asyncio.Event()

    def hear(number):
        print("asked", flush=True)
        asked.set()

    async with Manager(FakeCluster()) as manager:
        async def work():
            with manager.work.track("reconcile", "shop/orders"), signals.handled(hear):
                print("working", flush=True)
                await asked.wait()
                await asyncio.sleep({seconds})
                print("finished", flush=True)
        manager.add(work)
        await manager.start()
    print("ended", flush=True)

asyncio.run(main())
"""


def program(seconds: float) -> subprocess.Popen[str]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    text = PROGRAM.format(root=root, seconds=seconds)
    started = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "working\n"
    return started


@pytest.mark.covers("T80", "F31")
def test_sigterm_lets_what_runs_finish() -> None:
    with program(seconds=0.1) as started:
        started.terminate()
        output, errors = started.communicate(timeout=100)
    assert output == "asked\nfinished\nended\n", errors
    assert started.returncode == 0


@pytest.mark.covers("T80", "F31")
def test_a_second_sigterm_forces() -> None:
    with program(seconds=600) as started:
        started.terminate()
        assert started.stdout is not None
        assert started.stdout.readline() == "asked\n"  # it has not ended, and two signals are not one
        started.terminate()
        output, errors = started.communicate(timeout=100)
    assert output == "asked\n"
    assert "ShutdownForced" in errors
    assert "shop/orders" in errors
    assert started.returncode == 1


async def test_a_signal_reaches_all_and_handlers_are_restored() -> None:
    heard: list[tuple[str, signal.Signals]] = []
    before = [signal.getsignal(number) for number in signals.SIGNALS]
    with signals.handled(lambda number: heard.append(("outer", number))):
        with signals.handled(lambda number: heard.append(("inner", number))):
            os.kill(os.getpid(), signal.SIGTERM)
            await until(lambda: len(heard) == 2)
        os.kill(os.getpid(), signal.SIGINT)
        await until(lambda: len(heard) == 3)
    assert heard == [("outer", signal.SIGTERM), ("inner", signal.SIGTERM), ("outer", signal.SIGINT)]
    assert [signal.getsignal(number) for number in signals.SIGNALS] == before


def _long(heard: list[signal.Signals], count: int) -> bool:
    return len(heard) == count


async def test_after_the_second_signal_the_default_handlers_are_back() -> None:
    heard: list[signal.Signals] = []
    previous = signal.getsignal(signal.SIGTERM)
    try:
        with signals.handled(heard.append):
            for count in (1, 2):
                os.kill(os.getpid(), signal.SIGTERM)
                await until(partial(_long, heard, count))
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        assert signal.getsignal(signal.SIGTERM) == previous


async def test_a_signal_in_the_last_moment_of_a_block_is_for_the_next_one() -> None:
    heard: list[str] = []
    with signals.handled(lambda number: heard.append("first")):
        os.kill(os.getpid(), signal.SIGTERM)
    with signals.handled(lambda number: heard.append("second")):
        await until(lambda: bool(heard))
    assert heard == ["second"]


async def test_a_third_signal_finds_the_default_handlers_while_the_loop_is_blocked() -> None:
    heard: list[signal.Signals] = []
    with signals.handled(heard.append):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert heard == []
        await until(partial(_long, heard, 2))


async def test_a_signal_that_is_ignored_stays_ignored() -> None:
    previous = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with signals.handled(lambda number: None):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, previous)


async def test_handlers_are_there_only_while_the_manager_starts() -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with Manager(FakeCluster()) as manager:
        assert signal.getsignal(signal.SIGTERM) == before
        running = asyncio.ensure_future(manager.start())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert signal.getsignal(signal.SIGTERM) != before
        os.kill(os.getpid(), signal.SIGTERM)
        await running
        assert signal.getsignal(signal.SIGTERM) == before


async def test_a_signal_at_the_end_of_the_block_takes_effect_when_all_is_closed() -> None:
    stopping, finish = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            await finish.wait()

    cluster, heard = FakeCluster(), list[bool]()
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(cluster.is_open))
    try:

        async def run() -> None:
            async with Manager(cluster) as manager:
                manager.add(work)
                await manager.run_until_idle()

        running = asyncio.create_task(run())
        await stopping.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == []
        finish.set()
        await running
        assert heard == [False]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_outside_the_main_thread_nothing_is_handled() -> None:
    outcome: list[bool] = []

    async def run() -> None:
        before = signal.getsignal(signal.SIGTERM)
        with signals.handled(lambda number: None):
            outcome.append(signal.getsignal(signal.SIGTERM) == before)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join()
    assert outcome == [True]


async def test_the_callback_for_a_signal_is_called_while_the_loop_is_blocked() -> None:
    arrived: list[signal.Signals] = []
    callbacks = ShutdownCallbacks(on_signal=arrived.append)
    async with Manager(FakeCluster(), ManagerOptions(shutdown_callbacks=callbacks)) as manager:

        async def block() -> None:
            signal.raise_signal(signal.SIGTERM)
            assert arrived == [signal.SIGTERM]  # nothing was awaited

        manager.add(block)
        await manager.start()
    assert arrived == [signal.SIGTERM]
