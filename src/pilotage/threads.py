"""Threads for functions of users that are not async: reused, so that a call does not start a thread each time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from pilotage.telemetry.metrics import REGISTRY

IDLE_SECONDS = 10.0
"""How long a thread waits for its next work before it ends."""

T = TypeVar("T")
Work = Callable[[], None]

_THREADS = REGISTRY.gauge(
    "pilotage_function_threads",
    "Threads of reconcilers and webhook handlers that are not async, by what they do: busy or idle.",
    ("state",),
)
_BUSY, _IDLE = _THREADS.labels("busy"), _THREADS.labels("idle")


class ThreadPool:
    """Runs each piece of work in a thread at once. There are as many threads as pieces of work run at a time.

    They are daemons: a function that never returns must not keep the program from exiting.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._changed = threading.Condition()
        self._idle: list[SimpleQueue[Work]] = []

    def run(self, work: Work) -> None:
        """Run the work in an idle thread, or in a new one."""
        with self._changed:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(work)
            return
        inbox = SimpleQueue()
        inbox.put(work)
        threading.Thread(target=self._serve, args=(inbox,), name="pilotage function", daemon=True).start()

    def _serve(self, inbox: SimpleQueue[Work]) -> None:
        while True:
            work = self._next(inbox)
            if work is None:
                return
            _BUSY.inc()
            try:
                work()
            finally:
                _BUSY.dec()
            del work  # it has the arguments and the context, which an idle thread must not keep
            with self._changed:
                self._idle.append(inbox)
                self._changed.notify_all()

    def _next(self, inbox: SimpleQueue[Work]) -> Work | None:
        _IDLE.inc()
        try:
            return inbox.get(timeout=self._idle_seconds)
        except Empty:
            with self._changed:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    self._changed.notify_all()
                    return None
            return inbox.get()  # work was given to it just now
        finally:
            _IDLE.dec()


POOL = ThreadPool()


def start(function: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Call a function in a thread of this name, in a copy of the context. The future belongs to the running loop.

    Cancelling the future does not end the thread, whose result is then dropped. A loop for tests runs the thread itself
    (`run_thread`), so that no virtual time passes meanwhile.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def end(outcome: Callable[[], None]) -> None:
        if not ended.done():
            outcome()

    def work() -> None:
        thread = threading.current_thread()
        before, thread.name = thread.name, name
        outcome: Callable[[], None]
        try:
            outcome = partial(ended.set_result, context.run(function))
        except BaseException as raised:
            # A future cannot hold a StopIteration.
            error = RuntimeError(f"the {name} raised {raised!r}") if isinstance(raised, StopIteration) else raised
            outcome = partial(_fail, ended, error)
        finally:
            thread.name = before
        with suppress(RuntimeError):  # the loop is closed: nothing waits for it
            loop.call_soon_threadsafe(end, outcome)

    getattr(loop, "run_thread", POOL.run)(work)
    return ended


def wait_for(answer: concurrent.futures.Future[T], loop: asyncio.AbstractEventLoop) -> T:
    """Wait in a thread for an answer of the loop. A loop for tests is notified, as it waits for threads that run."""
    on_wait = getattr(loop, "on_thread_wait", None)
    if on_wait is not None:
        on_wait(answer)
    return answer.result()


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    future.set_exception(error)
    future.exception()  # else asyncio would log it if nothing waits for the result any more
