"""Which Pods of a Job are created or deleted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from typing import NamedTuple

from pilotage.types.batch.v1 import Job
from pilotage.workloads.jobs.backoff import remaining_time, remaining_time_of_index
from pilotage.workloads.jobs.indexes import first_missing, merged, with_indexes
from pilotage.workloads.jobs.modes import (
    completions_of,
    has_limit_per_index,
    is_indexed,
    is_suspended,
    replaces_only_failed,
)
from pilotage.workloads.jobs.observation import Observation
from pilotage.workloads.jobs.pods import UNKNOWN_INDEX, JobPod, removal_order

MOST_PODS = 500
"""How many Pods one reconcile creates or deletes."""
_NONE = timedelta()


class PodPlan(NamedTuple):
    """Pods to delete, or the indexes of Pods to create, or how long to wait before that."""

    delete: Sequence[JobPod] = ()
    create: Sequence[int] = ()
    """UNKNOWN_INDEX for a Pod without an index."""
    wait: timedelta | None = None


def next_pods(seen: Observation) -> PodPlan:
    """What a Job that has not ended does about its Pods. Deletes take precedence: a reconcile does one of them."""
    job, active = seen.job, len(seen.active)
    if is_suspended(job):
        return PodPlan(delete=pods_for_removal(job, seen.active, active))
    wanted = wanted_active(seen)
    if excess := pods_for_removal(job, seen.active, max(0, active - wanted)):
        return PodPlan(delete=excess[:MOST_PODS])
    missing = wanted - active - (seen.terminating if replaces_only_failed(job) else 0)
    return _creation(seen, missing) if missing > 0 else PodPlan()


def wanted_active(seen: Observation) -> int:
    """How many Pods run at a time."""
    spec = seen.job.spec
    parallelism = spec.parallelism if spec.parallelism is not None else 1
    if spec.completions is None:
        return len(seen.active) if seen.succeeded > 0 else parallelism
    return max(0, min(spec.completions - seen.succeeded, parallelism))


def _creation(seen: Observation, missing: int) -> PodPlan:
    job, count = seen.job, min(missing, MOST_PODS)
    if not has_limit_per_index(job) and (left := remaining_time(seen.backoff, seen.now)):
        return PodPlan(wait=left)
    if not is_indexed(job):
        return PodPlan(create=[UNKNOWN_INDEX] * count)
    indexes = pending_indexes(seen, count)
    if not has_limit_per_index(job):
        return PodPlan(create=indexes)
    left_of = {index: remaining_time_of_index(seen.awaiting.get(index), seen.now) for index in indexes}
    due = [index for index in indexes if not left_of[index]]
    if due or not left_of:
        return PodPlan(create=due)
    return PodPlan(wait=min(left_of.values()))


def pending_indexes(seen: Observation, count: int) -> list[int]:
    """The first indexes that have not ended and have no Pod."""
    taken = with_indexes(seen.succeeded_indexes, {pod.index for pod in seen.active} - {UNKNOWN_INDEX})
    if replaces_only_failed(seen.job):
        taken = with_indexes(taken, {pod.index for pod in seen.pods if pod.is_terminating} - {UNKNOWN_INDEX})
    if seen.failed_indexes is not None:
        taken = merged(taken, seen.failed_indexes)
    return first_missing(taken, count, completions_of(seen.job))


def pods_for_removal(job: Job, pods: Sequence[JobPod], least: int) -> list[JobPod]:
    """At least so many Pods; of an indexed Job also those without a valid index, and all but one of each index."""
    removed: list[JobPod] = []
    kept = list(pods)
    if is_indexed(job):
        removed, kept = _by_index(kept, completions_of(job))
    if len(removed) < least:
        kept.sort(key=removal_order)
        removed += kept[: least - len(removed)]
    return removed


def _by_index(pods: Sequence[JobPod], completions: int) -> tuple[list[JobPod], list[JobPod]]:
    """The Pods to remove, and one Pod for each index."""
    removed: list[JobPod] = []
    beyond: list[JobPod] = []
    kept: list[JobPod] = []
    for index, group in groupby(sorted(pods, key=_index), key=_index):
        if index >= completions:
            beyond += group
        elif index == UNKNOWN_INDEX:
            removed += group
        else:
            *further, last = sorted(group, key=removal_order)
            removed += further
            kept.append(last)
    return removed + beyond, kept


def _index(pod: JobPod) -> int:
    return pod.index
