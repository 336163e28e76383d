"""Answers to the requests of the page: each is computed when it is asked for, from the state of the manager."""

from __future__ import annotations

import asyncio
import math
import platform
from collections.abc import Sequence
from datetime import datetime

from pilotage.controller.request import Request
from pilotage.dashboard.astest import as_test
from pilotage.dashboard.gathering import Sources
from pilotage.dashboard.overview import overview, past_overview
from pilotage.dashboard.query import BadQuery, Query
from pilotage.dashboard.rows import RowMaker, detail, document, gpu_rows
from pilotage.dashboard.state.facts import Facts
from pilotage.dashboard.state.follower import Follower, follower_at
from pilotage.dashboard.state.objects import ObjectIndex, Placed, matcher
from pilotage.dashboard.state.past import changes_since, events_since, oldest
from pilotage.dashboard.stream import Stream
from pilotage.dashboard.summaries import newest, story, summary
from pilotage.dashboard.timeline import Selects, timeline
from pilotage.dashboard.values import GPUList, ObjectDetail, ObjectList, Overview, Story, SummaryList, Timeline
from pilotage.history.runs import Run
from pilotage.history.secrets import Hider

MOST_ROWS = 500
_PORTION = 200
"""Objects that are read before other tasks run."""
_FEW_OBJECTS = 1000
_READ_IN_A_SECOND = 10_000
_MOST_STALE = 5.0
"""Up to `_FEW_OBJECTS` are read whenever they have changed, more at this rate: a list may be older by this time."""
_TIMELINE_SECONDS = 60.0


class NotFoundInHistory(LookupError):
    """What was asked for does not exist, or is no longer in the history."""


