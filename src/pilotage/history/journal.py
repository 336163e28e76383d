"""The journal of a controller: it adds records to a history while reconciles run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pilotage.history.records import OVERHEAD, Cause, DroppedNote, EventContent, EventNote, Named, Note, Origin
from pilotage.history.runs import CURRENT, STEPS, ControllerRecord, Run

if TYPE_CHECKING:
    from pilotage.history.history import History

_BEGUN = 8
"""While the events that wait are too large together, they are measured when this part of them has begun."""


class Journal:
    """What one controller records."""

    __slots__ = (
        "_full",
        "_measure_at",
        "_meter",
        "_numbers",
        "_ring",
        "_room",
        "controller",
        "enabled",
        "history",
        "listeners",
        "waiting",
    )

    def __init__(self, history: History, controller: ControllerRecord) -> None:
        self.history = history
        self.controller = controller
        self.enabled = history.options.enabled
        self.waiting: Callable[[], Iterable[Note]] = tuple
        """Returns the notes of the requests that wait on the queue."""
        self.listeners = history.listeners
        self._ring = history.ring
        self._meter = history.meter
        self._numbers = history.numbers
        self._room = STEPS if self.enabled else 0
        self._measure_at = controller.most_of_run
        self._full = 0

    def event(self, origin: Origin, event: EventContent, is_unchanged: bool) -> EventNote | None:
        """Record an event that puts requests on the queue; the note goes with them."""
        if not self.enabled:
            return None
        meter, old, new = self._meter, event.old_data, event.new_data
        if self._full:
            old = new = None
        meter.position = position = meter.position + OVERHEAD + len(new or b"") + len(old or b"")
        if position > self._measure_at:
            self._measure()
        return EventNote(
            origin, event.type, event.namespace, event.name, old, new, event.is_in_initial_list, is_unchanged
        )

    def _measure(self) -> None:
        """Look how large the events are that wait for a reconcile. They grow by half at most until the next time, so
        the cost for each event does not grow with their number."""
        sizes = [note.size for note in self.waiting()]
        size = sum(sizes)
        self._full = len(sizes) // _BEGUN + 1 if size > self.controller.most_of_run else 0
        self._measure_at = self._meter.position + max(self.controller.most_of_run - size, size // 2)

    def drop(self, origin: Origin, event: EventContent, dropped_by: str, at: float) -> None:
        """Record an event that led to no request."""
        if self.enabled:
            note = EventNote(
                origin,
                event.type,
                event.namespace,
                event.name,
                event.old_data,
                event.new_data,
                event.is_in_initial_list,
                event.is_unchanged,
            )
            self.history.dropped.add(DroppedNote(note, dropped_by, at))

    def begin(self, request: Named, notes: Sequence[Cause], now: float, priority: int) -> Run:
        """Begin a reconcile, in the context of the current task."""
        number, meter = next(self._numbers), self._meter
        position = meter.position
        run = Run(self.controller, number, request, notes, now, priority, self._room, self.listeners, position)
        if self.enabled:
            meter.position = position + OVERHEAD
            self._ring.entries.append(run)
            if number == 1:
                self.history.anchor = now, self.history.clock()
            if self._full:
                self._count_begun()
            if run.listeners:
                for listener in run.listeners:
                    listener.begun(run)
        CURRENT.set(run)
        return run

    def _count_begun(self) -> None:
        self._full -= 1
        if not self._full:
            self._measure()

    def end(self, run: Run, now: float) -> None:
        """End a reconcile. It stays the current one of tasks that it has left, whose calls are not recorded."""
        CURRENT.set(None)
        run.ended = now
        if run.room:
            run.room = 0
            run.steps = tuple(run.steps)  # the cyclic collector skips tuples of records, and not lists
            if type(run.notes) is list:
                run.notes = tuple(run.notes)
            if self._meter.position > self._ring.drop_at:
                self._ring.drop_oldest()
        if run.listeners:
            for listener in run.listeners:
                listener.ended(run)
            run.listeners = ()  # they lead back to the history
