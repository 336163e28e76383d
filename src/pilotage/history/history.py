"""The history: what the reconciles of a manager did, and why, until its size is reached.

A ring has events and reconciles in the order in which they began. When it is full, the oldest are dropped: an event
loses its objects and stays with the reconciles that it caused; a reconcile is gone.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pilotage.history import chains
from pilotage.history.options import HistoryOptions
from pilotage.history.records import CURRENT, OVERHEAD, CallNote, EventData, EventNote, Named, Origin, Run, Step
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.scalars import times

if TYPE_CHECKING:
    from pilotage.history.stories import Reconcile
    from pilotage.history.storybuilder import StoryBuilder

_OF_DROPPED = 8
"""The events that predicates dropped have a ring of their own, of this part of the size: they may be many."""
_OF_ONE = 4
"""One reconcile has this part of the size at most."""


class Listener(Protocol):
    """Is called while reconciles run, on the event loop, so it must be fast."""

    keeps_lists: bool
    """Whether it needs the objects of lists."""

    def begun(self, run: Run) -> None:
        """A reconcile begins."""

    def step(self, run: Run, step: Step) -> None:
        """It has read, written or logged. A call is added when it begins."""

    def ended(self, run: Run) -> None:
        """It has ended."""


class Ring:
    """Events and reconciles of a bounded size."""

    __slots__ = ("_most", "entries", "size", "writes")

    def __init__(self, most: int) -> None:
        self._most = most
        self.entries: deque[EventNote | Run] = deque()
        self.size = 0
        self.writes: dict[tuple[str, int], tuple[Run, CallNote]] = {}
        """The writes of its reconciles, by the uid and the version that they left."""

    def add(self, entry: EventNote | Run) -> None:
        self.entries.append(entry)
        self.grow(entry.size)

    def grow(self, size: int) -> None:
        """Count more bytes, and drop the oldest entries while there are too many."""
        self.size += size
        while self.size > self._most and self.entries:
            oldest = self.entries.popleft()
            self.size -= oldest.size
            if isinstance(oldest, EventNote):
                oldest.forget()
            else:
                oldest.room = -1  # it is not recorded further, if it still runs
                if oldest.last_write is not None:
                    self._forget_writes(oldest)

    def _forget_writes(self, run: Run) -> None:
        for step in run.steps:
            for written in step.written if isinstance(step, CallNote) else ():
                self.writes.pop(written, None)


class History:
    """What the reconciles of one manager did. `manager.history` has it."""

    def __init__(self, options: HistoryOptions | None = None, clock: times.Clock = times.system_clock) -> None:
        self.options = options or HistoryOptions()
        self.clock = clock
        self.kind_of: Callable[[GroupVersionResource], GroupVersionKind | None] = lambda resource: None
        """The kind of a resource, where it is known."""
        self.journals: list[Journal] = []
        """A journal for each controller."""
        self.ring = Ring(self.options.max_bytes)
        self.dropped = Ring(self.options.max_bytes // _OF_DROPPED)
        """The events that led to no request."""
        self.largest_run = self.options.max_bytes // _OF_ONE
        self.count = 0
        """The reconciles so far."""
        self.listeners: tuple[Listener, ...] = ()
        self.keeps_lists = False
        self.hash_key = os.urandom(16)
        """The key of the hashes of secret values."""
        self.anchor: tuple[float, datetime] | None = None
        """A moment of the loop, and the time of day then."""

    def journal(self, controller: str, kind: GroupVersionKind | None) -> Journal:
        """The part of the history that a controller records."""
        made = Journal(self, controller, kind)
        self.journals.append(made)
        return made

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a listener from the next reconcile on; the returned function ends it."""

        def set_listeners(listeners: tuple[Listener, ...]) -> None:
            self.listeners, self.keeps_lists = listeners, any(one.keeps_lists for one in listeners)

        set_listeners((*self.listeners, listener))
        return lambda: set_listeners(tuple(one for one in self.listeners if one is not listener))

    def reconciles(self, kind: Kind | None = None, name: str = "", *, namespace: str = "") -> Sequence[Reconcile]:
        """The reconciles that are in the history, the oldest first: all, those of a kind, or those of one object."""
        wanted = gvk_of(kind).group_kind if kind is not None else None
        runs = [
            run
            for run in self.ring.entries
            if isinstance(run, Run)
            and (wanted is None or (run.journal.kind is not None and run.journal.kind.group_kind == wanted))
            and (not name or run.request.name == name)
            and (not namespace or run.request.namespace == namespace)
        ]
        from pilotage.history.storybuilder import Reconciles

        return Reconciles(self.stories, runs)

    @cached_property
    def stories(self) -> StoryBuilder:
        """Makes the stories of records."""
        from pilotage.history.storybuilder import StoryBuilder

        return StoryBuilder(self)

    def time_of(self, moment: float) -> datetime:
        """The time of day of a moment of the loop, after its first reconcile also without the loop."""
        since, at = self.anchor or (asyncio.get_running_loop().time(), self.clock())
        return at + timedelta(seconds=moment - since)


class Journal:
    """What one controller records."""

    __slots__ = ("_ring", "controller", "enabled", "history", "kind")

    def __init__(self, history: History, controller: str, kind: GroupVersionKind | None) -> None:
        self.history = history
        self.controller = controller
        self.kind = kind
        self.enabled = history.options.enabled
        self._ring = history.ring

    def event(self, origin: Origin, event: EventData) -> EventNote | None:
        """Record an event that puts requests on the queue; the note goes with them."""
        if not self.enabled:
            return None
        new, old = event.new_data, event.old_data
        note = EventNote(origin, event, OVERHEAD + (len(new) if new else 0) + (len(old) if old else 0))
        self._ring.add(note)
        return note

    def drop(self, origin: Origin, event: EventData, dropped_by: str, at: float) -> None:
        """Record an event that led to no request."""
        if self.enabled:
            size = OVERHEAD + len(event.new_data or b"") + len(event.old_data or b"")
            self.history.dropped.add(EventNote(origin, event, size, dropped_by, at))

    def begin(self, request: Named, notes: list[tuple[float, object]], now: float, priority: int) -> Run:
        """Begin a reconcile, in the context of the current task."""
        history = self.history
        history.count = number = history.count + 1
        if history.anchor is None:
            history.anchor = now, history.clock()
        run = Run(self, number, request, notes, now, priority)
        if chains.WRITTEN and notes:  # else no reconcile has written yet
            run.depth = chains.depth_of(notes)
        if self.enabled:
            run.room = history.largest_run
            self._ring.add(run)
            if history.listeners:
                run.listeners, run.keeps_lists = history.listeners, history.keeps_lists
                for listener in run.listeners:
                    listener.begun(run)
        CURRENT.set(run)
        return run

    def written(self, run: Run, call: CallNote, uid: str, version: int) -> None:
        """Record what a write of a reconcile has left, so that its event is recognised. A version of 0: the write
        deleted the object."""
        call.written.append((uid, version))
        chains.WRITTEN[uid, version] = run.depth + 1
        if run.room >= 0:
            self._ring.writes[uid, version] = run, call

    def end(self, run: Run, now: float) -> None:
        """End a reconcile: tasks that it has left belong to it still, and record nothing more."""
        CURRENT.set(None)
        run.ended = now
        if run.room >= 0:
            run.room = -1
            run.size += run.grown
            self._ring.grow(run.grown)
        for listener in run.listeners:
            listener.ended(run)
