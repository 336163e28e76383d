"""The status of a Deployment: the sums over its ReplicaSets, and its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from pilotage.types.apps.v1 import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet
from pilotage.workloads.deployments.replicasets import actual, available, size
from pilotage.workloads.deployments.sizes import max_unavailable, replicas_of

AVAILABLE, PROGRESSING, REPLICA_FAILURE = "Available", "Progressing", "ReplicaFailure"
NEW_AVAILABLE, UPDATED, TIMED_OUT = "NewReplicaSetAvailable", "ReplicaSetUpdated", "ProgressDeadlineExceeded"
CREATED, FOUND, CREATE_ERROR = "NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetCreateError"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"
_NO_DEADLINE = 2**31 - 1
_SKEW = timedelta(seconds=1)
"""How much later than at its deadline a Deployment is reconciled."""
_SOON = timedelta(milliseconds=5)

Conditions = list[DeploymentCondition]


def status_of(deployment: Deployment) -> DeploymentStatus:
    return deployment.status if deployment.status is not None else DeploymentStatus()


def find(conditions: Iterable[DeploymentCondition], type_: str) -> DeploymentCondition | None:
    return next((each for each in conditions if each.type == type_), None)


def condition(type_: str, status: str, reason: str, message: str, now: datetime) -> DeploymentCondition:
    """A condition whose two times are now."""
    moment = now.replace(microsecond=0)
    return DeploymentCondition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_update_time=moment,
        last_transition_time=moment,
    )


def with_condition(conditions: Conditions, added: DeploymentCondition) -> Conditions:
    """The conditions with this one at the end, unless there is one with its status and reason. The transition time
    changes with the status only."""
    before = find(conditions, added.type)
    if before is not None and before.status == added.status:
        if before.reason == added.reason:
            return conditions
        added = replace(added, last_transition_time=before.last_transition_time)
    return [*without_condition(conditions, added.type), added]


def without_condition(conditions: Conditions, type_: str) -> Conditions:
    return [each for each in conditions if each.type != type_]


def progress_deadline(deployment: Deployment) -> timedelta | None:
    """How long a rollout may take without progress; None for as long as it wants."""
    seconds = deployment.spec.progress_deadline_seconds
    return None if seconds is None or seconds == _NO_DEADLINE else timedelta(seconds=seconds)


def next_paused_condition(deployment: Deployment, now: datetime) -> DeploymentCondition | None:
    """The condition Progressing when the Deployment was paused or resumed, so that the time is not counted."""
    if progress_deadline(deployment) is None:
        return None
    current = find(status_of(deployment).conditions, PROGRESSING)
    is_paused = current is not None and current.reason == PAUSED
    if bool(deployment.spec.paused) == is_paused or (current is not None and current.reason == TIMED_OUT):
        return None
    if deployment.spec.paused:
        return condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now)
    return condition(PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now)


def next_status(
    deployment: Deployment, replica_sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """The status but for its progress. `replica_sets` are all, with the new one."""
    ready = sum((each.status.ready_replicas or 0) if each.status is not None else 0 for each in replica_sets)
    count = sum(map(available, replica_sets))
    old = status_of(deployment)
    if count >= replicas_of(deployment) - max_unavailable(deployment):
        message = "Deployment has minimum availability."
        found = condition(AVAILABLE, "True", "MinimumReplicasAvailable", message, now)
    else:
        message = "Deployment does not have minimum availability."
        found = condition(AVAILABLE, "False", "MinimumReplicasUnavailable", message, now)
    return DeploymentStatus(  # a count of 0 is not written
        observed_generation=deployment.metadata.generation,
        replicas=sum(map(actual, replica_sets)) or None,
        updated_replicas=(actual(new) if new is not None else 0) or None,
        ready_replicas=ready or None,
        available_replicas=count or None,
        unavailable_replicas=max(sum(map(size, replica_sets)) - count, 0) or None,
        terminating_replicas=_terminating(replica_sets),
        collision_count=old.collision_count,
        conditions=with_condition(list(old.conditions), found),
    )


def next_rollout_status(
    deployment: Deployment, replica_sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> DeploymentStatus:
    """The status during a rollout: with its progress, and with the failures of ReplicaSets."""
    status = next_status(deployment, replica_sets, new, now)
    conditions = _progress(deployment, status, new, now)
    failure = _failure(replica_sets, new)
    if failure is not None:
        conditions = with_condition(conditions, failure)
    else:
        conditions = without_condition(conditions, REPLICA_FAILURE)
    return replace(status, conditions=conditions)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether all Pods are of the new ReplicaSet and available, and no old ones are left."""
    counts = status.updated_replicas or 0, status.replicas or 0, status.available_replicas or 0
    desired = replicas_of(deployment)
    return counts == (desired,) * 3 and (status.observed_generation or 0) >= deployment.metadata.generation


