"""Debouncing: a burst of events for one request leads to one reconcile, when the burst is over."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pilotage.controller.request import Request
from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.optionfields import check_fields, seconds_field
from pilotage.workqueue import WorkQueue
from pilotage.workqueue.schedule import MOST_NOTES

if TYPE_CHECKING:
    from pilotage.meta.bounds.amounts import Seconds

_LONGEST = 10
"""How many times `quiet` a request waits at most, unless `maximum` is given."""


@dataclass(frozen=True, slots=True)
class Debounce:
    """How long requests of events wait before they are queued. Both are seconds or timedeltas.

    A request is queued `quiet` seconds after its last event, but at the latest `maximum` seconds (by default ten times
    `quiet`) after its first, so that a constant stream of events is still reconciled.
    """

    quiet: float = seconds_field(zero=False)
    """How long no further event must come."""
    maximum: float | None = seconds_field(None)
    """How long a request waits at most; None: ten times `quiet`."""

    if TYPE_CHECKING:  # a field without a default cannot have two types

        def __init__(self, quiet: Seconds, maximum: Seconds | None = None) -> None: ...

    def __post_init__(self) -> None:
        check_fields(self)
        if self.longest < self.quiet:
            raise InvalidDefinition(
                f"Debounce(quiet={self.quiet!r}, maximum={self.maximum!r}): maximum must not be less than quiet"
            )

    @property
    def longest(self) -> float:
        """How long a request waits at most."""
        return _LONGEST * self.quiet if self.maximum is None else self.maximum


class Debouncer:
    """Requests that wait, each once. Sources of one controller share one, so that their events count together."""

    def __init__(self, debounce: Debounce) -> None:
        self._debounce = debounce
        self._waiting: dict[Request, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, queue: WorkQueue[Request], request: Request, priority: int, note: object = None) -> None:
        """Add the request of an event, which is put on the queue when it is due. `note` is passed to the queue."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        waiting = self._waiting.get(request)
        if waiting is None:
            waiting = self._waiting[request] = _Waiting(queue, priority, now + self._debounce.longest)
            waiting.timer = loop.call_later(self._debounce.quiet, self._release, request)
        waiting.priority = max(waiting.priority, priority)
        if len(waiting.notes) < MOST_NOTES:
            waiting.notes.append(note)
        waiting.due = min(now + self._debounce.quiet, waiting.latest)

    def close(self) -> None:
        """Drop all requests: the controller ends."""
        for waiting in self._waiting.values():
            if waiting.timer is not None:
                waiting.timer.cancel()
        self._waiting.clear()

    def _release(self, request: Request) -> None:
        loop, waiting = asyncio.get_running_loop(), self._waiting[request]
        if loop.time() < waiting.due:  # another event has moved the time: wait for the rest with one more timer
            waiting.timer = loop.call_at(waiting.due, self._release, request)
            return
        del self._waiting[request]
        for note in waiting.notes:
            waiting.queue.add(request, priority=waiting.priority, note=note)


@dataclass(slots=True)
class _Waiting:
    """A request that waits."""

    queue: WorkQueue[Request]
    priority: int
    latest: float
    due: float = 0.0
    timer: asyncio.TimerHandle | None = None
    notes: list[object] = field(default_factory=list)
