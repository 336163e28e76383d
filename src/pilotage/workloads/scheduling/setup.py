"""The scheduler as a controller: the events that it receives, and its one request."""

from __future__ import annotations

from pilotage.cache.event import InformerEvent
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.types.core.v1 import Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.context import Context
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.scheduling.scheduler import NAME, Scheduler

_ALL = Request("all")
"""All Pods that wait are tried by one reconcile, because one Pod after the other is given a node."""


def setup(context: Context) -> None:
    """Add the scheduler to the manager of the context."""
    scheduler = Scheduler(context)
    placement = scheduler.placement

    def woken() -> Requests:
        return (_ALL,) if scheduler.wake() else ()

    def on_node(event: Event[Node]) -> Requests:
        if event.type == "delete":
            placement.remove_node(event.name)
            return woken()
        return woken() if placement.set_node(event.object) else ()

    def on_namespace(event: Event[Namespace]) -> Requests:
        placement.namespaces.pop(event.name, None)
        if event.type != "delete":
            placement.namespaces[event.name] = event.object.metadata.labels
        return woken() if event.type == "update" else ()

    def on_claim(event: Event[PersistentVolumeClaim]) -> Requests:
        return (_ALL,) if scheduler.note_claim(event.namespace, event.name) else ()

    def on_volume(event: Event[PersistentVolume]) -> Requests:
        return (_ALL,) if scheduler.note_volume(event.object) else ()

    def on_class(event: Event[StorageClass]) -> Requests:
        return woken()

    async def reconcile(request: Request) -> None:
        await scheduler.run()

    controller = (
        ControllerBuilder(context.manager)
        .watches(Node, on_node)
        .watches(Namespace, on_namespace)
        .watches(PersistentVolumeClaim, on_claim)
        .watches(PersistentVolume, on_volume)
        .watches(StorageClass, on_class)
        .named(NAME)
        .complete(reconcile)
    )

    def on_pod(event: InformerEvent[Pod], before: PodView | None, after: PodView | None) -> None:
        if scheduler.note(event, before, after):
            controller.queue.add(_ALL)

    context.pods.subscribe(on_pod)
