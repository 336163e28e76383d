"""The watchdog without a second thread: its clock is handed in."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from types import FrameType

from pilotage.manager.supervision.watchdog import _WATCHDOGS, Watchdog
from pilotage.telemetry import stack
from tests.clocks import Seconds

from ..fakes import recorded_logs, until


async def test_the_loop_is_blocked_for_as_long_as_it_has_not_answered() -> None:
    clock = Seconds()
    watchdog = Watchdog(1, clock=clock)
    assert watchdog.blocked_seconds == 0
    watchdog._ask()
    clock.now += 3
    assert watchdog.blocked_seconds == 3
    await asyncio.sleep(0)  # now it answers
    assert watchdog.blocked_seconds == 0


async def test_a_process_that_was_stopped_as_a_whole_is_not_taken_for_a_blocked_loop() -> None:
    clock = Seconds()
    watchdog = Watchdog(1, clock=clock)
    watchdog._ask()
    clock.now += 60.25
    with recorded_logs("pilotage.watchdog") as lines:
        watchdog._forgive(60)
        watchdog._look()
    assert lines == ["Process did not run, it was stopped or C code held the GIL seconds=60.0"]
    assert watchdog.blocked_seconds == 0.25


async def test_a_loop_that_waits_for_its_turn_on_a_busy_machine_is_not_reported() -> None:
    """No code of the program is on the stack of its thread: there is no code to report."""
    clock = Seconds()
    watchdog = Watchdog(1, clock=clock)
    _WATCHDOGS[asyncio.get_running_loop()] = [watchdog]
    waiting, end = threading.Event(), threading.Event()

    def idle_loop() -> None:
        async def wait() -> None:
            loop = asyncio.get_running_loop()
            ended = asyncio.Event()
            threading.Thread(target=lambda: (end.wait(60), loop.call_soon_threadsafe(ended.set))).start()
            waiting.set()
            await ended.wait()

        asyncio.run(wait())

    thread = threading.Thread(target=idle_loop)
    thread.start()
    await asyncio.to_thread(waiting.wait, 60)
    try:
        watchdog._thread = thread.ident or 0
        await until(lambda: (frame := stack.frame_of(watchdog._thread)) is not None and stack.is_waiting(frame))
        watchdog._waiting, watchdog._sent = True, clock.now - 5
        with recorded_logs("pilotage.watchdog") as lines:
            watchdog._look()
        assert lines == []
    finally:
        end.set()
        await asyncio.to_thread(thread.join)


async def test_a_busy_machine_is_not_taken_for_a_process_that_was_stopped() -> None:
    clock = Seconds()
    watchdog = Watchdog(1, clock=clock)
    watchdog._ask()
    clock.now += 5.25
    with recorded_logs("pilotage.watchdog") as lines:
        watchdog._forgive(5, waited=4.5)
        watchdog._look()
    assert lines == []
    assert watchdog.blocked_seconds == 0.25


async def test_time_in_which_the_loop_waited_for_a_cpu_does_not_count_as_blocked() -> None:
    clock, waited = Seconds(), Seconds()
    watchdog = Watchdog(1, clock=clock, cpu_wait=lambda thread: waited.now)
    watchdog._ask()
    _WATCHDOGS[asyncio.get_running_loop()] = [watchdog]
    with recorded_logs("pilotage.watchdog") as lines:
        clock.now, waited.now = clock.now + 5, waited.now + 4.5
        watchdog._look()
        assert lines == []
        clock.now += 0.5
        watchdog._look()
        assert len(lines) == 1
    assert watchdog.blocked_seconds == 5.5


def frames(function: Callable[[Callable[[], None]], object]) -> list[FrameType]:
    """The frame in which `function` calls back, as another thread would see it."""
    found: list[FrameType] = []
    function(lambda: found.append(sys._getframe(1)))
    return found


def test_the_place_is_the_line_of_the_program_and_after_it_that_of_a_library() -> None:
    [own] = frames(lambda call: call())
    assert stack.place(own).startswith(f"{__file__}:")
    assert "<lambda>" in stack.place(own)
    [sleeping] = frames(lambda call: threading.Timer(0, call).run())
    place = stack.place(sleeping)
    assert place.startswith(f"{__file__}:")
    assert f"which called {threading.__file__}:" in place
