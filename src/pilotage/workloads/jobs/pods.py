"""A Pod as the Job controller sees it."""

from __future__ import annotations

import re
from datetime import datetime

from pilotage.meta.conditions import find_status_condition
from pilotage.meta.values import Value
from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import ContainerStatus, Pod
from pilotage.workloads.durations import span
from pilotage.workloads.jobs.modes import is_indexed, replaces_only_failed
from pilotage.workloads.pods.view import JOB_TRACKING_FINALIZER, PodView

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"
UNKNOWN_INDEX = -1

_is_number = re.compile(r"\+?[0-9]{1,18}", re.ASCII).fullmatch
_INT32 = 2**31
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class JobPod(Value, frozen=True):
    """A Pod of a Job; `full` is read where containers or conditions decide."""

    view: PodView
    full: Pod | None = None

    @property
    def uid(self) -> str:
        return self.view.uid

    @property
    def has_finalizer(self) -> bool:
        """Whether it is not counted in the status of the Job yet."""
        return JOB_TRACKING_FINALIZER in self.view.finalizers

    @property
    def index(self) -> int:
        """Its completion index; UNKNOWN_INDEX where there is none."""
        text = self.view.annotations.get(COMPLETION_INDEX, "")
        return int(text) if _is_number(text) else UNKNOWN_INDEX

    @property
    def failures(self) -> int:
        """How many Pods with its index have failed before it."""
        return _count(self.view, FAILURE_COUNT)

    @property
    def ignored_failures(self) -> int:
        """How many further ones the policy of failures has ignored."""
        return _count(self.view, IGNORED_FAILURE_COUNT)

    @property
    def is_terminating(self) -> bool:
        """Whether it is being deleted and has not ended."""
        return self.view.deleted is not None and not self.view.is_finished

    @property
    def finished_at(self) -> datetime | None:
        """When it ended: the containers, else the end of its readiness, the deletion, or the creation."""
        return _finished_at(self.full) if self.full is not None else self.view.created


def _count(view: PodView, annotation: str) -> int:
    text = view.annotations.get(annotation, "")
    return int(text) if _is_number(text) and int(text) < _INT32 else 0


def has_failed(pod: JobPod, job: Job) -> bool:
    """Whether a Pod counts as failed: also a terminating one, which may never reach the phase Failed."""
    if pod.view.phase == "Failed":
        return True
    return not replaces_only_failed(job) and pod.view.deleted is not None and pod.view.phase != "Succeeded"


def is_countable(pod: JobPod, job: Job) -> bool:
    """Whether a Pod is not counted yet and, for an indexed Job, has an index of it."""
    if not pod.has_finalizer:
        return False
    return not is_indexed(job) or UNKNOWN_INDEX < pod.index < (job.spec.completions or 0)


def needs_full(view: PodView, job: Job) -> bool:
    """Whether containers or conditions of a Pod are read: of a failed one, and with restarts that count."""
    spec = job.spec.template.spec
    if spec is not None and spec.restart_policy == "OnFailure" and not view.is_finished:
        return True
    failed = view.phase == "Failed" or view.deleted is not None
    return failed and (JOB_TRACKING_FINALIZER in view.finalizers or job.spec.pod_failure_policy is not None)


def removal_order(pod: JobPod) -> tuple[bool, int, bool, float, int, int, float]:
    """The order in which Pods are deleted if there are too many: not assigned to a node, pending, not ready, ready for
    a shorter time, restarted more often, younger."""
    view = pod.view
    ready = view.ready_since.timestamp() if view.is_ready and view.ready_since is not None else float("inf")
    created = view.created.timestamp() if view.created is not None else float("inf")
    phase = _PHASES.get(view.phase, 0)
    since = -ready if view.is_ready else 0.0
    containers, sidecars = view.most_restarts
    return bool(view.node), phase, view.is_ready, since, -containers, -sidecars, -created


def restarts_of(pod: JobPod) -> int:
    """The restarts of all containers."""
    status = pod.full.status if pod.full is not None else None
    if status is None:
        return 0
    return sum(one.restart_count for one in (*status.init_container_statuses, *status.container_statuses))


def _finished_at(pod: Pod) -> datetime | None:
    metadata, status = pod.metadata, pod.status
    if status is not None:
        if (ended := _containers_finished_at(pod)) is not None:
            return ended
        ready = find_status_condition(status.conditions, "Ready")
        if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
            return ready.last_transition_time
    if metadata.deletion_timestamp is not None:
        return metadata.deletion_timestamp - span(metadata.deletion_grace_period_seconds or 0)
    return metadata.creation_timestamp


def _containers_finished_at(pod: Pod) -> datetime | None:
    """When the last container ended, sidecars included; None if one has not, or there is none."""
    if pod.status is None:
        return None
    init = pod.spec.init_containers if pod.spec is not None else []
    sidecars = {one.name for one in init if one.restart_policy == "Always"}
    statuses: list[ContainerStatus] = [
        *pod.status.container_statuses,
        *(one for one in pod.status.init_container_statuses if one.name in sidecars),
    ]
    ends: list[datetime] = []
    for one in statuses:
        terminated = one.state.terminated if one.state is not None else None
        if terminated is None or terminated.finished_at is None:
            return None
        ends.append(terminated.finished_at)
    return max(ends, default=None)
