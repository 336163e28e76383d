"""The changes of the last while, each made into bytes once for all who get it. No I/O.

A place in the log is a number that only grows; the log forgets from its beginning.
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
"""How often a change is kept in bytes: three types in two generations, and some room."""


class LoggedEvent:
    """One change of a GPU. Its frames are made when somebody wants them, and kept."""

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
        """The change as it goes over the wire; for a watch with a selector it may be of another type."""
        key: tuple[WatchEventType, str] = (kind or self.kind, generation)
        found = self.frames.get(key)
        if found is None:
            found = self._rendered(render, *key)
            if len(self.frames) < _KEPT_FRAMES:
                self.frames[key] = found
        return found

    def _rendered(self, render: Render, kind: WatchEventType, generation: str) -> bytes:
        entry = self.event.previous if kind == "DELETED" else self.event.entry
        assert entry is not None, "a change has a state before it, or one after it"
        return render(kind, generation, entry, self.revision)


class EventLog:
    """Changes in the order of their versions: the newest `events` of them, or fewer where they are large."""

    def __init__(self, floor: int, *, events: int, size: int) -> None:
        self.floor = floor
        """Every change after this version is in the log, as far as it has been written."""
        self._changes: list[LoggedEvent] = []
        self._first = 0
        self._events = events
        self._size = size
        self._held = 0

    @property
    def first(self) -> int:
        """The place of the oldest change that is left."""
        return self._first

    @property
    def end(self) -> int:
        """The place of the next change to come."""
        return self._first + len(self._changes)

    def extend(self, changes: Sequence[LoggedEvent]) -> None:
        """Add changes, and forget old ones if need be."""
        self._changes += changes
        self._held += sum(change.size for change in changes)
        excess = len(self._changes) - self._events
        if excess > 0 or self._held > self._size:
            self._trim(max(excess, 0))

    def place_after(self, version: int) -> int:
        """The place of the first change after a version, which must not be older than `floor`."""
        return self._first + bisect_right(self._changes, version, key=attrgetter("revision"))

    def since(self, place: int, limit: int) -> Sequence[LoggedEvent]:
        """The changes from a place on, at most `limit`. The place must not be before `first`."""
        at = place - self._first
        return self._changes[at : at + limit]

    def clear(self, floor: int) -> None:
        """Forget everything: what was written has a gap before `floor`."""
        self._first += len(self._changes) + 1  # so that no cursor takes its place for one that is still there
        self._changes.clear()
        self.floor, self._held = floor, 0

    def _trim(self, count: int) -> None:
        # An eighth more than need be, so that a full log is not moved for every single change.
        count += self._events // 8 if count else 0
        held = self._held - sum(change.size for change in self._changes[:count])
        while held > self._size and count < len(self._changes) - 1:
            held -= self._changes[count].size
            count += 1
        if count:
            self.floor = self._changes[count - 1].revision
            del self._changes[:count]
            self._first += count
            self._held = held


_NOTHING = Entry("", b"", 0, 0)
