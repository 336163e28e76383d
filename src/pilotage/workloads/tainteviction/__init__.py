"""Taint eviction: Pods leave nodes whose taints they do not tolerate, or do not tolerate any longer."""

from __future__ import annotations

from pilotage.cache.event import InformerEvent
from pilotage.controller.builder import ControllerBuilder
from pilotage.types.core.v1 import Node, Pod
from pilotage.workloads.context import Context
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.tainteviction.reconciler import TaintEviction


def setup(context: Context) -> None:
    """Add the controller to the manager of the context."""
    eviction = TaintEviction(context)
    controller = ControllerBuilder(context.manager).for_(Node).named("taint-eviction-controller").complete(eviction)

    def on_pod(event: InformerEvent[Pod], before: PodView | None, after: PodView | None) -> None:
        if (node := eviction.concerned(before, after)) is not None:
            controller.reconcile_object(node)

    context.pods.subscribe(on_pod)
