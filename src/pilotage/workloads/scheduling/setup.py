"""The scheduler as a controller: the events that it is told of, and its one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pilotage.cache.event import InformerEvent
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.controller.sources.sources import Func
from pilotage.types.core.v1 import Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.context import Context
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.scheduling.scheduler import NAME, Scheduler
from pilotage.workqueue import WorkQueue

_ALL = Request("all")
"""All Pods that wait are tried by one reconcile, because one Pod after the other is given a node."""


class _Trigger:
    """Runs the scheduler when Pods are to be tried."""

    def __init__(self, context: Context) -> None:
        self.scheduler = Scheduler(context)
        self._queue: WorkQueue[Request] | None = None
        context.pods.subscribe(self.on_pod)

    async def start(self, queue: WorkQueue[Request]) -> None:
        self._queue = queue
        queue.add(_ALL)

    def on_pod(self, event: InformerEvent[Pod], before: PodView | None, after: PodView | None) -> None:
        if self.scheduler.note(event, before, after) and self._queue is not None:
            self._queue.add(_ALL)

    def on_node(self, event: Event[Node]) -> Requests:
        placement = self.scheduler.placement
        if event.type == "delete":
            placement.remove_node(event.name)
            return self._woken()
        return self._woken() if placement.set_node(event.object) else ()

    def on_namespace(self, event: Event[Namespace]) -> Requests:
        namespaces = self.scheduler.placement.namespaces
        namespaces.pop(event.name, None)
        if event.type != "delete":
            namespaces[event.name] = event.object.metadata.labels
        return self._woken() if event.type == "update" else ()

    def on_storage(self, event: Event[Any]) -> Requests:
        return self._woken()

    def _woken(self) -> Requests:
        return (_ALL,) if self.scheduler.wake() else ()


def setup(context: Context) -> None:
    """Add the scheduler to the manager of the context."""
    trigger = _Trigger(context)
    on_storage: Callable[[Event[Any]], Requests] = trigger.on_storage

    async def reconcile(request: Request) -> None:
        await trigger.scheduler.run()

    (
        ControllerBuilder(context.manager)
        .watches(Node, trigger.on_node)
        .watches(Namespace, trigger.on_namespace)
        .watches(PersistentVolumeClaim, on_storage)
        .watches(PersistentVolume, on_storage)
        .watches(StorageClass, on_storage)
        .watches_raw_source(Func(trigger.start))
        .named(NAME)
        .complete(reconcile)
    )
