"""Node lifecycle: nodes that are silent become unreachable, and nodes with problems are tainted."""

from __future__ import annotations

from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import Node
from pilotage.workloads.context import Context
from pilotage.workloads.nodelifecycle.reconciler import NodeLifecycle
from pilotage.workloads.nodes.simulated import LEASES


def setup(context: Context) -> None:
    """Add the controller to the manager of the context."""
    lifecycle = NodeLifecycle(context)

    def on_lease(event: Event[Lease]) -> Requests:
        return (Request(event.name),) if event.namespace == LEASES else ()

    controller = (
        ControllerBuilder(context.manager)
        .watches(Node, lifecycle.on_node)
        .watches(Lease, on_lease)
        .named("node-lifecycle-controller")
        .complete(lifecycle)
    )
    context.nodes.subscribe(controller.reconcile_object)
