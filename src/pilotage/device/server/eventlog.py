"""The recent changes, each encoded once for all watches. No I/O.

A position in the log only increases; the oldest changes are dropped first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter

from pilotage.rest.response import WatchEventType
from pilotage.storage.interface import Entry, Event

Render = Callable[[WatchEventType, str, Entry, int], bytes]
"""The frame of an event: its type, the wire's generation, the object, and the version it is shown at."""

_KEPT_FRAMES = 8
"""Encoded frames kept for one change: three types in two generations, and a reserve."""


class LoggedEvent:
    """One change of a GPU. Its frames are encoded on first use and kept."""

    __slots__ = ("event", "frames", "kind", "revision", "size")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.revision = event.revision
        self.kind: WatchEventType = (
            "DELETED" if event.entry is None else "ADDED" if event.previous is None else "MODIFIED"
        )
        self.size = len((event.entry or event.previous or _NOTHING).value)
        self.frames: dict[tuple[str, str], bytes] = {}

    def frame(self, render: Render, generation: str, kind: WatchEventType | None = None) -> bytes:
        """The encoded change; for a watch with a selector its type may differ."""
        key: tuple[WatchEventType, str] = (kind or self.kind, generation)
        found = self.frames.get(key)
        if found is None:
            found = self._rendered(render, *key)
            if len(self.frames) < _KEPT_FRAMES:
                self.frames[key] = found
        return found

    def _rendered(self, render: Render, kind: WatchEventType, generation: str) -> bytes:
        entry = self.event.previous if kind == "DELETED" else self.event.entry
        assert entry is not None, "a change has a previous or a new object"
        return render(kind, generation, entry, self.revision)


class EventLog:
    """The newest changes in the order of their versions: at most `events`, and at most `size` bytes."""

    def __init__(self, floor: int, *, events: int, size: int) -> None:
        self.floor = floor
        """Every change after this version is in the log."""
        self._changes: list[LoggedEvent] = []
        self._first = 0
        self._events = events
        self._size = size
        self._bytes = 0

    @property
    def first(self) -> int:
        """The position of the oldest change."""
        return self._first

    @property
    def end(self) -> int:
        """The position of the next change."""
        return self._first + len(self._changes)

    def extend(self, changes: Sequence[LoggedEvent]) -> None:
        """Add changes, and drop the oldest ones beyond the limits."""
        self._changes += changes
        self._bytes += sum(change.size for change in changes)
        excess = len(self._changes) - self._events
        if excess > 0 or self._bytes > self._size:
            self._trim(max(excess, 0))

    def position_after(self, version: int) -> int:
        """The position of the first change after a version, which must not be older than `floor`."""
        return self._first + bisect_right(self._changes, version, key=attrgetter("revision"))

    def since(self, position: int, limit: int) -> Sequence[LoggedEvent]:
        """At most `limit` changes from a position on, which must not be before `first`."""
        at = position - self._first
        return self._changes[at : at + limit]

    def clear(self, floor: int) -> None:
        """Drop all changes: some before `floor` are missing."""
        self._first += len(self._changes) + 1  # no position of a cursor stays valid
        self._changes.clear()
        self.floor, self._bytes = floor, 0

    def _trim(self, count: int) -> None:
        # An eighth more than necessary, so that a full log is not moved for each change.
        count += self._events // 8 if count else 0
        kept = self._bytes - sum(change.size for change in self._changes[:count])
        while kept > self._size and count < len(self._changes) - 1:
            kept -= self._changes[count].size
            count += 1
        if count:
            self.floor = self._changes[count - 1].revision
            del self._changes[:count]
            self._first += count
            self._bytes = kept


_NOTHING = Entry("", b"", 0, 0)
