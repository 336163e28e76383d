"""Threads for reconcilers that are not async: used again, so that a reconcile does not start one each time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from pilotage.telemetry.metrics import REGISTRY

IDLE_SECONDS = 10.0
"""How long a thread waits for its next work before it ends."""

Work = Callable[[], None]

_THREADS = REGISTRY.gauge(
    "pilotage_reconcile_threads",
    "Threads of reconcilers that are not async, by what they do: busy or idle.",
    ("state",),
)
_BUSY, _IDLE = _THREADS.labels("busy"), _THREADS.labels("idle")


class ThreadPool:
    """Runs each work in a thread at once. How many there are is bounded by how much runs at a time.

    They are daemons: a reconciler that never returns must not keep the program from exiting.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Work]] = []

    def run(self, work: Work) -> None:
        """Run the work in an idle thread, or in a new one."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(work)
            return
        inbox = SimpleQueue()
        inbox.put(work)
        threading.Thread(target=self._serve, args=(inbox,), name="reconcile", daemon=True).start()

    @property
    def idle(self) -> int:
        """The number of threads without work."""
        with self._lock:
            return len(self._idle)

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
            del work  # it has the request and its context, which an idle thread must not keep
            with self._lock:
                self._idle.append(inbox)

    def _next(self, inbox: SimpleQueue[Work]) -> Work | None:
        _IDLE.inc()
        try:
            return inbox.get(timeout=self._idle_seconds)
        except Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
            return inbox.get()  # work was given to it just now
        finally:
            _IDLE.dec()


POOL = ThreadPool()
