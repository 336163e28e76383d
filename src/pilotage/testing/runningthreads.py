"""The threads in which functions of a program run, for test loops, which do not advance the time meanwhile."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any

from pilotage.threads import POOL


class RunningThreads:
    """Counts the running threads. A thread that waits for the loop does not count."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._started = 0

    @property
    def any_started(self) -> bool:
        """Whether a function has not ended yet."""
        return self._started > 0

    @property
    def any_running(self) -> bool:
        return self._running > 0

    def run(self, work: Callable[[], None]) -> None:
        """Run the work in a thread."""

        def counted() -> None:
            try:
                work()
            finally:
                self._count(running=-1, started=-1)

        self._count(running=1, started=1)
        POOL.run(counted)

    def on_wait(self, answer: concurrent.futures.Future[Any]) -> None:
        """A thread is about to wait for an answer of the loop. It runs again when the loop has set it, even before it
        is awake."""
        self._count(running=-1)
        answer.add_done_callback(lambda _: self._count(running=1))

    def wait_until_none_runs(self) -> None:
        """Wait until each has ended or waits for the loop. Called by the thread that starts them."""
        if self._running > 0:  # no lock in most turns of the loop, in which there is none
            with self._changed:
                self._changed.wait_for(lambda: self._running <= 0)

    def _count(self, *, running: int, started: int = 0) -> None:
        with self._changed:
            self._running += running
            self._started += started
            self._changed.notify_all()
