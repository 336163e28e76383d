"""The history: what the reconciles of a manager did, and why, until its size is reached.

A ring has the reconciles in the order in which they began, with their causes. When it is full, the oldest are dropped.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from pilotage.history import chains
from pilotage.history.journal import Journal
from pilotage.history.options import HistoryOptions
from pilotage.history.records import (
    CallNote,
    Step,
)
from pilotage.history.ring import Dropped, Ring
from pilotage.history.runs import ControllerRecord, Meter, Run
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.scalars import times

if TYPE_CHECKING:
    from pilotage.history.stories import Reconcile
    from pilotage.history.storybuilder import StoryBuilder

_OF_DROPPED = 8
"""The events that predicates dropped have this part of the size, apart from the reconciles: they may be many."""


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


class History:
    """What the reconciles of one manager did. `manager.history` has it."""

    def __init__(self, options: HistoryOptions | None = None, clock: times.Clock = times.system_clock) -> None:
        self.options = options or HistoryOptions()
        self.clock = clock
        self.kind_of: Callable[[GroupVersionResource], GroupVersionKind | None] = lambda resource: None
        """The kind of a resource, where it is known."""
        self.journals: list[Journal] = []
        """A journal for each controller."""
        self.meter = Meter()
        self.ring = Ring(self.options.max_bytes, self.meter)
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
        made = Journal(self, ControllerRecord(self, controller, kind))
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
            if (wanted is None or (run.controller.kind is not None and run.controller.kind.group_kind == wanted))
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

    def written(self, run: Run, call: CallNote, uid: str, version: int) -> None:
        """Record what a write of a reconcile has left, so that its event is recognised. A version of 0: the write
        deleted the object."""
        if run.last_write is None:
            run.depth = chains.depth_of(run.notes)
        chains.WRITTEN[uid, version] = run.depth + 1
        if run.room:
            call.written = (*call.written, (uid, version))
            self.ring.writes.setdefault((uid, version), (run, call))  # a write without a difference leaves the version

    def time_of(self, moment: float) -> datetime:
        """The time of day of a moment of the loop, after its first reconcile also without the loop."""
        since, at = self.anchor or (asyncio.get_running_loop().time(), self.clock())
        return at + timedelta(seconds=moment - since)
