"""Counting the Pods that have ended, so that each is counted once also if a program ends at any moment.

A Pod is counted in three steps: its uid is stored in `status.uncountedTerminatedPods`, its finalizer is removed, and
then its uid is replaced by a higher count in one write. For the succeeded Pods of an indexed Job the index is enough.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from pilotage.types.batch.v1 import Job, JobCondition, JobStatus
from pilotage.workloads.jobs.conditions import (
    COMPLETE,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    ensure_condition,
    true_condition,
)
from pilotage.workloads.jobs.indexes import contains, count_of, indexes_text, with_indexes
from pilotage.workloads.jobs.modes import completions_of, has_limit_per_index, is_indexed, status_of, uncounted_of
from pilotage.workloads.jobs.observation import Observation
from pilotage.workloads.jobs.pods import UNKNOWN_INDEX, JobPod, has_failed
from pilotage.workloads.jobs.policies import failure_of

MOST_UNCOUNTED = 500
"""How many Pods one reconcile counts."""


class Counting(NamedTuple):
    """The first step."""

    release: list[JobPod]
    """The Pods whose finalizers are removed."""
    has_changed: bool
    """Whether the status must be written before that."""
    is_limited: bool
    """Whether more Pods wait to be counted."""


def count_ended(seen: Observation, finish: JobCondition | None) -> Counting:
    """Note the Pods that have ended in the status. `finish` is the condition of a Job that ends."""
    job, uncounted = seen.job, uncounted_of(seen.job)
    changed = count_released(job, {pod.uid for pod in seen.pods if pod.has_finalizer})
    known_succeeded, known_failed = set(uncounted.succeeded), set(uncounted.failed)
    pods = sorted(seen.pods, key=lambda pod: pod.index) if is_indexed(job) else seen.pods
    release: list[JobPod] = []
    indexes: list[int] = []
    is_limited = False
    for pod in pods:
        if not pod.has_finalizer or not _is_releasable(seen, finish, pod):
            continue
        release.append(pod)
        counted = _counted_as(seen, finish, pod, known_succeeded, known_failed)
        if counted == "index":
            indexes.append(pod.index)
        elif counted == "succeeded":
            uncounted.succeeded = [*uncounted.succeeded, pod.uid]
        elif counted == "failed":
            uncounted.failed = [*uncounted.failed, pod.uid]
        changed = changed or bool(counted)
        if len(indexes) + len(uncounted.succeeded) + len(uncounted.failed) >= MOST_UNCOUNTED:
            is_limited = True
            break
    if is_indexed(job):
        changed = _note_indexes(seen, indexes) or changed
    return Counting(release, changed, is_limited)


def _is_releasable(seen: Observation, finish: JobCondition | None, pod: JobPod) -> bool:
    """Whether a Pod may lose its finalizer."""
    job = seen.job
    if job.metadata.deletion_timestamp is not None or finish is not None or pod.view.phase == "Succeeded":
        return True
    if not has_failed(pod, job):
        return False
    awaiting = seen.awaiting.get(pod.index) if has_limit_per_index(job) and pod.index != UNKNOWN_INDEX else None
    return awaiting is None or awaiting.uid != pod.uid


def _counted_as(
    seen: Observation, finish: JobCondition | None, pod: JobPod, succeeded: Set[str], failed: Set[str]
) -> str:
    """How a Pod is noted: succeeded, failed or by its index; empty if it is noted already or does not count."""
    job = seen.job
    has_index = UNKNOWN_INDEX < pod.index < completions_of(job)
    if pod.view.phase == "Succeeded" and pod.uid not in failed:
        if is_indexed(job):
            return "index" if has_index and not contains(seen.counted_indexes, pod.index) else ""
        return "" if pod.uid in succeeded else "succeeded"
    # All Pods of a Job that fails have failed.
    is_failing = finish is not None and finish.type != SUCCESS_CRITERIA_MET
    if not has_failed(pod, job) and not is_failing:
        return ""
    if pod.uid in failed or (is_indexed(job) and not has_index):
        return ""
    return "failed" if failure_of(job.spec.pod_failure_policy, pod.full).is_counted else ""


def _note_indexes(seen: Observation, indexes: list[int]) -> bool:
    """Set the fields about indexes; whether one has changed."""
    status = status_of(seen.job)
    intervals = with_indexes(seen.succeeded_indexes, indexes)
    completed = indexes_text(intervals)
    failed = indexes_text(seen.failed_indexes) if seen.failed_indexes is not None else None
    changed = completed != (status.completed_indexes or "") or failed != status.failed_indexes
    status.succeeded = count_of(intervals)
    status.completed_indexes = completed or None
    status.failed_indexes = failed
    return changed


def count_released(job: Job, with_finalizer: Set[str]) -> bool:
    """Replace the uids of Pods without finalizer by higher counts; whether there were any."""
    status, uncounted = status_of(job), uncounted_of(job)
    succeeded = [uid for uid in uncounted.succeeded if uid in with_finalizer]
    failed = [uid for uid in uncounted.failed if uid in with_finalizer]
    if len(succeeded) == len(uncounted.succeeded) and len(failed) == len(uncounted.failed):
        return False
    status.succeeded = (status.succeeded or 0) + len(uncounted.succeeded) - len(succeeded)
    status.failed = (status.failed or 0) + len(uncounted.failed) - len(failed)
    uncounted.succeeded, uncounted.failed = succeeded, failed
    return True


def note_interim(status: JobStatus, finish: JobCondition | None) -> bool:
    """Add FailureTarget or SuccessCriteriaMet, which a Job has from now on; whether it was added."""
    if finish is None or finish.type not in (FAILURE_TARGET, SUCCESS_CRITERIA_MET):
        return False
    if finish.type == SUCCESS_CRITERIA_MET and true_condition(status, SUCCESS_CRITERIA_MET) is not None:
        return False
    status.conditions = [*status.conditions, finish]
    return True


def finish_job(job: Job, final: JobCondition, terminating: int) -> bool:
    """Add Complete or Failed, unless Pods are terminating or not counted; whether it was added."""
    status, uncounted = status_of(job), uncounted_of(job)
    if uncounted.succeeded or uncounted.failed or terminating:
        return False
    ensure_condition(status, final)
    if final.type == COMPLETE:
        status.completion_time = final.last_transition_time
    return True
