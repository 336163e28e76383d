"""The modes of a Job that several decisions depend on."""

from __future__ import annotations

from pilotage.types.batch.v1 import Job, JobStatus, UncountedTerminatedPods

CONTROLLER = "kubernetes.io/job-controller"
"""The value of `spec.managedBy` for the controller of Kubernetes itself."""


def is_indexed(job: Job) -> bool:
    return job.spec.completion_mode == "Indexed"


def has_limit_per_index(job: Job) -> bool:
    return job.spec.backoff_limit_per_index is not None


def replaces_only_failed(job: Job) -> bool:
    """Whether a terminating Pod is replaced only after it has ended."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def is_suspended(job: Job) -> bool:
    return bool(job.spec.suspend)


def is_managed_elsewhere(job: Job) -> bool:
    """Whether another controller than that of Kubernetes manages the Job."""
    return job.spec.managed_by not in (None, CONTROLLER)


def completions_of(job: Job) -> int:
    """The number of completions of an indexed Job, which has one always."""
    return job.spec.completions or 0


def status_of(job: Job) -> JobStatus:
    """The status, which is added if there is none."""
    if job.status is None:
        job.status = JobStatus()
    return job.status


def uncounted_of(job: Job) -> UncountedTerminatedPods:
    """The Pods that have ended and are not counted yet; the list is added to the status if there is none."""
    status = status_of(job)
    if status.uncounted_terminated_pods is None:
        status.uncounted_terminated_pods = UncountedTerminatedPods()
    return status.uncounted_terminated_pods