def is_progressing(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    """Whether there are more new Pods, fewer old ones, or more that are ready or available."""
    updated, was_updated = after.updated_replicas or 0, before.updated_replicas or 0
    return (
        updated > was_updated
        or (after.replicas or 0) - updated < (before.replicas or 0) - was_updated
        or (after.ready_replicas or 0) > (before.ready_replicas or 0)
        or (after.available_replicas or 0) > (before.available_replicas or 0)
    )


def has_timed_out(deployment: Deployment, status: DeploymentStatus, now: datetime) -> bool:
    """Whether the rollout has made no progress for longer than its deadline."""
    deadline, current = progress_deadline(deployment), find(status.conditions, PROGRESSING)
    if deadline is None or current is None or current.reason == NEW_AVAILABLE:
        return False
    if current.reason == TIMED_OUT:
        return True
    return current.last_update_time is None or current.last_update_time + deadline < now


def next_progress_check(deployment: Deployment, status: DeploymentStatus, now: datetime) -> timedelta | None:
    """When a Deployment whose status stays is reconciled again to see whether it has timed out."""
    deadline, current = progress_deadline(deployment), find(status_of(deployment).conditions, PROGRESSING)
    if deadline is None or current is None:
        return None
    if is_complete(deployment, status) or current.reason == TIMED_OUT:
        return None
    since = current.last_update_time
    wait = since + deadline - now if since is not None else timedelta()
    return wait + _SKEW if wait >= _SKEW else max(wait, timedelta()) + _SOON


def _progress(deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: datetime) -> Conditions:
    """The conditions with that of the progress."""
    conditions, before = list(status.conditions), status_of(deployment)
    if progress_deadline(deployment) is None:
        return without_condition(conditions, PROGRESSING)
    current = find(before.conditions, PROGRESSING)
    if status.replicas == status.updated_replicas and current is not None and current.reason == NEW_AVAILABLE:
        return conditions  # the last rollout was completed: this one is no rollout
    kind, name = ("ReplicaSet", new.metadata.name) if new is not None else ("Deployment", deployment.metadata.name)
    subject = f'{kind} "{name}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return with_condition(conditions, condition(PROGRESSING, "True", NEW_AVAILABLE, message, now))
    if is_progressing(before, status):
        found = condition(PROGRESSING, "True", UPDATED, f"{subject} is progressing.", now)
        if current is not None and current.status == "True":
            found = replace(found, last_transition_time=current.last_transition_time)
        # It is replaced even if it has the same reason: its update time is that of the last progress.
        return [*without_condition(conditions, PROGRESSING), found]
    if has_timed_out(deployment, status, now):
        message = f"{subject} has timed out progressing."
        return with_condition(conditions, condition(PROGRESSING, "False", TIMED_OUT, message, now))
    return conditions


def _failure(replica_sets: Iterable[ReplicaSet], new: ReplicaSet | None) -> DeploymentCondition | None:
    """The failure of a ReplicaSet, the new one first."""
    for each in [*([new] if new is not None else []), *replica_sets]:
        for found in each.status.conditions if each.status is not None else []:
            if found.type == REPLICA_FAILURE:
                return DeploymentCondition(
                    type=found.type,
                    status=found.status,
                    reason=found.reason,
                    message=found.message,
                    last_update_time=found.last_transition_time,
                    last_transition_time=found.last_transition_time,
                )
    return None


def _terminating(replica_sets: Iterable[ReplicaSet]) -> int | None:
    """The sum of the Pods that are being deleted; None if a ReplicaSet does not report them."""
    total = 0
    for each in replica_sets:
        status = each.status
        if status is None or (not status.observed_generation and status.terminating_replicas is None):
            continue  # its controller has not seen it yet
        if status.terminating_replicas is None:
            return None
        total += status.terminating_replicas
    return total
