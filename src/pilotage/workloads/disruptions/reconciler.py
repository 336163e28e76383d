"""Keeps the status of PodDisruptionBudgets."""

from __future__ import annotations

from pilotage.controller.event import Event
from pilotage.controller.handlers import Requests
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import Conflict, NotFound, PilotageError
from pilotage.meta.scalars import times
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from pilotage.workloads.context import Context
from pilotage.workloads.disruptions.decisions import (
    disrupted,
    expected,
    failed_status,
    has_status,
    healthy,
    needs_scale,
    next_status,
    selector_text,
)
from pilotage.workloads.disruptions.scale import Scales
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.recording import pod_reference
from pilotage.workloads.refusals import message_of

_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {0}) were found to be unmanaged. As a result, the status of "
    "the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please "
    'set ".spec.minAvailable" field of the PDB to an integer value.'
)


class Disruptions:
    """Reconciles each budget, and finds the budgets of Pods."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._recorder = context.recorder("controllermanager")
        self._scales = Scales(context.client)
        self._selectors: dict[str, dict[str, Selector]] = {}
        """For each namespace, the selectors of its budgets."""

    def on_budget(self, event: Event[PodDisruptionBudget]) -> Requests:
        """Remember what a budget selects, and reconcile it."""
        selectors = self._selectors.setdefault(event.namespace, {})
        if event.type == "delete":
            selectors.pop(event.name, None)
        else:
            selectors[event.name] = _selector(event.object)
        return (Request(event.name, event.namespace),)

    def concerned(self, before: PodView | None, after: PodView | None) -> list[str]:
        """The budget whose status may change with a Pod: the first one that selects it."""
        pod = after if after is not None else before
        if pod is None or not (selectors := self._selectors.get(pod.namespace)):
            return []
        if before is not None and after is not None and not _differs(before, after):
            return []
        found = [name for name, selector in selectors.items() if selector.matches(pod.labels)]
        if len(found) > 1 and after is not None:
            text = f'Pod "{pod.namespace}"/"{pod.name}" matches multiple PodDisruptionBudgets.  '
            text += f'Chose "{found[0]}" arbitrarily.'
            self._recorder.event(
                pod_reference(pod.namespace, pod.name, pod.uid), "Warning", "MultiplePodDisruptionBudgets", text
            )
        return found[:1]

    async def reconcile(self, request: Request) -> Result | None:
        budget = await self._context.client.find(PodDisruptionBudget, request)
        if budget is None:
            return None
        try:
            return await self._update(budget)
        except Conflict:
            return Result(requeue=True)
        except PilotageError as error:
            now = times.now(self._context.clock)
            return await self._write(budget, failed_status(budget, message_of(error), now))

    async def _update(self, budget: PodDisruptionBudget) -> Result | None:
        await self._context.pods.current()
        selector, namespace = _selector(budget), budget.metadata.namespace
        pods = [pod for pod in self._context.pods.in_namespace(namespace) if selector.matches(pod.labels)]
        if not pods:
            self._recorder.event(budget, "Normal", "NoPods", "No matching pods found")
        spec, now = budget.spec or PodDisruptionBudgetSpec(), times.now(self._context.clock)
        try:
            scale, unmanaged = await self._scales.expected(pods) if needs_scale(spec) else (0, [])
            wanted = expected(spec, len(pods), scale)
        except PilotageError as error:
            text = f"Failed to calculate the number of expected pods: {message_of(error)}"
            self._recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", text)
            raise
        if unmanaged:
            text = _UNMANAGED.format(selector_text(spec.selector))
            self._recorder.event(budget, "Warning", "UnmanagedPods", text)
        given = budget.status.disrupted_pods if budget.status is not None else {}
        found = disrupted(given, pods, now)
        for pod in found.overdue:
            text = f"Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"  # upstream's words
            self._recorder.event(pod_reference(pod.namespace, pod.name, pod.uid), "Warning", "NotDeleted", text)
        status = next_status(budget, wanted, healthy(pods, found.pods, now), found.pods, now)
        if not has_status(budget, status):
            await self._write(budget, status)
        return Result(requeue_after=(found.recheck - now).total_seconds() + 1) if found.recheck is not None else None

    async def _write(self, budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus) -> Result | None:
        budget.status = status
        try:
            await self._context.client.update_status(budget)
        except Conflict:
            return Result(requeue=True)
        except NotFound:
            return None
        return None


def _selector(budget: PodDisruptionBudget) -> Selector:
    """What a budget selects; without a selector, nothing."""
    selector = budget.spec.selector if budget.spec is not None else None
    return Selector.from_label_selector(selector) if selector is not None else Selector.parse("none,!none")


def _differs(before: PodView, after: PodView) -> bool:
    """Whether a change of a Pod concerns a budget."""
    return (
        before.uid != after.uid
        or before.is_ready != after.is_ready
        or before.labels != after.labels
        or before.controller_uid != after.controller_uid
        or (before.deleted is None) != (after.deleted is None)
    )
