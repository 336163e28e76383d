"""The records that a history keeps, each part of a bounded size."""

from __future__ import annotations

from collections import deque

from pilotage.history.records import CallNote, DroppedNote
from pilotage.history.runs import Meter, Run

_OF_ROOM = 64
"""When the history is full, the oldest reconciles with this part of the size are dropped together."""


class Ring:
    """Reconciles in the order in which they began, of a bounded size.

    All that is recorded is a stream of bytes, which a meter counts. A reconcile has the position at which it began,
    and is dropped when the stream is further on by more than the size. So nothing is added up for each reconcile. What
    lies before that position: the objects of the events that waited on queues then, which are bounded on their own.
    """

    __slots__ = ("drop_at", "entries", "meter", "most", "writes")

    def __init__(self, most: int, meter: Meter) -> None:
        self.most = most
        self.meter = meter
        self.entries: deque[Run] = deque()
        self.drop_at = most
        """The position from which on the oldest are dropped."""
        self.writes: dict[tuple[str, int], tuple[Run, CallNote]] = {}
        """The writes of its reconciles, by the uid and the version that they left."""

    def drop_oldest(self) -> None:
        """Drop the oldest, until there is some room again."""
        entries, position = self.entries, self.meter.position
        first = position - self.most + self.most // _OF_ROOM
        while entries and entries[0].position < first:
            oldest = entries.popleft()
            if oldest.ended is None:
                oldest.room = 0  # it is not recorded further
            if oldest.last_write is not None:
                self._forget_writes(oldest)
        self.drop_at = (entries[0].position if entries else position) + self.most

    def _forget_writes(self, run: Run) -> None:
        for step in run.steps:
            for written in step.written if isinstance(step, CallNote) else ():
                self.writes.pop(written, None)


class Dropped:
    """Events that led to no request, of a bounded size."""

    __slots__ = ("_most", "_size", "notes")

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self.notes: deque[DroppedNote] = deque()

    def add(self, note: DroppedNote) -> None:
        self.notes.append(note)
        self._size += note.note.size
        while self._size > self._most:
            self._size -= self.notes.popleft().note.size
