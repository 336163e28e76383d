"""The Pods of a Job."""

from __future__ import annotations

from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod
from pilotage.workloads.jobs.modes import has_limit_per_index
from pilotage.workloads.jobs.pods import COMPLETION_INDEX, FAILURE_COUNT, IGNORED_FAILURE_COUNT, UNKNOWN_INDEX, JobPod
from pilotage.workloads.jobs.policies import failure_of
from pilotage.workloads.pods.control import pod_from_template
from pilotage.workloads.pods.view import JOB_TRACKING_FINALIZER

INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX = 58


def pod_of(job: Job, index: int = UNKNOWN_INDEX, replaced: JobPod | None = None) -> Pod:
    """A new Pod; `replaced` is the failed Pod whose count of failures it continues."""
    pod = pod_from_template(job.spec.template, job)
    if JOB_TRACKING_FINALIZER not in pod.metadata.finalizers:
        pod.metadata.finalizers = [*pod.metadata.finalizers, JOB_TRACKING_FINALIZER]
    if index == UNKNOWN_INDEX:
        return pod
    pod.metadata.generate_name = name_prefix(job.metadata.name, index)
    pod.metadata.annotations[COMPLETION_INDEX] = str(index)
    pod.metadata.labels[COMPLETION_INDEX] = str(index)
    if has_limit_per_index(job):
        pod.metadata.annotations |= failure_counts(job, replaced)
    if pod.spec is not None:
        pod.spec.hostname = f"{job.metadata.name}-{index}"
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            add_index_variable(container)
    return pod


def name_prefix(name: str, index: int) -> str:
    """The prefix of the names of the Pods with an index; a long name of a Job is cut."""
    suffix = f"-{index}-"
    return name[: _LONGEST_PREFIX - len(suffix)] + suffix


def add_index_variable(container: Container) -> None:
    """Let a container read its index, unless the template sets that variable."""
    if any(variable.name == INDEX_VARIABLE for variable in container.env):
        return
    source = EnvVarSource(field_ref=ObjectFieldSelector(field_path=f"metadata.labels['{COMPLETION_INDEX}']"))
    container.env = [*container.env, EnvVar(name=INDEX_VARIABLE, value_from=source)]


def failure_counts(job: Job, replaced: JobPod | None) -> dict[str, str]:
    """The annotations that count the failures of an index."""
    failures, ignored = 0, 0
    if replaced is not None:
        is_counted = failure_of(job.spec.pod_failure_policy, replaced.full).is_counted
        failures, ignored = replaced.failures + is_counted, replaced.ignored_failures + (not is_counted)
    found = {FAILURE_COUNT: str(failures)}
    return found | {IGNORED_FAILURE_COUNT: str(ignored)} if ignored else found
