"""The work queue, with the meaning of controller-runtime's priority queue.

    queue: WorkQueue[str] = WorkQueue("names")
    queue.add("a")
    async with queue.take() as item:   # with this worker alone until the block ends
        ...

`schedule` decides which item is next; this module waits. A queue belongs to one event loop: call it there.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pilotage.errors import PilotageError
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.workqueue.limiters import ItemExponentialFailureRateLimiter, RateLimiter
from pilotage.workqueue.metrics import QueueMetrics, QueueObserver
from pilotage.workqueue.schedule import Schedule

T = TypeVar("T", bound=Hashable)

_LONGEST_TIMER = 86_400.0  # seconds; a timer that fires too early is set again. Not every loop accepts infinity
_TURN_SECONDS = 0.005  # how long workers that never await may keep the event loop from other tasks …
_TURN_ITEMS = 64  # … and how many items they may take: virtual time does not advance while they run


class QueueShutDown(PilotageError):
    """The queue is shut down and hands out no more items."""


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """The items of a queue at one moment."""

    ready: int
    delayed: int
    held: int
    workers_waiting: int
    shut_down: bool


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """Where an item is in a queue."""

    seconds: float
    """Until it is due; 0: it is ready."""
    ahead: int
    """Ready items that are handed out before it."""
    notes: tuple[object, ...]
    """Why it was added."""


class WorkQueue(Generic[T]):
    """Hands each item to one worker at a time, however often it is added.

    A `name` publishes its metrics under that name. `rate_limiter` decides how long items wait that are added with
    `rate_limited`: 5 ms after the first failure, twice as long after each further one, 1000 s at most.
    """

    def __init__(self, name: str = "", *, rate_limiter: RateLimiter[T] | None = None) -> None:
        self.name = name
        self.attachment: Any = None
        """A value that those who add items and those who take them share."""
        self._limiter: RateLimiter[T] = rate_limiter or ItemExponentialFailureRateLimiter()
        self._observer = QueueMetrics(name, _running(weakref.ref(self))) if name else QueueObserver()
        self._schedule: Schedule[T] = Schedule(self._observer)
        self._workers: deque[asyncio.Future[None]] = deque()  # of workers that wait for an item
        # Of callers that wait until the queue is idle: the horizon, or None if they wait until it is drained.
        self._watchers: list[tuple[float | None, asyncio.Future[None]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._accepts = True
        self._hands_out = True
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._clock = time.monotonic  # the loop's clock once an item was taken
        self._turn_ends = -1.0
        self._turn_items = 0

    def add(
        self,
        item: T,
        *,
        after: Seconds = 0.0,
        rate_limited: bool = False,
        priority: int | None = None,
        note: object = None,
    ) -> None:
        """Add `item`: now, after `after` seconds, or with `rate_limited` after the delay of the rate limiter.

        The shorter of both delays counts. A higher `priority` goes first. An item that is in the queue already gets the
        higher priority and the earlier time. One that a worker holds is handed out again once the worker is done.
        `note` says why the item is added, for the worker that takes it.
        """
        if not self._accepts:
            return
        loop = self._own_loop()
        after = seconds(after, "after", infinite=True, negative=True) if after else 0.0
        if rate_limited:
            # The rule of controller-runtime's AddWithOpts; `when` counts a failure, so it is called even if its result
            # is not used.
            limited = self._limiter.when(item)
            after = min(after, limited) if after > 0 else limited
        if after > 0:
            self._observer.retried()
            self._schedule.add(item, priority or 0, loop.time(), after, note)
            self._set_timer(loop)
        else:
            self._schedule.add(item, priority or 0, loop.time(), 0.0, note)
            if self._workers:
                self._wake()

    def add_after(self, item: T, after: Seconds) -> None:
        """Add `item` after a delay."""
        self.add(item, after=after)

    def add_rate_limited(self, item: T) -> None:
        """Add `item` after the delay of the rate limiter."""
        self.add(item, rate_limited=True)

    def forget(self, item: T) -> None:
        """Reset the failures of an item; it stays in the queue."""
        self._limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        """How often an item failed since the last `forget`."""
        return self._limiter.num_requeues(item)

    def take(self) -> Taking[T]:
        """Wait for the next item and hold it for the length of the block. Raises QueueShutDown after a shutdown."""
        return Taking(self)

    def priority_of(self, item: T) -> int:
        """The priority with which an item was handed out. Raises KeyError if no worker holds it."""
        return self._schedule.held[item].priority

    def waiting_notes(self) -> Iterator[Any]:
        """The notes of all items that wait or are ready."""
        return (note for _, note in self.timed_notes())

    def timed_notes(self) -> Iterator[tuple[float, Any]]:
        """The same, each with the time at which it was added."""
        return (timed for scheduled in self._schedule.scheduled() for timed in scheduled.notes)

    def shut_down(self, *, drain: bool = False) -> None:
        """Stop handing out items, at once. Later adds are ignored.

        With `drain`, items that are ready are still handed out, delayed ones are not; `wait_drained` waits for them.
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
        self._notify_watchers()

    def idle(self, horizon: float = 0.0) -> bool:
        """Whether no item is ready or held, and no delayed one is due within `horizon` seconds."""
        if self._schedule.held or self._schedule.ready_count:
            return False
        due = self._schedule.next_time()
        return due is None or due > self._own_loop().time() + horizon

    async def wait_idle(self, horizon: Seconds = 0.0) -> None:
        """Wait until the queue is idle."""
        horizon = seconds(horizon, "horizon", infinite=True)
        if not self.idle(horizon):
            await self._watch(horizon)

    async def wait_drained(self) -> None:
        """After a `shut_down` with `drain`: wait until all items are done, or until a plain `shut_down`."""
        if not self._is_drained():
            await self._watch(None)

    def in_progress(self) -> dict[T, float]:
        """The items that workers hold, and for how many seconds, the longest first."""
        now = self._clock()
        return {item: now - scheduled.since for item, scheduled in list(self._schedule.held.items())}

    def waiting(self) -> dict[T, float]:
        """The items of the queue, with the seconds until each is due, the next first; 0 for those that are ready."""
        now = self._own_loop().time()
        due = sorted(self._schedule.due(), key=lambda pair: pair[1])
        return {item: max(0.0, time - now) for item, time in due}

    def place_of(self, item: T) -> QueuePlace | None:
        """Where an item is; None if it is not in the queue, also if a worker holds it and it was not added again."""
        self._advance()
        found = self._schedule.find(item)
        if found is None:
            return None
        notes = tuple(note for _, note in found.notes)
        if found.waiting:
            return QueuePlace(max(0.0, found.ready_at - self._own_loop().time()), 0, notes)
        return QueuePlace(0.0, self._schedule.ahead_of(found), notes)

    def due(self, item: T) -> float | None:
        """The seconds until a delayed item is due, 0 for one that is ready, None for one that is not in the queue."""
        found = self._schedule.find(item)
        if found is None:
            return None
        return max(0.0, found.ready_at - self._own_loop().time()) if found.waiting else 0.0

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
        """Items that are ready; not those that are delayed or held."""
        self._advance()
        return self._schedule.ready_count

    def __bool__(self) -> bool:
        return True  # an empty queue is a queue

    async def _take(self, taking: Taking[T]) -> T:
        loop = self._own_loop()
        now = loop.time()
        self._turn_items += 1
        if self._turn_items > _TURN_ITEMS or now > self._turn_ends:
            await asyncio.sleep(0)  # a worker that never awaits gets item after item, and no other task would run
            now = self._begin_turn(loop)
        while True:
            if self._hands_out and (scheduled := self._schedule.take(now)) is not None:
                if self._workers:
                    self._wake()  # `take` may have made further items ready before the timer fired
                taking.item, taking.notes, taking.priority = scheduled.item, scheduled.notes, scheduled.priority
                return scheduled.item
            if not self._accepts:
                raise QueueShutDown(f"the queue {self.name!r} is shut down" if self.name else "the queue is shut down")
            await self._wait_for_item(loop)
            now = self._begin_turn(loop)

    def _own_loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the queue: the one on which it was first called. Raises RuntimeError on another one.

        `asyncio.get_running_loop` costs a system call in Python 3.11, so it is called once.
        """
        if self._loop is None or self._thread != threading.get_ident():
            running = asyncio.get_running_loop()
            if self._loop is not None:
                raise RuntimeError("a queue belongs to the event loop on which it was first used, and this is another")
            self._loop, self._thread = running, threading.get_ident()
        return self._loop

    def _begin_turn(self, loop: asyncio.AbstractEventLoop) -> float:
        """Begin a turn: other tasks have just run. Returns the time."""
        self._clock = loop.time  # for the gauges, which another thread may read
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
            self._wake()  # it may have been woken for an item that another worker can take
            raise

    def _done(self, item: T) -> None:
        self._schedule.done(item, self._clock())
        if self._workers:
            self._wake()
        if self._watchers:
            self._notify_watchers()

    def _wake(self) -> None:
        """Wake one worker if an item may be ready, or all of them if none will ever be."""
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
        """Make due items ready and wake a worker for each: the timer would not, as it finds them ready already."""
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

    def _notify_watchers(self) -> None:
        for horizon, watcher in self._watchers:
            if not watcher.done() and (self._is_drained() if horizon is None else self.idle(horizon)):
                watcher.set_result(None)

    def _is_drained(self) -> bool:
        return not self._hands_out or not (self._schedule.held or self._schedule.ready_count)


class Taking(Generic[T]):
    """Holds one item for the length of a block. A class, because it is cheaper than a generator."""

    __slots__ = ("_queue", "item", "notes", "priority")
    item: T
    notes: Sequence[tuple[float, Any]]
    """The notes with which it was added, each with the time."""
    priority: int
    """The priority with which it was handed out."""

    def __init__(self, queue: WorkQueue[T]) -> None:
        self._queue = queue

    def __aenter__(self) -> Coroutine[None, None, T]:
        return self._queue._take(self)

    async def __aexit__(self, *error: object) -> None:
        self._queue._done(self.item)


def _running(queue: weakref.ref[WorkQueue[T]]) -> Callable[[], Iterable[float]]:
    """A function for the seconds of each held item. The reference is weak, because metrics outlive queues."""

    def seconds() -> Iterable[float]:
        alive = queue()
        return alive._schedule.running(alive._clock()) if alive is not None else ()

    return seconds


def _release(workers: deque[asyncio.Future[None]]) -> None:
    """Wake all workers."""
    while workers:
        worker = workers.popleft()
        if not worker.done():
            worker.set_result(None)
