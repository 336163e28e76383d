"""Which item is next: the queue's state, without any waiting in it. Time is handed in.

An item has at most one entry. Its entry waits for its time, or is ready; what is ready comes out by priority, and
first in, first out within a priority. An item that is held (with a worker) is not handed out again before it is done.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from pilotage.workqueue.metrics import Observer

T = TypeVar("T", bound=Hashable)

_SLACK = 64  # outdated records that a heap may have beside as many as it has entries


class Entry(Generic[T]):
    """An item that somebody wants to be worked on; then, while a worker has it, that it is held."""

    __slots__ = ("item", "order", "priority", "ready_at", "since", "waiting")
    order: int
    ready_at: float
    since: float  # when it became ready; of a held one, when it was handed out

    def __init__(self, item: T, priority: int) -> None:
        self.item = item
        self.priority = priority
        self.waiting = False


class Schedule(Generic[T]):
    """The state of a queue.

    Both heaps hold records `(key, order, entry)`. An entry that moves gets a new record; its old one is outdated.
    That shows when it comes up: its order, or its time, is not the entry's any more.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._entries: dict[T, Entry[T]] = {}
        self._ready: list[tuple[int, int, Entry[T]]] = []
        self._waiting: list[tuple[float, int, Entry[T]]] = []
        self._order = 0
        self.waiting_count = 0
        """Entries that wait for their time."""
        self.held: dict[T, Entry[T]] = {}

    def add(self, item: T, priority: int, now: float, after: float = 0.0) -> None:
        """Want an item. One that is wanted already keeps the higher priority and the earlier time."""
        entry = self._entries.get(item)
        if entry is None:
            self._entries[item] = entry = Entry(item, priority)
            if after > 0:
                self._wait(entry, now + after)
            else:
                self._make_ready(entry, now)
        elif entry.waiting:
            if priority > entry.priority:
                entry.priority = priority
            if not after > 0:
                self._make_ready(entry, now)
            elif now + after < entry.ready_at:
                self._wait(entry, now + after)
        elif priority > entry.priority:
            self._observer.raised(entry.priority, priority)
            entry.priority = priority
            self._push(entry)
            if len(self._ready) > 2 * self.ready_count + _SLACK:
                self._ready = [record for record in self._ready if record[2].order == record[1]]
                heapify(self._ready)

    def take(self, now: float) -> Entry[T] | None:
        """Hand out the next item, and hold it; None where there is none."""
        if self.waiting_count:
            self.advance(now)
        ready = self._ready
        while ready:
            _, order, entry = heappop(ready)
            if entry.order == order:
                item = entry.item
                del self._entries[item]
                self._observer.taken(entry.priority, now - entry.since)
                entry.since = now
                self.held[item] = entry
                return entry
        return None

    def done(self, item: T, now: float) -> None:
        """The worker has finished with an item. If it was added meanwhile, it can be handed out again."""
        self._observer.done(now - self.held.pop(item).since)
        entry = self._entries.get(item)
        if entry is not None and not entry.waiting:
            heappush(self._ready, (-entry.priority, entry.order, entry))

    def advance(self, now: float) -> None:
        """Let the time pass: what was waiting for a time until now is ready, in the order of those times."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= now:
            record = heappop(waiting)
            if _is_current(record):
                self._make_ready(record[2], record[0])

    def next_time(self) -> float | None:
        """When the next of those that wait becomes ready."""
        waiting = self._waiting
        while waiting:
            if _is_current(waiting[0]):
                return waiting[0][0]
            heappop(waiting)
        return None

    def due(self) -> Iterator[tuple[T, float]]:
        """Every wanted item, and when it is or was ready."""
        return ((entry.item, entry.ready_at if entry.waiting else entry.since) for entry in self._entries.values())

    def clear(self) -> None:
        """Forget everything that is not held."""
        for entry in self._entries.values():
            if not entry.waiting:
                self._observer.dropped(entry.priority)
        self._entries.clear()
        self._ready.clear()
        self.clear_waiting()

    def clear_waiting(self) -> None:
        """Forget what waits for its time."""
        for entry in [entry for entry in self._entries.values() if entry.waiting]:
            del self._entries[entry.item]
        self._waiting.clear()
        self.waiting_count = 0

    @property
    def can_take(self) -> bool:
        """Whether there may be something to hand out."""
        return bool(self._ready)

    @property
    def ready_count(self) -> int:
        """Entries that are ready, those of held items among them."""
        return len(self._entries) - self.waiting_count

    def running(self, now: float) -> Iterator[float]:
        """How long each held item has been with its worker."""
        return (now - held.since for held in list(self.held.values()))

    def _make_ready(self, entry: Entry[T], now: float) -> None:
        if entry.waiting:
            entry.waiting = False
            self.waiting_count -= 1
        entry.since = now
        self._observer.ready(entry.priority)
        self._push(entry)

    def _push(self, entry: Entry[T]) -> None:
        self._order = entry.order = self._order + 1
        if entry.item not in self.held:  # else `done` pushes it, with the place in the order that it has got now
            heappush(self._ready, (-entry.priority, entry.order, entry))

    def _wait(self, entry: Entry[T], time: float) -> None:
        if not entry.waiting:
            entry.waiting = True
            self.waiting_count += 1
            self._order = entry.order = self._order + 1  # kept if the time is brought forward
        entry.ready_at = time
        heappush(self._waiting, (time, entry.order, entry))
        if len(self._waiting) > 2 * self.waiting_count + _SLACK:
            self._waiting = [record for record in self._waiting if _is_current(record)]
            heapify(self._waiting)


def _is_current(record: tuple[float, int, Entry[T]]) -> bool:
    """Whether a record of what waits is its entry's last one."""
    time, order, entry = record
    return entry.order == order and entry.ready_at == time
