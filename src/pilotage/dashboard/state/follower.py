"""Follows a history from its end, for the page: only what is new since the last call is looked at.

Nothing is added to the path of a reconcile. While no page is open, nothing runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pilotage.dashboard.state.figures import Tally
from pilotage.history.history import History
from pilotage.history.runs import Run
from pilotage.meta.bounds.recent import Recent

_OBJECTS = 100_000
"""Objects whose last reconcile is remembered."""
Key = tuple[str, str, str]
"""Controller, namespace and name."""


class LastRun(msgspec.Struct, gc=False):
    """The last reconcile of one object."""

    number: int = 0
    result: str = ""
    error: str = ""
    place: str = ""
    began: float = 0.0
    runs: int = 0


class Follower:
    """The tallies of all controllers, and the last reconcile of each object."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self._last: Recent[Key, LastRun] = Recent(_OBJECTS)
        self._newest = 0
        self._running: list[Run] = []

    def advance(self, history: History) -> list[Run]:
        """Take what is new since the last call; the runs that have ended, the oldest first."""
        begun = _since(history, self._newest)
        if begun:
            self._newest = begun[-1].number
        ended, running = list[Run](), list[Run]()
        for run in self._running:
            (running if run.ended is None else ended).append(run)
            if run.ended is not None:
                self.tally(run.controller.name).runs.discard(run)
        for run in begun:
            if run.ended is None:
                running.append(run)
                self.tally(run.controller.name).runs.add(run)
            else:
                ended.append(run)
        self._running = running
        for run in ended:
            self._end(run)
        return ended

    def tally(self, controller: str) -> Tally:
        found = self.tallies.get(controller)
        if found is None:
            found = self.tallies[controller] = Tally()
        return found

    def last_run(self, controller: str, namespace: str, name: str) -> LastRun | None:
        return self._last.get((controller, namespace, name))

    @property
    def last_runs(self) -> Mapping[Key, LastRun]:
        return self._last

    def _end(self, run: Run) -> None:
        self.tally(run.controller.name).add(run)
        key = run.controller.name, run.request.namespace, run.request.name
        last = self._last.get(key)
        if last is None:
            last = self._last[key] = LastRun()
        last.runs += 1
        if run.number > last.number:
            last.number, last.result, last.error, last.place, last.began = (
                run.number,
                run.result,
                run.error,
                run.place,
                run.began,
            )


def follower_at(history: History, moment: float) -> Follower:
    """The state at an earlier moment of the loop, from the runs that are still in the history."""
    made = Follower()
    for run in [*history.ring.entries]:
        if run.began > moment:
            if run.notes and min(at for at, _ in run.notes) <= moment:
                made.tally(run.controller.name).queued += 1
        elif run.ended is not None and run.ended <= moment:
            made._end(run)
        else:
            made.tally(run.controller.name).runs.add(run)
    return made


def _since(history: History, number: int) -> list[Run]:
    """The runs after one, the oldest first."""
    found = list[Run]()
    for run in reversed(history.ring.entries):
        if run.number <= number:
            break
        found.append(run)
    found.reverse()
    return found
