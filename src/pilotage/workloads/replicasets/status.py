"""What a ReplicaSet or a ReplicationController has to do, and its status: decided from its Pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from pilotage.controller.workloads.deletion import in_deletion_order
from pilotage.meta.values import Value
from pilotage.types.apps.v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetStatus
from pilotage.types.core.v1 import (
    ReplicationController,
    ReplicationControllerCondition,
    ReplicationControllerStatus,
)
from pilotage.workloads.pods import availability
from pilotage.workloads.pods.availability import is_available
from pilotage.workloads.pods.view import PodView

Owner = ReplicaSet | ReplicationController
Status = ReplicaSetStatus | ReplicationControllerStatus
Condition = ReplicaSetCondition | ReplicationControllerCondition

BURST_REPLICAS = 500
"""The most Pods that one reconcile creates or deletes."""
REPLICA_FAILURE = "ReplicaFailure"


class Difference(Value, frozen=True):
    """What one reconcile does about the number of Pods."""

    create: int = 0
    delete: Sequence[PodView] = ()


def next_difference(desired: int, active: Sequence[PodView], related: Iterable[PodView], now: datetime) -> Difference:
    """The Pods to create or to delete, at most 500 of them. `related` are the Pods of all ReplicaSets of the owner:
    a node with many of them loses one first."""
    surplus = len(active) - desired
    if surplus <= 0:
        return Difference(create=min(-surplus, BURST_REPLICAS))
    surplus = min(surplus, BURST_REPLICAS)
    if surplus == len(active):
        return Difference(delete=active)
    on_node = Counter(pod.node for pod in related if pod.is_active)
    return Difference(delete=in_deletion_order(active, on_node, now)[:surplus])


def replicas_of(owner: Owner) -> int:
    """The number of replicas that it should have; the server defaults it."""
    replicas = owner.spec.replicas if owner.spec is not None else None
    return 1 if replicas is None else replicas


def next_status(
    owner: Owner, active: Sequence[PodView], terminating: int | None, failure: str | None, now: datetime
) -> Status:
    """The status of `owner` with these Pods. `failure` is the error of creating or deleting Pods, and `terminating` is
    None for a kind whose status does not have this number."""
    fully_labeled, ready, available = _counts(owner, active, now)
    old = _status_of(owner)
    status: Status = replace(
        old,
        conditions=_conditions(owner, len(active), failure, now),
        replicas=len(active),
        fully_labeled_replicas=fully_labeled or None,  # a count of 0 is not written
        ready_replicas=ready or None,
        available_replicas=available or None,
        observed_generation=owner.metadata.generation,
    )
    if isinstance(status, ReplicaSetStatus):
        status.terminating_replicas = terminating
    return status


def next_check(owner: Owner, active: Sequence[PodView], now: datetime) -> timedelta | None:
    """When the next Pod becomes available; None if no ready Pod is waiting for `minReadySeconds`."""
    seconds = _min_ready_seconds(owner)
    if not seconds or all(is_available(pod, seconds, now) for pod in active if pod.is_ready):
        return None
    return availability.next_check(active, seconds, now)


def _counts(owner: Owner, active: Iterable[PodView], now: datetime) -> tuple[int, int, int]:
    template = owner.spec.template if owner.spec is not None else None
    labels = template.metadata.labels if template is not None and template.metadata is not None else {}
    seconds = _min_ready_seconds(owner)
    known: dict[int, bool] = {}  # Pods with equal labels share them
    fully_labeled = ready = available = 0
    for pod in active:
        matches = known.get(id(pod.labels))
        if matches is None:
            matches = known[id(pod.labels)] = _has_all(pod.labels, labels)
        fully_labeled += matches
        if pod.is_ready:
            ready += 1
            available += not seconds or is_available(pod, seconds, now)
    return fully_labeled, ready, available


def _has_all(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in wanted.items())


def _min_ready_seconds(owner: Owner) -> int:
    return (owner.spec.min_ready_seconds if owner.spec is not None else None) or 0


def _status_of(owner: Owner) -> Status:
    if owner.status is not None:
        return owner.status
    return ReplicaSetStatus(replicas=0) if isinstance(owner, ReplicaSet) else ReplicationControllerStatus(replicas=0)


def _conditions(owner: Owner, active: int, failure: str | None, now: datetime) -> list[Condition]:
    """A failure that is in the status already stays as it is, with its first message."""
    conditions: list[Condition] = list(owner.status.conditions) if owner.status is not None else []
    failed = any(each.type == REPLICA_FAILURE for each in conditions)
    if failure is None:
        return [each for each in conditions if each.type != REPLICA_FAILURE]
    if failed:
        return conditions
    surplus = active - replicas_of(owner)
    reason = "FailedCreate" if surplus < 0 else "FailedDelete" if surplus > 0 else ""
    made = ReplicaSetCondition if isinstance(owner, ReplicaSet) else ReplicationControllerCondition
    moment = now.replace(microsecond=0)
    return [
        *conditions,
        made(type=REPLICA_FAILURE, status="True", reason=reason, message=failure, last_transition_time=moment),
    ]
