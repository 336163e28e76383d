"""A Job and its Pods at one moment: the counts on which all decisions of a reconcile are based."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pilotage.types.batch.v1 import Job
from pilotage.workloads.jobs.backoff import Backoff, next_backoff
from pilotage.workloads.jobs.indexes import Intervals, contains, count_of, merged, parse_indexes, with_indexes
from pilotage.workloads.jobs.modes import completions_of, has_limit_per_index, is_indexed, status_of, uncounted_of
from pilotage.workloads.jobs.pods import UNKNOWN_INDEX, JobPod, has_failed, is_countable
from pilotage.workloads.jobs.policies import failure_of


@dataclass(frozen=True, slots=True)
class Observation:
    """A Job, its Pods, and what follows from them."""

    job: Job
    pods: Sequence[JobPod]
    active: Sequence[JobPod]
    now: datetime
    succeeded: int
    """Pods, counted or not; for an indexed Job, indexes."""
    failed: int
    backoff: Backoff
    counted_indexes: Intervals = ()
    """The succeeded indexes in the status."""
    succeeded_indexes: Intervals = ()
    """Those, and the indexes of Pods that have just succeeded."""
    failed_indexes: Intervals | None = None
    """None without a limit per index."""
    awaiting: dict[int, JobPod] = field(default_factory=dict)
    """The last failed Pod of each index that is created again: it keeps its finalizer until then, so that the new Pod
    can continue its count of failures."""

    @property
    def terminating(self) -> int:
        return sum(pod.is_terminating for pod in self.pods)

    @property
    def ready(self) -> int:
        return sum(pod.view.is_ready for pod in self.active)


def observe(job: Job, pods: Sequence[JobPod], before: Backoff, now: datetime) -> Observation:
    """Count the Pods. `before` are the failures up to the last reconcile."""
    status, uncounted = status_of(job), uncounted_of(job)
    known_succeeded, known_failed = set(uncounted.succeeded), set(uncounted.failed)
    countable = [pod for pod in pods if is_countable(pod, job)]
    succeeded = [pod for pod in countable if pod.view.phase == "Succeeded" and pod.uid not in known_succeeded]
    failed = [pod for pod in countable if pod.uid not in known_failed and has_failed(pod, job)]
    policy = job.spec.pod_failure_policy
    not_ignored = sum(failure_of(policy, pod.full).is_counted for pod in failed) if policy is not None else len(failed)
    active = [pod for pod in pods if pod.view.is_active]
    seen = Observation(
        job,
        pods,
        active,
        now,
        succeeded=(status.succeeded or 0) + len(succeeded) + len(known_succeeded),
        failed=(status.failed or 0) + not_ignored + len(known_failed),
        backoff=next_backoff(before, succeeded, failed),
    )
    return _with_indexes(seen, countable) if is_indexed(job) else seen


def _with_indexes(seen: Observation, countable: Sequence[JobPod]) -> Observation:
    """The observation with what an indexed Job has further."""
    job = seen.job
    previous, indexes = succeeded_indexes(job, seen.pods)
    failed = failed_indexes(job, seen.pods) if has_limit_per_index(job) else None
    return replace(
        seen,
        succeeded=count_of(indexes),
        counted_indexes=previous,
        succeeded_indexes=indexes,
        failed_indexes=failed,
        awaiting=_awaiting(seen, countable, merged(indexes, failed)) if failed is not None else {},
    )


def succeeded_indexes(job: Job, pods: Sequence[JobPod]) -> tuple[Intervals, Intervals]:
    """The succeeded indexes in the status, and with the Pods that have just succeeded."""
    previous = parse_indexes(status_of(job).completed_indexes or "", completions_of(job))
    found = {pod.index for pod in pods if pod.view.phase == "Succeeded" and _has_valid_index(pod, job)}
    return previous, with_indexes(previous, found)


def failed_indexes(job: Job, pods: Sequence[JobPod]) -> Intervals:
    """The failed indexes in the status, and those that have just failed."""
    previous = parse_indexes(status_of(job).failed_indexes or "", completions_of(job))
    return with_indexes(previous, {pod.index for pod in pods if _has_valid_index(pod, job) and fails_index(pod, job)})


def fails_index(pod: JobPod, job: Job) -> bool:
    """Whether the index of a Pod has failed with it."""
    if not has_failed(pod, job):
        return False
    failure = failure_of(job.spec.pod_failure_policy, pod.full)
    is_last = pod.failures >= (job.spec.backoff_limit_per_index or 0)
    return failure.action == "FailIndex" or (failure.is_counted and is_last)


def _has_valid_index(pod: JobPod, job: Job) -> bool:
    return UNKNOWN_INDEX < pod.index < completions_of(job) and pod.has_finalizer


def _awaiting(seen: Observation, countable: Sequence[JobPod], ended: Intervals) -> dict[int, JobPod]:
    running = {pod.index for pod in seen.active}
    found: dict[int, JobPod] = {}
    for pod in countable:
        index = pod.index
        if not has_failed(pod, seen.job) or index in running or contains(ended, index):
            continue
        last = found.get(index)
        if last is None or _is_later(pod, last):
            found[index] = pod
    return found


def _is_later(pod: JobPod, last: JobPod) -> bool:
    if pod.failures + pod.ignored_failures < last.failures + last.ignored_failures:
        return False
    return pod.finished_at is None or last.finished_at is None or pod.finished_at >= last.finished_at