class Dashboard:
    """The views of one manager."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._follower = Follower()
        self._fresh: list[Run] = []
        self._index = ObjectIndex()
        self._read = -1
        self._reading = asyncio.Lock()
        self._next_read = -math.inf
        self._changes = 0
        options = sources.history.options
        self._hider = Hider(options.secret_fields, sources.history.hash_key)
        self._hides_fields = bool(options.secret_fields)
        self.stream = Stream(self._look, self._show, lambda run: summary(sources, run), sources.now)

    def overview(self, query: Query) -> Overview:
        moment = self._moment(query)
        if moment is not None:
            return past_overview(self.sources, self.sources.gather(), follower_at(self.sources.history, moment), moment)
        self._follow()
        return overview(self.sources, self.sources.gather(), self._follower, self._next_of)

    def objects(self, query: Query) -> ObjectList:
        limit, offset = query.number("limit", MOST_ROWS, MOST_ROWS), query.number("offset", 0, 10**9)
        index, maker, _ = self._at(query)
        matches = matcher(query.text("search"), query.text("kind"), self._hider, hides_fields=self._hides_fields)
        found = index.order
        if query.text("search") or query.text("kind"):
            found = [placed for placed in found if matches(placed.facts)]
        return ObjectList(len(found), index.kinds(), tuple(map(maker.row, found[offset : offset + limit])))

    def all_rows(self, most: int) -> tuple[ObjectList, list[Facts]]:
        """The first objects of the list, and their facts."""
        index, maker, _ = self._at(Query("", ()))
        shown = index.order[:most]
        return ObjectList(len(index), index.kinds(), tuple(map(maker.row, shown))), [each.facts for each in shown]

    def object(self, query: Query) -> ObjectDetail:
        index, maker, moment = self._at(query)
        facts, placed = self._found(index, query)
        key = facts.kind, facts.namespace, facts.name
        return detail(self.sources, key, maker.row(placed), facts.data, self.sources.history.ring.entries, moment)

    def test(self, query: Query) -> str:
        """The object as a test."""
        index, _, _ = self._at(query)
        facts, _ = self._found(index, query)
        return as_test(document(self.sources, facts.kind, facts.data), self.sources.class_of(facts.kind))

    def reconciles(self, query: Query) -> SummaryList:
        before = query.number("before", 2**62, 2**62)
        controller, selects = query.text("controller"), _selects(query)
        found, total = newest(
            (
                run
                for run in self.sources.history.ring.entries
                if run.number < before
                and (not controller or run.controller.name == controller)
                and selects(_kind(run), run.request.namespace, run.request.name)
            ),
            query.number("limit", 200, MOST_ROWS) or 1,
        )
        return SummaryList(total, tuple(summary(self.sources, run) for run in found))

    def reconcile(self, number: int) -> Story:
        for run in self.sources.history.ring.entries:
            if run.number == number:
                return story(self.sources, run)
        raise NotFoundInHistory(f"reconcile #{number} is not in the history: it has not begun, or it was dropped")

    def timeline(self, query: Query) -> Timeline:
        since, until = query.time("from"), query.time("to")
        end = self.sources.moment_of(until) if until is not None else self.sources.now()
        start = self.sources.moment_of(since) if since is not None else end - _TIMELINE_SECONDS
        if start > end:
            raise BadQuery("the parameter from is later than to")
        return timeline(self.sources, start, end, _selects(query))

    def gpus(self, query: Query) -> GPUList:
        index, maker, _ = self._at(query)
        return GPUList(gpu_rows(index, maker, platform.node()))

    def _at(self, query: Query) -> tuple[ObjectIndex, RowMaker, float]:
        """The objects, what makes rows of them, and the moment, which may be in the past."""
        index, found, history = self._index, self.sources.gather(), self.sources.history
        moment, time_of = self._moment(query), self.sources.time_of
        if moment is None:
            self._follow()
            maker = RowMaker(found, self._follower, self._next_of, time_of, time_of(found.now))
            return index, maker, math.inf
        events = events_since(history, self.sources.waiting(), moment)
        past = index.changed(changes_since(events, moment))
        return past, RowMaker(found, follower_at(history, moment), _never, time_of, time_of(moment)), moment

    async def read_objects(self) -> None:
        """Read the objects of the caches, before a view that shows them. Other tasks run between portions of them,
        several callers read them once, and many objects that change all the time are not read all the time."""
        async with self._reading:
            changes, now = self.sources.changes(), self.sources.now()
            if changes == self._read or now < self._next_read:
                return
            read = 0
            for read, _ in enumerate(self._index.update([*self.sources.objects()]), start=1):
                if read % _PORTION == 0:
                    await asyncio.sleep(0)
            self._read = changes
            if len(self._index) > _FEW_OBJECTS:
                self._next_read = now + min(_MOST_STALE, (len(self._index) + 3 * read) / _READ_IN_A_SECOND)

    def _found(self, index: ObjectIndex, query: Query) -> tuple[Facts, Placed]:
        kind, namespace, name = query.required("kind"), query.text("namespace"), query.required("name")
        placed = index.find(kind, namespace, name)
        if placed is None:
            raise NotFoundInHistory(f"there is no {kind} {namespace}/{name} in the caches of this program")
        return placed.facts, placed

    def _moment(self, query: Query) -> float | None:
        """The moment of the parameter `at`; None for now. It is not before the history."""
        time = query.time("at")
        if time is None:
            return None
        moment = min(self.sources.moment_of(time), self.sources.now())
        first = oldest(self.sources.history)
        return max(moment, first) if first is not None else moment

    def _next_of(self, controller: str, request: Request) -> datetime | None:
        seconds = self.sources.due(controller, request)
        return self.sources.time_of(self.sources.now() + seconds) if seconds is not None else None

    def _follow(self) -> None:
        ended = self._follower.advance(self.sources.history)
        if self.stream.viewers:
            self._fresh += ended

    def _look(self) -> tuple[Sequence[Run], int]:
        self._follow()
        ended, self._fresh = self._fresh, []
        before, self._changes = self._changes, self.sources.changes()
        return ended, self._changes - before

    def _show(self) -> Overview:
        return overview(self.sources, self.sources.gather(), self._follower, self._next_of, with_series=False)


def _never(controller: str, request: Request) -> datetime | None:
    """When a request was due in the past is not recorded."""
    return None


def _selects(query: Query) -> Selects:
    kind, namespace, name = query.text("kind"), query.text("namespace"), query.text("name")

    def selects(of: str, within: str, named: str) -> bool:
        return (not kind or of == kind) and (not namespace or within == namespace) and (not name or named == name)

    return selects


def _kind(run: Run) -> str:
    return str(run.controller.kind.group_kind) if run.controller.kind is not None else ""
