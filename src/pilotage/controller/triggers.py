"""Which events led to a request, for the spans of reconciles. Nothing is kept while tracing is off."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pilotage.controller.event import Event
from pilotage.controller.request import Request
from pilotage.workqueue import WorkQueue

MAX_REQUESTS = 10_000
"""Requests of one queue whose triggers are kept; those of the oldest are dropped."""
MAX_TRIGGERS = 8
"""Triggers of one request that are kept; further ones are counted."""


class Triggers:
    """The triggers of the requests that wait in queues."""

    def __init__(self) -> None:
        self._queues: WeakKeyDictionary[WorkQueue[Request], dict[Request, list[str]]] = WeakKeyDictionary()

    def note(self, queue: WorkQueue[Request], request: Request, event: Event) -> None:
        """Record the event that put a request on a queue."""
        waiting = self._queues.setdefault(queue, {})
        found = waiting.get(request)
        if found is None:
            if len(waiting) >= MAX_REQUESTS:  # also requests that another replica works on, which are never taken here
                del waiting[next(iter(waiting))]
            found = waiting[request] = []
        if len(found) < MAX_TRIGGERS:
            found.append(str(event))
        elif len(found) == MAX_TRIGGERS:
            found.append("and more")

    def take(self, queue: WorkQueue[Request], request: Request) -> list[str]:
        """The triggers of a request that is being reconciled; empty for a retry, or if they are not known."""
        return self._queues.get(queue, {}).pop(request, [])


TRIGGERS = Triggers()
