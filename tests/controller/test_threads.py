"""Threads of reconcilers that are not async are used again."""

from __future__ import annotations

import threading

from pilotage.controller.threads import ThreadPool


def _run(pool: ThreadPool) -> int:
    """Run something, and wait until its thread is idle: the identity of the thread."""
    done, found = threading.Event(), list[int]()

    def work() -> None:
        found.append(threading.get_ident())
        done.set()

    pool.run(work)
    assert done.wait(10)
    return found[0]


def _wait_idle(pool: ThreadPool, count: int) -> None:
    while pool.idle != count:
        threading.Event().wait(0.001)


def test_a_thread_is_used_again() -> None:
    pool = ThreadPool()
    first = _run(pool)
    _wait_idle(pool, 1)
    assert _run(pool) == first
    _wait_idle(pool, 1)


def test_work_at_the_same_time_has_threads_of_its_own() -> None:
    pool, release, started = ThreadPool(), threading.Event(), threading.Barrier(4)

    def work() -> None:
        started.wait(10)
        release.wait(10)

    for _ in range(3):
        pool.run(work)
    started.wait(10)  # all three run now
    assert pool.idle == 0
    release.set()
    _wait_idle(pool, 3)


def test_an_idle_thread_ends_after_a_while() -> None:
    pool = ThreadPool(idle_seconds=0.01)
    _run(pool)
    _wait_idle(pool, 0)


def test_work_that_fails_does_not_keep_the_next_from_running() -> None:
    pool = ThreadPool()
    hook, threading.excepthook = threading.excepthook, lambda _: None
    try:
        pool.run(lambda: (_ for _ in ()).throw(SystemExit))
        assert _run(pool)
    finally:
        threading.excepthook = hook
