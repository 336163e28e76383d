"""The status of a PodDisruptionBudget: how many Pods are healthy, how many must be, and how many may be disrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from pilotage.meta.conditions import Status, find_status_condition, set_status_condition
from pilotage.meta.objects import copy_of
from pilotage.meta.scalars.intorstring import scaled_value
from pilotage.types.meta.v1 import Condition, LabelSelector
from pilotage.types.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus
from pilotage.workloads.pods.view import PodView

DELETION_TIMEOUT = timedelta(minutes=2)
"""How long an evicted Pod may exist before it counts again, because its deletion has failed."""
CONDITION = "DisruptionAllowed"


def needs_scale(spec: PodDisruptionBudgetSpec) -> bool:
    """Whether a budget depends on how many Pods their controllers want."""
    return spec.max_unavailable is not None or isinstance(spec.min_available, str)


class Expected(NamedTuple):
    """What a budget asks for."""

    pods: int
    healthy: int


def expected(spec: PodDisruptionBudgetSpec, pods: int, scale: int) -> Expected:
    """How many Pods there should be, and how many of them healthy. Raises BadRequest for a wrong percentage."""
    if spec.max_unavailable is not None:
        return Expected(scale, max(0, scale - scaled_value(spec.max_unavailable, scale, round_up=True)))
    if isinstance(spec.min_available, str):
        return Expected(scale, scaled_value(spec.min_available, scale, round_up=True))
    return Expected(pods, spec.min_available) if spec.min_available is not None else Expected(0, 0)


class Disrupted(NamedTuple):
    """The Pods whose eviction was allowed, and that are not deleted yet."""

    pods: Mapping[str, datetime]
    overdue: Sequence[PodView]
    """Those that should have been deleted by now; they are not among `pods`."""
    recheck: datetime | None
    """When the next of them is overdue."""


def disrupted(given: Mapping[str, datetime], pods: Sequence[PodView], now: datetime) -> Disrupted:
    """Which of the Pods whose eviction was allowed are still to be deleted."""
    kept: dict[str, datetime] = {}
    overdue: list[PodView] = []
    recheck: datetime | None = None
    for pod in pods:
        since = given.get(pod.name)
        if since is None or pod.deleted is not None:
            continue
        due = since + DELETION_TIMEOUT
        if due < now:
            overdue.append(pod)
        else:
            kept[pod.name] = since
            recheck = due if recheck is None else min(recheck, due)
    return Disrupted(kept, overdue, recheck)


def healthy(pods: Sequence[PodView], waiting: Mapping[str, datetime], now: datetime) -> int:
    """How many Pods are ready and will not be deleted soon."""
    return sum(
        pod.is_ready
        and pod.deleted is None
        and not (pod.name in waiting and waiting[pod.name] + DELETION_TIMEOUT > now)
        for pod in pods
    )


def next_status(
    budget: PodDisruptionBudget, wanted: Expected, current: int, waiting: Mapping[str, datetime], now: datetime
) -> PodDisruptionBudgetStatus:
    """The status of a budget; equal to the one it has if nothing has changed."""
    before = budget.status or PodDisruptionBudgetStatus()
    allowed = max(0, current - wanted.healthy) if wanted.pods > 0 else 0
    status = PodDisruptionBudgetStatus(
        conditions=[copy_of(one) for one in before.conditions],
        current_healthy=current,
        desired_healthy=wanted.healthy,
        expected_pods=wanted.pods,
        disruptions_allowed=allowed,
        disrupted_pods=dict(waiting),
        observed_generation=budget.metadata.generation,
    )
    reason = "SufficientPods" if allowed else "InsufficientPods"
    set_allowed(status, "True" if allowed else "False", reason, "", now)
    return status


def has_status(budget: PodDisruptionBudget, wanted: PodDisruptionBudgetStatus) -> bool:
    """Whether a budget has a status already; the message of the condition does not count."""
    status = budget.status
    if status is None:
        return False
    found = find_status_condition(status.conditions, CONDITION)
    given = find_status_condition(wanted.conditions, CONDITION)
    return (
        _figures(status) == _figures(wanted)
        and found is not None
        and given is not None
        and (found.status, found.reason) == (given.status, given.reason)
    )


def _figures(status: PodDisruptionBudgetStatus) -> tuple[object, ...]:
    numbers = (status.current_healthy, status.desired_healthy, status.expected_pods, status.disruptions_allowed)
    return *(one or 0 for one in numbers), status.disrupted_pods, status.observed_generation


def failed_status(budget: PodDisruptionBudget, problem: str, now: datetime) -> PodDisruptionBudgetStatus:
    """The status of a budget that could not be computed: no disruption is allowed."""
    status = copy_of(budget.status) if budget.status is not None else PodDisruptionBudgetStatus()
    for field in ("current_healthy", "desired_healthy", "expected_pods"):
        if getattr(status, field) is None:
            setattr(status, field, 0)
    status.disruptions_allowed = 0
    set_allowed(status, "False", "SyncFailed", problem, now)
    return status


def set_allowed(status: PodDisruptionBudgetStatus, value: Status, reason: str, message: str, now: datetime) -> None:
    """Set the condition of a budget."""
    condition = Condition(
        type=CONDITION,
        status=value,
        reason=reason,
        message=message,
        last_transition_time=now,
        observed_generation=status.observed_generation or 0,
    )
    set_status_condition(status.conditions, condition)


def selector_text(selector: LabelSelector | None) -> str:
    """A selector as Go prints it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.match_labels.items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one.key},Operator:{one.operator},Values:[{' '.join(one.values)}],}},"
        for one in selector.match_expressions
    )
    given = f"MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},"
    return f"&LabelSelector{{{given}}}"
