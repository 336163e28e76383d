"""The end of a process after a signal. Neither an event loop nor the interpreter ends before the tasks and threads do
that run in them, and a reconcile may block the loop, ignore its cancellation, or run in a thread for hours."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import NamedTuple

EXIT_SECONDS = 5.0
"""How long a process may take after the grace period of a shutdown: cancelled tasks end, events are written, and the
storage is closed."""
NOTICE_SECONDS = 1.0
"""After a signal to which the event loop does not respond, the user is informed by this thread."""
_REPORT_SECONDS = 3.0  # a terminal that was paused, or a full pipe, must not keep the process

Action = Callable[[], None]


class _TimeOver(NamedTuple):
    code: int
    report: Action
    seconds: float


class ExitDeadline:
    """Ends the process with the exit code `code` if it has not ended at a deadline, which is set by signals, or with
    another code if its time is over.

    It is in force until the end of its block. `end` is for tests.
    """

    def __init__(self, code: int, end: Callable[[int], object] = os._exit) -> None:
        self._code = code
        self._end = end
        self._messages: SimpleQueue[float | _TimeOver | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, notice: Action, report: Action) -> None:
        """Start the thread, which calls `notice` a second after the first signal, and `report` at the deadline."""
        thread = threading.Thread(target=self._run, args=(notice, report), name="pilotage exit deadline", daemon=True)
        thread.start()
        self._thread = thread  # not of one that could not start: it cannot be joined

    def set(self, seconds: float) -> None:
        """A signal has arrived: the process ends in `seconds` at the latest. For signal handlers: it takes no lock that
        the interrupted code may hold."""
        self._messages.put(seconds)

    def set_over(self, code: int, report: Action, seconds: float | None = None) -> None:
        """The time of the command is over: the process ends in `seconds` (None: five) at the latest, with this exit
        code, after `report` was called."""
        self._messages.put(_TimeOver(code, report, EXIT_SECONDS if seconds is None else seconds))

    def __enter__(self) -> ExitDeadline:
        return self

    def __exit__(self, *exception: object) -> None:
        self._messages.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self, notice: Action, report: Action) -> None:
        deadline, noticing, code = math.inf, math.inf, self._code
        while True:
            try:
                seconds = self._messages.get(timeout=_left(min(deadline, noticing)))
            except Empty:
                if time.monotonic() >= deadline:
                    break
                noticing = math.inf
                _call(notice)
                continue
            if seconds is None:
                return
            if isinstance(seconds, _TimeOver):
                code, report, left = seconds
                deadline = min(deadline, time.monotonic() + left)
                continue
            if deadline == math.inf:
                noticing = time.monotonic() + NOTICE_SECONDS
            deadline = min(deadline, time.monotonic() + seconds)
        _call(report)
        self._end(code)


def exit_after_program(code: int) -> None:
    """When the program has ended, end the process after at most five seconds: the interpreter waits for its threads
    without limit. A program that continues, after it has caught SystemExit for instance, is not ended. Call it on the
    main thread."""
    pool = ThreadPoolExecutor(1, "pilotage exit")
    worker = pool.submit(threading.current_thread).result()
    arguments = (pool, worker, code)  # a pool that is no longer referenced ends its thread
    threading.Thread(target=_exit_after, args=arguments, name="pilotage exit deadline", daemon=True).start()


def _exit_after(pool: ThreadPoolExecutor, worker: threading.Thread, code: int) -> None:
    """The interpreter ends the idle threads of all pools before it waits for those that work. It declares the main
    thread as ended only after that, so joining the main thread would be too late."""
    worker.join()
    time.sleep(EXIT_SECONDS)
    try:
        _call(lambda: None)  # flush what was printed
    finally:  # no thread can be started any more
        os._exit(code)


def _left(moment: float) -> float | None:
    return None if moment == math.inf else max(0.0, moment - time.monotonic())


def _call(action: Action) -> None:
    """Call a function that prints, and do not wait for it without limit."""

    def print_all() -> None:
        action()
        sys.stdout.flush()
        sys.stderr.flush()

    printing = threading.Thread(target=print_all, name="pilotage exit report", daemon=True)
    printing.start()
    printing.join(_REPORT_SECONDS)
