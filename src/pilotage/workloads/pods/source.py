"""The source of the controllers of Pods: the events of all Pods, as views, looked at once for all controllers.

A dozen controllers watch Pods, and each event concerns one or two of them. A source of an informer would cost each
controller the same for each event, whether it concerns it or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from pilotage.cache.event import InformerEvent
from pilotage.controller.debounce import Debounce, Debouncer
from pilotage.controller.request import Enqueue, Request
from pilotage.controller.sources.sources import Source
from pilotage.workloads.pods.index import Pods
from pilotage.workloads.pods.view import PodView
from pilotage.workqueue import WorkQueue

Requests = Iterable[Request | Enqueue]
PodHandler = Callable[[PodView | None, PodView | None], Requests | Awaitable[Requests]]
"""Maps a Pod before and after a change to requests; None before it is created, and after it is deleted."""


class PodSource(Source):
    """Adds the requests of its handlers to the queue of one controller; a burst for one request is one request."""

    def __init__(self, pods: Pods, *handlers: PodHandler, debounce: Debounce | None = None) -> None:
        self._pods = pods
        self._handlers = handlers
        self._debouncer = Debouncer(debounce) if debounce is not None else None
        self._queue: WorkQueue[Request] | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._unanswered = 0

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        """Begin with all Pods that there are."""
        self._queue, self._tasks = queue, tasks
        for pod in list(self._pods.all()):
            self._handle(None, pod)
        self._pods.subscribe(self._note)

    def stop(self) -> None:
        self._queue = None
        if self._debouncer is not None:
            self._debouncer.close()

    def idle(self, horizon: float) -> bool:
        return not self._unanswered and not self._debouncer

    def _note(self, event: InformerEvent[Any], before: PodView | None, after: PodView | None) -> None:
        self._handle(before, after)

    def _handle(self, before: PodView | None, after: PodView | None) -> None:
        if self._queue is None:
            return  # the controller has stopped
        for handler in self._handlers:
            found = handler(before, after)
            if not isinstance(found, Awaitable):
                self._add(found)
            elif self._tasks is not None:
                self._unanswered += 1
                self._tasks.create_task(self._add_later(found), name="requests of a Pod")

    async def _add_later(self, found: Awaitable[Requests]) -> None:
        try:
            self._add(await found)
        finally:
            self._unanswered -= 1

    def _add(self, requests: Requests) -> None:
        queue = self._queue
        if queue is None:
            return  # it has stopped meanwhile
        for request in requests:
            if isinstance(request, Enqueue):
                queue.add_after(request.request, request.after)
            elif self._debouncer is not None:
                self._debouncer.add(queue, request, 0)
            else:
                queue.add(request)


def owned_by(kind: str) -> PodHandler:
    """A handler: the controller of a Pod, if it is of this kind."""

    def requests(before: PodView | None, after: PodView | None) -> Requests:
        if after is not None and after.controller_kind == kind:
            yield Request(after.controller_name, after.namespace)
        if (
            before is not None
            and before.controller_kind == kind
            and (after is None or before.controller_uid != after.controller_uid)
        ):
            yield Request(before.controller_name, before.namespace)

    return requests
