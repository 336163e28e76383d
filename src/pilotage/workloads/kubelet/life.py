"""The life of a Pod on its node: from its status and the time to its next status, without I/O.

The functions change the status of the Pod that they are given, which is the caller's own: a copy of each of ten
thousand Pods would take longer than all else here.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pilotage.types.core.v1 import Container, ContainerStatus, HostIP, Pod, PodIP, PodSpec, PodStatus
from pilotage.workloads.durations import span
from pilotage.workloads.kubelet.conditions import conditions_of, is_initialized, is_sidecar, phase_of
from pilotage.workloads.kubelet.containers import Life, start_delay, waiting_status
from pilotage.workloads.kubelet.moment import Moment


def next_step(pod: Pod, moment: Moment) -> bool:
    """Take all steps that are due: the status of the Pod is then what it is now, and the moment has the Events and the
    time of the next look. Returns whether nothing of the Pod runs any more, so that a deleted Pod can be removed."""
    assert pod.spec is not None
    status = pod.status = pod.status or PodStatus()
    if status.phase in ("Succeeded", "Failed"):
        return True
    statuses = _statuses(status)
    if pod.metadata.deletion_timestamp is not None:
        return _stop(pod, pod.metadata.deletion_timestamp, statuses, moment)
    if (deadline := _deadline(pod.spec, status)) is not None and moment.is_due(deadline, 0.0, is_progress=False):
        return _fail(pod, statuses, moment)
    if status.start_time is None:
        status.start_time = moment.now
        statuses = _first_statuses(pod.spec)
        first = next(iter((*pod.spec.init_containers, *pod.spec.containers)))
        moment.is_due(moment.now, max(_ADMISSION, start_delay(first, moment)))
    else:
        _advance(pod, statuses, status.start_time, moment)
    _set_status(pod, status, statuses, moment)
    return status.phase in ("Succeeded", "Failed")


_ADMISSION = 0.001
"""Seconds between the first status and the next look at least: a Pod is seen before its containers start."""


def _first_statuses(spec: PodSpec) -> dict[str, ContainerStatus]:
    reason = "PodInitializing" if spec.init_containers else "ContainerCreating"
    return {one.name: waiting_status(one, reason) for one in (*spec.init_containers, *spec.containers)}


def _statuses(status: PodStatus) -> dict[str, ContainerStatus]:
    return {one.name: one for one in (*status.init_container_statuses, *status.container_statuses)}


def _advance(pod: Pod, statuses: dict[str, ContainerStatus], begin: datetime, moment: Moment) -> None:
    """The init containers one after the other, then the containers, whose images are pulled one after the other."""
    assert pod.spec is not None
    for container in pod.spec.init_containers:
        status = _advance_one(pod, container, statuses, begin, moment)
        if not is_initialized(container, status):
            return
        begin = _finished(status, begin)
    for container in pod.spec.containers:
        status = _advance_one(pod, container, statuses, begin, moment)
        if status.state is not None and status.state.running is not None and status.restart_count == 0:
            begin = status.state.running.started_at or begin
        elif _is_waiting_for_first_start(status):
            return


def _advance_one(
    pod: Pod, container: Container, statuses: dict[str, ContainerStatus], begin: datetime, moment: Moment
) -> ContainerStatus:
    assert pod.spec is not None
    kind = "initContainers" if container in pod.spec.init_containers else "containers"
    status = statuses.get(container.name) or waiting_status(container, "ContainerCreating")
    statuses[container.name] = status
    Life(pod, container, status, moment, f"spec.{kind}{{{container.name}}}").advance(begin)
    return status


def _finished(status: ContainerStatus, begin: datetime) -> datetime:
    state = status.state
    ended = state.terminated if state is not None else None
    if ended is not None:
        return ended.finished_at or begin
    running = state.running if state is not None else None
    return (running.started_at if running is not None else None) or begin


def _is_waiting_for_first_start(status: ContainerStatus) -> bool:
    """Whether a container is still pulled; one whose pull has failed does not delay the next."""
    waiting = status.state.waiting if status.state is not None else None
    return waiting is not None and waiting.reason in ("ContainerCreating", "PodInitializing")


def _set_status(
    pod: Pod, status: PodStatus, statuses: dict[str, ContainerStatus], moment: Moment, *, is_terminal: bool = False
) -> None:
    """Everything in the status that follows from the containers."""
    assert pod.spec is not None
    status.phase = phase_of(pod.spec, statuses, is_terminal=is_terminal)
    if status.phase in ("Succeeded", "Failed"):
        _complete_sidecars(pod, statuses, moment)
    status.init_container_statuses = _in_order(pod.spec.init_containers, statuses)
    status.container_statuses = _in_order(pod.spec.containers, statuses)
    status.observed_generation = pod.metadata.generation or None
    status.host_ip = moment.host_ip
    status.host_ips = [HostIP(ip=moment.host_ip)]
    if status.pod_ip is None and any(one.container_id for one in statuses.values()):
        status.pod_ip = moment.host_ip if pod.spec.host_network else moment.ip()
        status.pod_ips = [PodIP(ip=status.pod_ip)]
    others = [one for one in status.conditions if one.type not in _OWN]
    status.conditions = [*conditions_of(pod, status.phase, statuses, moment.now), *others]


_OWN = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def _in_order(containers: Iterable[Container], statuses: dict[str, ContainerStatus]) -> list[ContainerStatus]:
    """By name, as the kubelet sorts them; init containers in the order of the spec."""
    return [statuses[one.name] for one in containers if one.name in statuses]


def _complete_sidecars(pod: Pod, statuses: dict[str, ContainerStatus], moment: Moment) -> None:
    """Sidecars end with the Pod."""
    assert pod.spec is not None
    for container in pod.spec.init_containers:
        status = statuses.get(container.name)
        if is_sidecar(container) and status is not None and _is_running(status):
            Life(pod, container, status, moment, _path(pod.spec, container.name)).terminate(0)


def _stop(pod: Pod, deleted: datetime, statuses: dict[str, ContainerStatus], moment: Moment) -> bool:
    """The graceful termination: containers stop within the grace period, then nothing runs any more."""
    assert pod.spec is not None
    assert pod.status is not None
    running = [one for one in _containers(pod.spec) if one.name in statuses and _is_running(statuses[one.name])]
    if not running:
        return True
    grace = float(pod.metadata.deletion_grace_period_seconds or 0)
    if not moment.memory.is_stopping:
        moment.memory.is_stopping = True
        for container in running:
            moment.record("Killing", f"Stopping container {container.name}", _path(pod.spec, container.name))
    slowest = max(moment.behaviour(one).stop_seconds for one in running)
    asked = deleted - span(grace)  # the deletion timestamp is the end of the grace period
    if not moment.is_due(asked, min(slowest, grace)):
        return False
    for container in running:
        behaviour = moment.behaviour(container)
        code = 137 if behaviour.stop_seconds > grace else behaviour.stop_exit_code
        Life(pod, container, statuses[container.name], moment, _path(pod.spec, container.name)).terminate(code)
    _set_status(pod, pod.status, statuses, moment, is_terminal=True)
    return True


def _fail(pod: Pod, statuses: dict[str, ContainerStatus], moment: Moment) -> bool:
    """The kubelet ends a Pod that has passed its deadline."""
    assert pod.spec is not None
    assert pod.status is not None
    for container in _containers(pod.spec):
        status = statuses.get(container.name)
        if status is not None and _is_running(status):
            Life(pod, container, status, moment, _path(pod.spec, container.name)).terminate(137)
    _set_status(pod, pod.status, statuses, moment, is_terminal=True)
    pod.status.phase, pod.status.reason = "Failed", "DeadlineExceeded"
    pod.status.message = "Pod was active on the node longer than the specified deadline"
    pod.status.conditions = conditions_of(pod, "Failed", statuses, moment.now)
    moment.record("DeadlineExceeded", pod.status.message)
    return True


def _deadline(spec: PodSpec, status: PodStatus) -> datetime | None:
    seconds = spec.active_deadline_seconds
    if seconds is None or status.start_time is None:
        return None
    return status.start_time + span(seconds)


def _is_running(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.running is not None


def _containers(spec: PodSpec) -> list[Container]:
    return [*spec.init_containers, *spec.containers]


def _path(spec: PodSpec, name: str) -> str:
    kind = "initContainers" if any(one.name == name for one in spec.init_containers) else "containers"
    return f"spec.{kind}{{{name}}}"
