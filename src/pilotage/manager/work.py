"""Active work: which work is running, since when, and whether more is accepted.

    with tracker.track("backup", "shop/orders"):
        ...

The manager has a tracker for its controllers' reconciles; programs use the same one for their own work, so that a
shutdown waits for it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any
from weakref import WeakSet

from pilotage.manager.errors import ShuttingDown
from pilotage.meta.bounds.amounts import Seconds, count, optional_seconds
from pilotage.tasks import frames_of, is_set_within
from pilotage.telemetry.logs import logged_fields
from pilotage.telemetry.metrics import REGISTRY
from pilotage.telemetry.stack import place_of

RECONCILE = "controller.reconcile"
"""The kind of the work of one reconcile; its name is the controller's name and the request."""

_IN_FLIGHT = REGISTRY.gauge("pilotage_work_in_flight", "Active pieces of work.", ("kind",))
_TRACKERS: WeakSet[WorkTracker] = WeakSet()


@dataclass(frozen=True, slots=True)
class ActiveWork:
    """A piece of active work, and how long it has been running."""

    kind: str
    name: str
    seconds: float
    place: str = ""
    """`FILE:LINE in FUNCTION` of the program at which it waits, where that is known."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name} ({self.seconds:.1f} s)"


@dataclass(frozen=True, slots=True)
class WorkStatistics:
    """Counters of work so far: `finished` successfully, `failed` or cancelled, active now and at most."""

    in_flight: int = 0
    peak: int = 0
    started: int = 0
    finished: int = 0
    failed: int = 0


class WorkTracker:
    """Tracks every piece of work from its start to its end. Thread-safe."""

    def __init__(self, clock: Callable[[], float] | None = None, *, limit: int = 0) -> None:
        """`limit` is how much work may be active before `wait_for_room` waits; 0: no limit."""
        self._limit = count(limit, "limit")
        self._parts = 0
        self._queued: deque[asyncio.Future[None]] = deque()
        self._clock = clock or _seconds
        self._lock = threading.Lock()
        self._active: dict[Work, None] = {}  # in the order of their start
        self._kinds: dict[str, _Kind] = {}
        self._peak = 0
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._accepting = True
        _TRACKERS.add(self)

    def track(self, kind: str, name: str) -> Work:
        """A block that is one piece of work; raises ShuttingDown when it is entered after `stop_accepting`."""
        return Work(self, kind, name)

    def start(self, kind: str, name: str) -> Work:
        """Start a piece of work outside a `with` block; its `end` must be called. Raises ShuttingDown."""
        return Work(self, kind, name).__enter__()

    def stop_accepting(self) -> None:
        """Accept no more work. Active work continues, with its parts. A second call does nothing."""
        self._accepting = False
        while self._queued:
            self._wake_one()

    @property
    def has_room(self) -> bool:
        """Whether more work is accepted, and the limit not reached. Parts of work that has begun do not count."""
        return self._accepting and not 0 < self._limit <= len(self._active) - self._parts

    async def wait_for_room(self) -> None:
        """Back-pressure: wait, first come first served, until the limit is not reached, or until a shutdown begins.

        Called on one event loop. Work is refused only by a shutdown: work that does not wait here may exceed the limit.
        """
        loop, has_waited = asyncio.get_running_loop(), False
        while self._accepting and not self.has_room:
            turn, has_waited = loop.create_future(), True
            self._queued.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                with suppress(ValueError):
                    self._queued.remove(turn)
                self._wake_one()  # its turn may have come already
                raise
        if has_waited:
            loop.call_soon(self._pass_on)  # the caller may start no work: nothing would end, and wake the next one

    def _pass_on(self) -> None:
        if self.has_room:
            self._wake_one()

    def _wake_one(self) -> None:
        while self._queued:
            turn = self._queued.popleft()
            if not turn.done():
                turn.get_loop().call_soon_threadsafe(_set_done, turn)
                return

    @property
    def accepting(self) -> bool:
        return self._accepting

    @property
    def has_active_work(self) -> bool:
        return bool(self._active)

    def active(self) -> list[ActiveWork]:
        """The active work, the longest running first."""
        now = self._clock()
        with self._lock:
            return [ActiveWork(work.kind, work.name, now - work.began, work.place) for work in self._active]

    async def wait_idle(self, timeout: Seconds | None = None) -> bool:
        """Wait until no work is active; False after `timeout` seconds (None: no limit)."""
        timeout, idle = optional_seconds(timeout, "timeout"), asyncio.Event()
        waiting = (asyncio.get_running_loop(), idle)
        with self._lock:
            if not self._active:
                return True
            self._waiting.append(waiting)
        try:
            return await is_set_within(idle, timeout) or not self._active
        finally:
            with self._lock:
                if waiting in self._waiting:
                    self._waiting.remove(waiting)

    def statistics(self, kind: str | None = None) -> WorkStatistics:
        """The counters of one kind, or of all together."""
        with self._lock:
            if kind is not None:
                return self._kinds[kind].statistics() if kind in self._kinds else WorkStatistics()
            parts = [each.statistics() for each in self._kinds.values()]
            return WorkStatistics(
                len(self._active),
                self._peak,
                sum(part.started for part in parts),
                sum(part.finished for part in parts),
                sum(part.failed for part in parts),
            )

    def kinds(self) -> dict[str, WorkStatistics]:
        """The counters of each kind so far."""
        with self._lock:
            return {name: kind.statistics() for name, kind in self._kinds.items()}

    def _begin(self, work: Work) -> None:
        task = work.task = _current_task()
        # The loop of the task: to ask for the running one is a system call in Python 3.11.
        if task is not None and self._clock is _seconds:
            work.began = task.get_loop().time()
        else:
            work.began = self._clock()
        work.fields = logged_fields()
        with self._lock:
            # Under the lock, so that a shutdown sees all work that was accepted before `stop_accepting`.
            if not self._accepting and not work.is_part:
                raise ShuttingDown(f"{work.kind} {work.name} is not started: the program is shutting down")
            kind = self._kinds.get(work.kind) or self._new_kind(work.kind)
            self._active[work] = None
            self._parts += work.is_part
            if len(self._active) > self._peak:
                self._peak = len(self._active)
            kind.started += 1
            kind.in_flight += 1
            if kind.in_flight > kind.peak:
                kind.peak = kind.in_flight

    def _end(self, work: Work, failed: bool) -> None:
        with self._lock:
            if work not in self._active:
                return  # ended before, or never started
            del self._active[work]
            self._parts -= work.is_part
            kind = self._kinds[work.kind]
            kind.in_flight -= 1
            if failed:
                kind.failed += 1
            else:
                kind.finished += 1
            if self._queued:
                self._wake_one()
            if self._active or not self._waiting:
                return
            woken, self._waiting = self._waiting, []
        for loop, idle in woken:
            if not loop.is_closed():
                loop.call_soon_threadsafe(idle.set)  # work may end in a thread

    def _new_kind(self, name: str) -> _Kind:
        kind = self._kinds[name] = _Kind()
        _IN_FLIGHT.labels(name).set_function(partial(_measured, name))
        return kind


def work_of(task: asyncio.Task[Any]) -> Work | None:
    """The active work of this task, of any tracker; the last one started."""
    for tracker in list(_TRACKERS):
        with tracker._lock:
            for work in reversed(tracker._active):
                if work.task is task:
                    return work
    return None


class Work:
    """One piece of work: a block, or a value whose `end` is called. `is_part`: it belongs to work that has begun."""

    __slots__ = ("_tracker", "began", "fields", "is_part", "kind", "name", "task")

    def __init__(self, tracker: WorkTracker, kind: str, name: str, *, is_part: bool = False) -> None:
        self.kind = kind
        self.name = name
        self.is_part = is_part
        self.began = 0.0
        self.task: asyncio.Task[Any] | None = None
        self.fields: Mapping[str, object] = {}
        self._tracker = tracker

    @property
    def place(self) -> str:
        """`FILE:LINE in FUNCTION` of the program at which its task waits; empty for a thread."""
        return place_of(frames_of(self.task)) if self.task is not None else ""

    def part(self, kind: str, name: str) -> Work:
        """Work inside this one. It is accepted also during a shutdown: work that has started must be able to finish."""
        return Work(self._tracker, kind, name, is_part=True)

    def end(self, *, failed: bool = False) -> None:
        """End the work; `failed` counts it as such. A second call does nothing."""
        self._tracker._end(self, failed)

    def __enter__(self) -> Work:
        self._tracker._begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tracker._end(self, error is not None)


class _Kind:
    """The counters of a kind; changed under the tracker's lock."""

    __slots__ = ("failed", "finished", "in_flight", "peak", "started")

    def __init__(self) -> None:
        self.in_flight = self.peak = self.started = self.finished = self.failed = 0

    def statistics(self) -> WorkStatistics:
        return WorkStatistics(self.in_flight, self.peak, self.started, self.finished, self.failed)


def _set_done(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def _measured(kind: str) -> float:
    """The active work of a kind in the whole process, counted when metrics are read, so that it costs work nothing."""
    return float(sum(tracker.statistics(kind).in_flight for tracker in list(_TRACKERS)))


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # in a thread without a loop
        return None


def _seconds() -> float:
    """The running loop's time, so that virtual time counts; in threads the clock of event loops."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()
