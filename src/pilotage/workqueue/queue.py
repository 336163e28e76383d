"""The work queue, with the meaning of controller-runtime's priority queue.

    queue: WorkQueue[str] = WorkQueue("names")
    queue.add("a")
    async with queue.take() as item:   # with this worker alone until the block ends
        ...

What is decided is decided in `schedule`; here is the waiting. A queue belongs to one event loop: call it there.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, TypeVar

from pilotage.errors import PilotageError
from pilotage.workqueue.limiters import ItemExponentialFailureRateLimiter, RateLimiter
from pilotage.workqueue.metrics import NoMetrics, Observer, QueueMetrics
from pilotage.workqueue.schedule import Schedule

T = TypeVar("T", bound=Hashable)

_LONGEST_TIMER = 3600.0  # seconds; a timer that fires too early sets itself again, and no loop has to know infinity
_TURN_SECONDS = 0.005  # how long workers that never wait may keep the loop from everybody else …
_TURN_ITEMS = 64  # … and how many items they may take: virtual time stands still meanwhile


class QueueShutDown(PilotageError):
    """The queue hands out nothing any more."""


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """What a queue holds at one moment."""

    ready: int
    delayed: int
    held: int
    workers_waiting: int
    shut_down: bool


class WorkQueue(Generic[T]):
    """Hands each item to one worker at a time, however often it is added.

    A `name` makes its metrics visible under that name. `rate_limiter` says how long items wait that are added with
    `rate_limited`: 5 ms after the first failure, twice as long after each further one, 1000 s at most.
    """

    def __init__(self, name: str = "", *, rate_limiter: RateLimiter[T] | None = None) -> None:
        self.name = name
        self._limiter: RateLimiter[T] = rate_limiter or ItemExponentialFailureRateLimiter()
        self._observer: Observer = QueueMetrics(name, _running(weakref.ref(self))) if name else NoMetrics()
        self._schedule: Schedule[T] = Schedule(self._observer)
        self._workers: deque[asyncio.Future[None]] = deque()
        self._watchers: list[tuple[float | None, asyncio.Future[None]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._accepts = True
        self._hands_out = True
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._clock = time.monotonic
        self._turn_ends = -1.0
        self._turn_items = 0

    def add(self, item: T, *, after: float = 0.0, rate_limited: bool = False, priority: int | None = None) -> None:
        """Want `item` to be worked on: now, `after` seconds, or with `rate_limited` as the rate limiter says.

        Of both delays the shorter counts. The higher `priority` goes first. An item that is in the queue already keeps
        the higher one and the earlier time. One that is with a worker comes again once the worker is done with it.
        """
        if not self._accepts:
            return
        loop = self._own_loop()
        if rate_limited:
            limited = self._limiter.when(item)
            after = min(after, limited) if after > 0 else limited
        if after > 0:
            self._observer.retried()
            self._schedule.add(item, priority or 0, loop.time(), after)
            self._set_timer(loop)
        else:
            self._schedule.add(item, priority or 0, loop.time())
            if self._workers:
                self._wake()

    def add_after(self, item: T, seconds: float) -> None:
        """Want `item` to be worked on in some seconds."""
        self.add(item, after=seconds)

    def add_rate_limited(self, item: T) -> None:
        """Want `item` to be worked on when the rate limiter says so."""
        self.add(item, rate_limited=True)

    def forget(self, item: T) -> None:
        """Forget how often an item failed; this does not take it out of the queue."""
        self._limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """How often an item failed since it was last forgotten."""
        return self._limiter.num_requeues(item)

    def take(self) -> AbstractAsyncContextManager[T]:
        """Wait for the next item and hold it for the length of the block. Raises QueueShutDown at the end."""
        return _Taking(self)

    def priority_of(self, item: T) -> int:
        """The priority with which an item was handed out. KeyError if it is not with a worker."""
        return self._schedule.held[item].priority

    def shut_down(self, *, drain: bool = False) -> None:
        """Hand out nothing more, at once. Adds are ignored from now on.

        With `drain`, what is ready is still handed out (not what is delayed); `wait_drained` waits for the end of it.
        """
        self._accepts = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._schedule.clear_waiting()
        if not drain:
            self._hands_out = False
            self._schedule.clear()
        self._wake()
        self._tell_watchers()

    def idle(self, horizon: float = 0.0) -> bool:
        """Whether nothing is ready or with a worker, and nothing delayed comes within `horizon` seconds."""
        if self._schedule.held or self._schedule.ready_count:
            return False
        due = self._schedule.next_time()
        return due is None or due > self._own_loop().time() + horizon

    async def wait_idle(self, horizon: float = 0.0) -> None:
        """Wait until the queue is idle."""
        if not self.idle(horizon):
            await self._watch(horizon)

    async def wait_drained(self) -> None:
        """After a `shut_down` with `drain`: wait until all is done, or until a plain `shut_down`."""
        if not self._is_drained():
            await self._watch(None)

    def in_progress(self) -> dict[T, float]:
        """The items that are with a worker, and for how many seconds each has been, the longest first."""
        now = self._clock()
        return {item: now - entry.since for item, entry in list(self._schedule.held.items())}

    def waiting(self) -> dict[T, float]:
        """The items on the queue, with the seconds until each is due, the next first; 0 for what is ready."""
        now = self._own_loop().time()
        due = sorted(self._schedule.due(), key=lambda pair: pair[1])
        return {item: max(0.0, time - now) for item, time in due}

    def statistics(self) -> QueueStatistics:
        self._advance()
        schedule = self._schedule
        return QueueStatistics(
            ready=schedule.ready_count,
            delayed=schedule.waiting_count,
            held=len(schedule.held),
            workers_waiting=sum(not worker.done() for worker in self._workers),
            shut_down=not self._accepts,
        )

    def __len__(self) -> int:
        """Items that are ready; not those that are delayed or with a worker."""
        self._advance()
        return self._schedule.ready_count

    def __bool__(self) -> bool:
        return True  # an empty queue is a queue

    async def _get(self) -> T:
        loop = self._own_loop()
        now = loop.time()
        self._turn_items += 1
        if self._turn_items > _TURN_ITEMS or now > self._turn_ends:
            await asyncio.sleep(0)
            now = self._new_turn(loop)
        while True:
            if self._hands_out and (entry := self._schedule.take(now)) is not None:
                if self._workers:
                    self._wake()  # the take may have found that more items' time has come, before the timer did
                return entry.item
            if not self._accepts:
                raise QueueShutDown(f"the queue {self.name!r} is shut down" if self.name else "the queue is shut down")
            await self._wait_for_item(loop)
            now = self._new_turn(loop)

    def _own_loop(self) -> asyncio.AbstractEventLoop:
        """The loop that the queue belongs to: the one it was first called on. RuntimeError elsewhere.

        Asking for the running loop costs a system call in Python 3.11, so it is asked for once.
        """
        if self._loop is None or self._thread != threading.get_ident():
            running = asyncio.get_running_loop()
            if self._loop is not None:
                raise RuntimeError("a queue belongs to the event loop on which it was first used, and this is another")
            self._loop, self._thread = running, threading.get_ident()
        return self._loop

    def _new_turn(self, loop: asyncio.AbstractEventLoop) -> float:
        """The loop has just let others run. The time it is."""
        self._clock = loop.time  # for the gauges, which may be read from another thread
        now = loop.time()
        self._turn_items, self._turn_ends = 0, now + _TURN_SECONDS
        return now

    async def _wait_for_item(self, loop: asyncio.AbstractEventLoop) -> None:
        worker = loop.create_future()
        self._workers.append(worker)
        try:
            await worker
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._workers.remove(worker)
            self._wake()  # it may have been woken for an item that another one can take
            raise

    def _done(self, item: T) -> None:
        self._schedule.done(item, self._own_loop().time())
        if self._workers:
            self._wake()
        if self._watchers:
            self._tell_watchers()

    def _wake(self) -> None:
        """Wake a worker if there is something to take, or all of them if there will be nothing any more."""
        if not self._schedule.can_take:
            if not self._accepts:
                _release(self._workers)
            return
        while self._workers:
            worker = self._workers.popleft()
            if not worker.done():
                worker.set_result(None)
                return

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        due = self._schedule.next_time()
        if due is None:
            return
        due = min(due, loop.time() + _LONGEST_TIMER)
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = loop.call_at(due, self._on_timer, loop)

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._advance()
        self._set_timer(loop)

    def _advance(self) -> None:
        """Let what is due be ready, and wake a worker for each; the timer, which would, may find nothing left to do."""
        before = self._schedule.waiting_count
        if before:
            self._schedule.advance(self._own_loop().time())
            for _ in range(before - self._schedule.waiting_count):
                self._wake()

    async def _watch(self, horizon: float | None) -> None:
        watcher = self._own_loop().create_future()
        self._watchers.append((horizon, watcher))
        try:
            await watcher
        finally:
            self._watchers.remove((horizon, watcher))

    def _tell_watchers(self) -> None:
        for horizon, watcher in self._watchers:
            if not watcher.done() and (self._is_drained() if horizon is None else self.idle(horizon)):
                watcher.set_result(None)

    def _is_drained(self) -> bool:
        return not self._hands_out or not (self._schedule.held or self._schedule.ready_count)


class _Taking(Generic[T]):
    """One item, for the length of a block. (A class, not a generator: it is entered for every item.)"""

    __slots__ = ("_item", "_queue")
    _item: T

    def __init__(self, queue: WorkQueue[T]) -> None:
        self._queue = queue

    async def __aenter__(self) -> T:
        self._item = await self._queue._get()
        return self._item

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._queue._done(self._item)


def _running(queue: weakref.ref[WorkQueue[T]]) -> Callable[[], Iterable[float]]:
    """How long held items have been worked on; weakly, because metrics outlive queues."""

    def seconds() -> Iterable[float]:
        alive = queue()
        return alive._schedule.running(alive._clock()) if alive is not None else ()

    return seconds


def _release(workers: deque[asyncio.Future[None]]) -> None:
    """Let all that wait look again."""
    while workers:
        worker = workers.popleft()
        if not worker.done():
            worker.set_result(None)
