"""Which item is next: the state of the queue, without any waiting. The time is a parameter.

An item is scheduled at most once: it waits for its time, or is ready. Ready items are taken by priority, and first in,
first out within a priority. An item that is held by a worker is not handed out again before that worker is done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

import msgspec

from pilotage.workqueue.metrics import QueueObserver

T = TypeVar("T", bound=Hashable)

MOST_NOTES = 10_000
"""The notes of one item that are kept; further ones are dropped."""
_SLACK = 64  # outdated records that a heap may have in addition to one for each scheduled item


class ScheduledItem(msgspec.Struct, Generic[T], eq=False):
    """An item that waits or is ready; after `take`, one that a worker holds."""

    item: T
    priority: int
    waiting: bool = False
    order: int = 0
    ready_at: float = 0.0
    since: float = 0.0
    """When it became ready; if it is held, when it was handed out."""
    notes: Sequence[tuple[float, object]] = ()
    """Why it was added, and when: a tuple of one, or a list."""

    def add_note(self, now: float, note: object) -> None:
        """Add another reason, while there are not too many."""
        if not isinstance(self.notes, list):
            self.notes = [*self.notes]
        if len(self.notes) < MOST_NOTES:
            self.notes.append((now, note))


class Schedule(Generic[T]):
    """The state of a queue.

    Both heaps have records `(key, order, scheduled)`. A heap cannot move or remove a record cheaply. So an item that
    moves gets a new record, and the old one stays: it is recognised, and skipped, when it reaches the top, because its
    order or its time is no longer the item's. A heap with too many outdated records is rebuilt.
    """

    def __init__(self, observer: QueueObserver) -> None:
        self._observer = observer
        self._items: dict[T, ScheduledItem[T]] = {}
        # No two records of a heap are equal in key and order, so the items themselves are never compared.
        self._ready: list[tuple[int, int, ScheduledItem[T]]] = []
        self._waiting: list[tuple[float, int, ScheduledItem[T]]] = []
        self._order = 0
        self.waiting_count = 0
        """Items that wait for their time."""
        self.held: dict[T, ScheduledItem[T]] = {}

    def add(self, item: T, priority: int, now: float, after: float = 0.0, note: object = None) -> None:
        """Schedule an item. One that is scheduled already gets the higher priority and the earlier time."""
        scheduled = self._items.get(item)
        if note is not None and scheduled is not None:
            scheduled.add_note(now, note)
        if scheduled is None:
            self._items[item] = scheduled = ScheduledItem(item, priority)
            if note is not None:
                scheduled.notes = ((now, note),)
            if after > 0:
                self._wait(scheduled, now + after)
            else:
                self._make_ready(scheduled, now)
        elif scheduled.waiting:
            if priority > scheduled.priority:
                scheduled.priority = priority
            if not after > 0:
                self._make_ready(scheduled, now)
            elif now + after < scheduled.ready_at:
                self._wait(scheduled, now + after)
        elif priority > scheduled.priority:
            # A ready item moves up: a new record with a new order. A lower priority never moves it down, because
            # another caller may rely on the higher one.
            self._observer.raised(scheduled.priority, priority)
            scheduled.priority = priority
            self._push(scheduled)
            if len(self._ready) > 2 * self.ready_count + _SLACK:
                self._ready = [record for record in self._ready if record[2].order == record[1]]
                heapify(self._ready)

    def take(self, now: float) -> ScheduledItem[T] | None:
        """Hand out the next item and mark it as held; None if nothing is ready."""
        if self.waiting_count:
            self.advance(now)
        ready = self._ready
        while ready:
            _, order, scheduled = heappop(ready)
            if scheduled.order == order:  # else an outdated record: the item was moved
                item = scheduled.item
                del self._items[item]
                self._observer.taken(scheduled.priority, now - scheduled.since)
                scheduled.since = now
                self.held[item] = scheduled
                return scheduled
        return None

    def done(self, item: T, now: float) -> None:
        """Release an item that a worker has finished. If it was added in the meantime, it can be handed out again."""
        self._observer.done(now - self.held.pop(item).since)
        scheduled = self._items.get(item)
        # With the order that it got when it was added: held items have no record, so that `take` need not skip them.
        if scheduled is not None and not scheduled.waiting:
            heappush(self._ready, (-scheduled.priority, scheduled.order, scheduled))

    def advance(self, now: float) -> None:
        """Make due items ready, in the order of their times."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            record = heappop(waiting)
            if _is_current(record):
                self._make_ready(record[2], record[0])  # since its due time, so that the metric counts a late timer

    def next_time(self) -> float | None:
        """When the next waiting item becomes ready."""
        waiting = self._waiting
        while waiting:
            if _is_current(waiting[0]):
                return waiting[0][0]
            heappop(waiting)
        return None

    def due(self) -> Iterator[tuple[T, float]]:
        """Every scheduled item, and when it becomes or became ready."""
        return (
            (scheduled.item, scheduled.ready_at if scheduled.waiting else scheduled.since)
            for scheduled in self._items.values()
        )

    def scheduled(self) -> Iterator[ScheduledItem[T]]:
        """Every item that waits or is ready."""
        return iter(self._items.values())

    def find(self, item: T) -> ScheduledItem[T] | None:
        """An item that waits or is ready; None if it is not scheduled."""
        return self._items.get(item)

    def ahead_of(self, wanted: ScheduledItem[T]) -> int:
        """How many ready items are taken before one that is ready."""
        rank = -wanted.priority, wanted.order
        others = (one for one in self._items.values() if not one.waiting and one.item not in self.held)
        return sum((-one.priority, one.order) < rank for one in others)

    def clear(self) -> None:
        """Remove every item that is not held."""
        for scheduled in self._items.values():
            if not scheduled.waiting:
                self._observer.dropped(scheduled.priority)
        self._items.clear()
        self._ready.clear()
        self.clear_waiting()

    def clear_waiting(self) -> None:
        """Remove the items that wait for their time."""
        for scheduled in [scheduled for scheduled in self._items.values() if scheduled.waiting]:
            del self._items[scheduled.item]
        self._waiting.clear()
        self.waiting_count = 0

    @property
    def can_take(self) -> bool:
        """Whether an item may be ready; outdated records count too."""
        return bool(self._ready)

    @property
    def ready_count(self) -> int:
        """Items that are ready, including held ones that were added again."""
        return len(self._items) - self.waiting_count

    def running(self, now: float) -> Iterator[float]:
        """How many seconds each held item has been with its worker."""
        return (now - held.since for held in list(self.held.values()))

    def _make_ready(self, scheduled: ScheduledItem[T], now: float) -> None:
        if scheduled.waiting:
            scheduled.waiting = False
            self.waiting_count -= 1
        scheduled.since = now
        self._observer.ready(scheduled.priority)
        self._push(scheduled)

    def _push(self, scheduled: ScheduledItem[T]) -> None:
        self._order = scheduled.order = self._order + 1
        if scheduled.item not in self.held:  # else `done` pushes it, in the order that it gets here
            heappush(self._ready, (-scheduled.priority, scheduled.order, scheduled))

    def _wait(self, scheduled: ScheduledItem[T], time: float) -> None:
        if not scheduled.waiting:
            scheduled.waiting = True
            self.waiting_count += 1
            self._order = scheduled.order = self._order + 1  # stays the same if the item gets an earlier time
        scheduled.ready_at = time
        heappush(self._waiting, (time, scheduled.order, scheduled))
        if len(self._waiting) > 2 * self.waiting_count + _SLACK:
            self._waiting = [record for record in self._waiting if _is_current(record)]
            heapify(self._waiting)


def _is_current(record: tuple[float, int, ScheduledItem[T]]) -> bool:
    """Whether a record of a waiting item is the latest one."""
    time, order, scheduled = record
    return scheduled.order == order and scheduled.ready_at == time
