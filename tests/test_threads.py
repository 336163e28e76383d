"""Threads of functions that are not async are used again."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator

import pytest

from pilotage import threads
from pilotage.threads import ThreadPool


def _run(pool: ThreadPool) -> int:
    """Run something: the identity of its thread."""
    done, found = threading.Event(), list[int]()

    def work() -> None:
        found.append(threading.get_ident())
        done.set()

    pool.run(work)
    assert done.wait(60)
    return found[0]


def _wait_idle(pool: ThreadPool, count: int) -> None:
    with pool._changed:
        assert pool._changed.wait_for(lambda: len(pool._idle) == count, 60)


def test_a_thread_is_used_again() -> None:
    pool = ThreadPool()
    first = _run(pool)
    _wait_idle(pool, 1)
    assert _run(pool) == first
    _wait_idle(pool, 1)


def test_work_at_the_same_time_has_threads_of_its_own() -> None:
    pool, release, started = ThreadPool(), threading.Event(), threading.Barrier(4)

    def work() -> None:
        started.wait(60)
        release.wait(60)

    for _ in range(3):
        pool.run(work)
    started.wait(60)  # all three run now
    _wait_idle(pool, 0)
    release.set()
    _wait_idle(pool, 3)


def test_an_idle_thread_ends_after_a_while() -> None:
    pool = ThreadPool(idle_seconds=0.01)
    _run(pool)
    _wait_idle(pool, 0)


async def test_a_function_runs_in_a_thread_of_its_name_and_in_a_copy_of_the_context() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="")
    variable.set("given")

    def function() -> tuple[str, str]:
        found = threading.current_thread().name, variable.get()
        variable.set("changed")
        return found

    assert await threads.start(function, "some work") == ("some work", "given")
    assert variable.get() == "given"


async def test_what_a_function_raises_is_raised() -> None:
    def stop() -> Iterator[None]:
        raise StopIteration

    def fail() -> None:
        raise KeyError("absent")

    with pytest.raises(KeyError):
        await threads.start(fail, "failing")
    with pytest.raises(RuntimeError, match="the iteration raised StopIteration"):
        await threads.start(stop, "iteration")


async def test_the_result_for_a_caller_that_has_stopped_waiting_is_dropped() -> None:
    release, ended = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def function() -> None:
        release.wait(60)
        loop.call_soon_threadsafe(ended.set)

    future = threads.start(function, "abandoned")
    future.cancel()
    release.set()
    await ended.wait()
    assert future.cancelled()


@pytest.mark.virtual_time
async def test_in_virtual_time_no_time_passes_while_a_function_runs() -> None:
    loop = asyncio.get_running_loop()
    loop.call_later(1, print)
    assert await threads.start(threading.get_ident, "test") != threading.get_ident()
    assert loop.time() == 0
    with pytest.raises(ZeroDivisionError):
        await threads.start(lambda: 1 // 0, "test")
