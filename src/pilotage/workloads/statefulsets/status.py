"""The status of a StatefulSet, counted from its Pods."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pilotage.types.apps.v1 import StatefulSet, StatefulSetStatus
from pilotage.workloads.pods.availability import is_available
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.statefulsets.identity import REVISION_LABEL, replicas_of

ROLLING_UPDATE, ON_DELETE = "RollingUpdate", "OnDelete"


def is_running_and_ready(pod: PodView) -> bool:
    return pod.phase == "Running" and pod.is_ready


def is_unavailable(pod: PodView | None, min_ready_seconds: int | None, now: datetime) -> bool:
    """Whether a Pod is not available, is being deleted, or does not exist."""
    return pod is None or pod.deleted is not None or not is_available(pod, min_ready_seconds, now)


def strategy_of(owner: StatefulSet) -> str:
    strategy = owner.spec.update_strategy
    return (strategy.type if strategy is not None else None) or ROLLING_UPDATE


def next_status(
    owner: StatefulSet, current: str, update: str, collision_count: int, pods: Iterable[PodView], now: datetime
) -> StatefulSetStatus:
    """The status with these Pods and the names of the two revisions."""
    replicas = ready = available = currents = updated = 0
    for pod in pods:
        replicas += 1
        if is_running_and_ready(pod):
            ready += 1
            available += is_available(pod, owner.spec.min_ready_seconds, now)
        if pod.deleted is None:
            revision = pod.labels.get(REVISION_LABEL, "")
            currents += revision == current
            updated += revision == update
    return StatefulSetStatus(
        observed_generation=owner.metadata.generation,
        replicas=replicas,
        ready_replicas=ready or None,  # a count of 0 is not written, but for two of them
        available_replicas=available,
        current_replicas=currents or None,
        updated_replicas=updated or None,
        current_revision=current,
        update_revision=update,
        collision_count=collision_count,
    )


def complete_rolling_update(owner: StatefulSet, status: StatefulSetStatus) -> None:
    """Make the update revision the current one, in place, when all Pods have it and are ready."""
    counts = status.updated_replicas or 0, status.ready_replicas or 0, status.replicas
    if strategy_of(owner) == ROLLING_UPDATE and all(count == replicas_of(owner) for count in counts):
        status.current_replicas = status.updated_replicas
        status.current_revision = status.update_revision


def without_one_current(status: StatefulSetStatus) -> None:
    """Count one Pod of the current revision less, in place: it is deleted for the update."""
    status.current_replicas = max((status.current_replicas or 0) - 1, 0) or None


def is_inconsistent(owner: StatefulSet, status: StatefulSetStatus) -> bool:
    """Whether a status differs from the stored one in a field that is compared."""
    old = owner.status if owner.status is not None else StatefulSetStatus(replicas=0)
    if (status.observed_generation or 0) > (old.observed_generation or 0):
        return True
    return _compared(status) != _compared(old)


def _compared(status: StatefulSetStatus) -> tuple[int | str, ...]:
    return (
        status.replicas,
        status.current_replicas or 0,
        status.ready_replicas or 0,
        status.updated_replicas or 0,
        status.available_replicas or 0,
        status.current_revision or "",
        status.update_revision or "",
    )
