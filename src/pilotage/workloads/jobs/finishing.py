"""Whether a Job has ended, and why."""

from __future__ import annotations

from datetime import datetime, timedelta

from pilotage.types.batch.v1 import Job, JobCondition
from pilotage.workloads.durations import span
from pilotage.workloads.jobs.conditions import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    new_condition,
    true_condition,
)
from pilotage.workloads.jobs.indexes import count_of
from pilotage.workloads.jobs.modes import completions_of, is_suspended, status_of
from pilotage.workloads.jobs.observation import Observation
from pilotage.workloads.jobs.pods import has_failed, restarts_of
from pilotage.workloads.jobs.policies import failure_of, success_message


def finish_of(seen: Observation) -> JobCondition | None:
    """Why the Job ends: a decision of an earlier reconcile, else failures, else the policy of success.

    A Job whose completions are reached is not in here: see `completion_of`.
    """
    status = status_of(seen.job)
    if (met := true_condition(status, SUCCESS_CRITERIA_MET)) is not None:
        return met
    if (target := true_condition(status, FAILURE_TARGET)) is not None:
        return new_condition(FAILED, target.reason, target.message, seen.now)
    failure = _policy_failure(seen) or _limit(seen) or _failed_indexes(seen)
    if failure is not None:
        return new_condition(FAILURE_TARGET, *failure, seen.now)
    message = success_message(seen.job.spec.success_policy, completions_of(seen.job), seen.succeeded_indexes)
    return new_condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", message, seen.now) if message else None


def completion_of(seen: Observation, active: int) -> JobCondition | None:
    """The condition of a Job whose completions are reached; `active` is the number of Pods after this reconcile."""
    completions = seen.job.spec.completions
    reached = seen.succeeded > 0 if completions is None else seen.succeeded >= completions
    if active or not reached:
        return None
    return new_condition(
        SUCCESS_CRITERIA_MET, "CompletionsReached", "Reached expected number of succeeded pods", seen.now
    )


def final_condition(interim: JobCondition, now: datetime) -> JobCondition:
    """Complete or Failed, for the condition that the Job has until its Pods have ended."""
    kinds = {SUCCESS_CRITERIA_MET: COMPLETE, FAILURE_TARGET: FAILED}
    return new_condition(kinds[interim.type], interim.reason, interim.message, now)


def until_deadline(job: Job, now: datetime) -> timedelta | None:
    """How long the Job may still be active; None without a deadline."""
    start, seconds = status_of(job).start_time, job.spec.active_deadline_seconds
    if seconds is None or start is None or is_suspended(job):
        return None
    return span(seconds) - (now - start)


def _policy_failure(seen: Observation) -> tuple[str, str] | None:
    policy = seen.job.spec.pod_failure_policy
    if policy is None:
        return None
    for pod in seen.pods:
        if has_failed(pod, seen.job) and (message := failure_of(policy, pod.full).message):
            return "PodFailurePolicy", message
    return None


def _limit(seen: Observation) -> tuple[str, str] | None:
    limit = seen.job.spec.backoff_limit
    if (limit is not None and seen.failed > limit) or _is_past_limit_of_restarts(seen):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    left = until_deadline(seen.job, seen.now)
    if left is not None and left <= timedelta():
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    return None


def _is_past_limit_of_restarts(seen: Observation) -> bool:
    """Whether containers have restarted too often, which counts only if the kubelet restarts them."""
    spec, limit = seen.job.spec.template.spec, seen.job.spec.backoff_limit
    if spec is None or spec.restart_policy != "OnFailure" or limit is None:
        return False
    restarts = sum(restarts_of(pod) for pod in seen.pods if pod.view.phase in ("Running", "Pending"))
    return restarts >= max(limit, 1)


def _failed_indexes(seen: Observation) -> tuple[str, str] | None:
    if seen.failed_indexes is None:
        return None
    failed, limit = count_of(seen.failed_indexes), seen.job.spec.max_failed_indexes
    if limit is not None and failed > limit:
        return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
    if failed and failed + count_of(seen.succeeded_indexes) >= completions_of(seen.job):
        return "FailedIndexes", "Job has failed indexes"
    return None
