"""Disruptions: the status of PodDisruptionBudgets, which evictions are checked against."""

from __future__ import annotations

from pilotage.cache.event import InformerEvent
from pilotage.controller.builder import ControllerBuilder
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.types.core.v1 import Pod
from pilotage.types.policy.v1 import PodDisruptionBudget
from pilotage.workloads.context import Context
from pilotage.workloads.disruptions import stale
from pilotage.workloads.disruptions.reconciler import Disruptions
from pilotage.workloads.pods.view import PodView


class _OfPod(Request, frozen=True):
    """A Pod that was to be deleted; other requests are budgets."""


def setup(context: Context) -> None:
    """Add the controller to the manager of the context."""
    disruptions = Disruptions(context)

    async def reconcile(request: Request) -> Result | None:
        if isinstance(request, _OfPod):
            return await stale.reset(context, request)
        return await disruptions.reconcile(request)

    controller = (
        ControllerBuilder(context.manager)
        .watches(PodDisruptionBudget, disruptions.on_budget)
        .named("disruption-controller")
        .complete(reconcile)
    )

    def on_pod(event: InformerEvent[Pod], before: PodView | None, after: PodView | None) -> None:
        for budget in disruptions.concerned(before, after):
            controller.reconcile_object(budget, event.namespace)
        if stale.may_be(event.new_data):
            controller.queue.add(_OfPod(event.name, event.namespace))

    context.pods.subscribe(on_pod)
