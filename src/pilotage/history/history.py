"""The history: what the reconciles of a manager did, and why, until its size is reached.

A ring has the reconciles in the order in which they began, with their causes. When it is full, the oldest are dropped.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pilotage.history import chains
from pilotage.history.options import HistoryOptions
from pilotage.history.records import (
    CURRENT,
    MOST_STEPS,
    OVERHEAD,
    CallNote,
    Cause,
    DroppedNote,
    EventData,
    EventNote,
    ForgottenEvent,
    Named,
    Note,
    Origin,
    Run,
    Step,
    size_of,
    size_of_note,
)
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.scalars import times

if TYPE_CHECKING:
    from pilotage.history.stories import Reconcile
    from pilotage.history.storybuilder import StoryBuilder

_OF_DROPPED = 8
"""The events that predicates dropped have this part of the size, apart from the reconciles: they may be many."""
_CHECKED = 256
"""After so many further events, the size of the events that wait for a reconcile is checked."""
_OF_RUN = 4
"""One reconcile has this part of the size at most; so have the events of a controller that wait for one."""


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
    """Reconciles in the order in which they began, of a bounded size. One that still runs counts when it has ended."""

    __slots__ = ("entries", "most", "size", "writes")

    def __init__(self, most: int) -> None:
        self.most = most
        self.entries: deque[Run] = deque()
        self.size = 0
        self.writes: dict[tuple[str, int], tuple[Run, CallNote]] = {}
        """The writes of its reconciles, by the uid and the version that they left."""

    def drop_oldest(self) -> None:
        """Drop the oldest while they are too large together."""
        while self.size > self.most and self.entries:
            oldest = self.entries.popleft()
            self.size -= oldest.size
            oldest.room = 0  # it is not recorded further, if it still runs
            if oldest.last_write is not None:
                self._forget_writes(oldest)

    def _forget_writes(self, run: Run) -> None:
        for step in run.steps:
            for written in (step.written or ()) if isinstance(step, CallNote) else ():
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
        self._size += note.size
        while self._size > self._most:
            self._size -= self.notes.popleft().size


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
        self.dropped = Dropped(self.options.max_bytes // _OF_DROPPED)
        """The events that led to no request."""
        self.numbers = itertools.count(1)
        """The numbers of the reconciles."""
        self.listeners: tuple[Listener, ...] = ()
        self.program = ""
        """The program, as `pilotage run` takes it; recordings have it."""
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
            self.listeners = listeners
            for journal in self.journals:
                journal.listeners = listeners

        set_listeners((*self.listeners, listener))
        return lambda: set_listeners(tuple(one for one in self.listeners if one is not listener))

    def explain(self, write: Callable[[str], object] = print, only: str = "") -> Callable[[], None]:
        """Write the lines of each reconcile from the next one on, as `pilotage run --explain`; the returned function
        ends it.

        `only` names the object: `default/main` or `database/main`. At most a hundred lines are written in a second;
        then one line has the number of the reconciles that were left out.
        """
        from pilotage.history.narration.layout import laid_out
        from pilotage.history.narration.narrator import Narrator
        from pilotage.history.narration.selection import selected

        return Narrator(self, lambda found: write("\n".join(laid_out(found))), selected(only)).close

    def reconciles(self, kind: Kind | None = None, name: str = "", *, namespace: str = "") -> Sequence[Reconcile]:
        """The reconciles that are in the history, the oldest first: all, or the reconciles of a kind or of one
        object."""
        wanted = gvk_of(kind).group_kind if kind is not None else None
        runs = [
            run
            for run in self.ring.entries
            if (wanted is None or (run.journal.kind is not None and run.journal.kind.group_kind == wanted))
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

    __slots__ = (
        "_events",
        "_is_full",
        "_numbers",
        "_ring",
        "_room",
        "controller",
        "enabled",
        "history",
        "kind",
        "listeners",
        "log_fields",
        "most_of_run",
        "waiting",
    )

    def __init__(self, history: History, controller: str, kind: GroupVersionKind | None) -> None:
        self.history = history
        self.controller = controller
        self.kind = kind
        self.log_fields: dict[str, object] = {"controller": controller}
        """The fields of every log line of this controller."""
        if kind is not None:
            self.log_fields |= {"controllerGroup": kind.group, "controllerKind": kind.kind}
        self.enabled = history.options.enabled
        self.most_of_run = history.options.max_bytes // _OF_RUN
        self.waiting: Callable[[], Iterable[Note]] = tuple
        """Returns the notes of the requests that wait on the queue."""
        self.listeners = history.listeners
        self._ring = history.ring
        self._numbers = history.numbers
        self._room = MOST_STEPS if self.enabled else 0
        self._events = 0
        self._is_full = False

    def event(self, origin: Origin, event: EventData) -> EventNote | None:
        """Record an event that puts requests on the queue; the note goes with them."""
        if not self.enabled:
            return None
        self._events += 1
        if not self._events % _CHECKED:
            self._is_full = sum(map(size_of_note, self.waiting())) > self.most_of_run
        if self._is_full:
            return EventNote(origin, ForgottenEvent(event.type, event.namespace, event.name))
        return EventNote(origin, event)

    def drop(self, origin: Origin, event: EventData, dropped_by: str, at: float) -> None:
        """Record an event that led to no request."""
        if self.enabled:
            size = OVERHEAD + len(event.new_data or b"") + len(event.old_data or b"")
            self.history.dropped.add(DroppedNote(self, EventNote(origin, event), dropped_by, at, size))

    def begin(self, request: Named, notes: Sequence[Cause], now: float, priority: int) -> Run:
        """Begin a reconcile, in the context of the current task."""
        number = next(self._numbers)
        run = Run(self, number, request, notes, now, priority, self._room, self.listeners)
        if self.enabled:
            self._ring.entries.append(run)
            if number == 1:
                self.history.anchor = now, self.history.clock()
            if run.listeners:
                for listener in run.listeners:
                    listener.begun(run)
        CURRENT.set(run)
        return run

    def written(self, run: Run, call: CallNote, uid: str, version: int) -> None:
        """Record what a write of a reconcile has left, so that its event is recognised. A version of 0: the write
        deleted the object."""
        if run.last_write is None:
            run.depth = chains.depth_of(run.notes)
        chains.WRITTEN[uid, version] = run.depth + 1
        if run.room:
            call.written = [*(call.written or ()), (uid, version)]
            self._ring.writes.setdefault((uid, version), (run, call))  # a write without a difference leaves the version

    def end(self, run: Run, now: float) -> None:
        """End a reconcile. It stays the current one of tasks that it has left, whose calls are not recorded."""
        CURRENT.set(None)
        run.ended = now
        if run.room:
            run.room = 0
            ring = self._ring
            run.size = size = size_of(run)
            ring.size += size
            if ring.size > ring.most:
                ring.drop_oldest()
        if run.listeners:
            for listener in run.listeners:
                listener.ended(run)
