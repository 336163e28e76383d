"""The phase and the conditions of a Pod, from the statuses of its containers, as the kubelet computes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from pilotage.types.core.v1 import Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus

Statuses = Mapping[str, ContainerStatus]
"""Of all containers and init containers, by name."""


def is_sidecar(container: Container) -> bool:
    """Whether an init container runs as long as the Pod."""
    return container.restart_policy == "Always"


def restarts(spec: PodSpec, container: Container, exit_code: int) -> bool:
    """Whether the kubelet starts a container again that has ended with this code."""
    policy = container.restart_policy or spec.restart_policy or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def phase_of(spec: PodSpec, statuses: Statuses, *, is_terminal: bool = False) -> str:
    """The phase; `is_terminal` if no container will be started again, whatever the restart policy."""
    inits = [one for one in spec.init_containers if not is_sidecar(one)]
    for container in inits:
        code = _last_exit_code(statuses.get(container.name))
        if code and (is_terminal or not restarts(spec, container, code)):
            return "Failed"
    if not all(_is_complete(statuses.get(one.name)) for one in inits) and not is_terminal:
        return "Pending"
    count: Counter[str] = Counter(_state_of(spec, one, statuses.get(one.name)) for one in spec.containers)
    if count["waiting"]:
        return "Failed" if is_terminal else "Pending"
    if count["running"]:
        return "Running"
    if count["restarting"] and not is_terminal:
        return "Running"
    ended = [_last_exit_code(statuses.get(one.name)) for one in spec.containers]
    return "Failed" if any(ended) or None in ended else "Succeeded"


def _state_of(spec: PodSpec, container: Container, status: ContainerStatus | None) -> str:
    code = _last_exit_code(status)
    if status is not None and status.state is not None and status.state.running is not None:
        return "running"
    if code is None:
        return "waiting"
    return "restarting" if restarts(spec, container, code) else "stopped"


def _is_complete(status: ContainerStatus | None) -> bool:
    state = status.state if status is not None else None
    return state is not None and state.terminated is not None and state.terminated.exit_code == 0


def _last_exit_code(status: ContainerStatus | None) -> int | None:
    """The code with which a container that does not run has ended; None if it has not run yet, or runs."""
    if status is None or status.state is None or status.state.running is not None:
        return None
    ended = status.state.terminated or (status.last_state.terminated if status.last_state is not None else None)
    return ended.exit_code if ended is not None else None


def conditions_of(pod: Pod, phase: str, statuses: Statuses, now: datetime) -> list[PodCondition]:
    """The conditions that the kubelet sets, in its order, with the times of those that have not changed."""
    assert pod.spec is not None
    status = pod.status or PodStatus()
    before = {one.type: one for one in status.conditions}
    has_sandbox = any(_has_started(one) for one in statuses.values()) and phase not in ("Succeeded", "Failed")
    ready = _containers_ready(pod.spec, phase, statuses)
    wanted = [
        ("PodReadyToStartContainers", (str(has_sandbox), "", "")),
        ("Initialized", _initialized(pod.spec, phase, statuses)),
        ("Ready", _ready(pod, ready)),
        ("ContainersReady", ready),
        ("PodScheduled", ("True", "", "")),
    ]
    return [_condition(name, verdict, before.get(name), pod.metadata.generation, now) for name, verdict in wanted]


_Verdict = tuple[str, str, str]
"""Status, reason and message."""
_TRUE = ("True", "", "")


def _condition(
    name: str, verdict: _Verdict, before: PodCondition | None, generation: int, now: datetime
) -> PodCondition:
    status, reason, message = verdict
    changed = before is None or before.status != status or before.last_transition_time is None
    since = now if changed or before is None else before.last_transition_time
    return PodCondition(
        type=name,
        status=status,
        reason=reason or None,
        message=message or None,
        last_transition_time=since,
        observed_generation=generation or None,
    )


def _containers_ready(spec: PodSpec, phase: str, statuses: Statuses) -> _Verdict:
    if phase == "Succeeded":
        return "False", "PodCompleted", ""
    if phase == "Failed":
        return "False", "PodFailed", ""
    counted = [*(one for one in spec.init_containers if is_sidecar(one)), *spec.containers]
    unready = [one.name for one in counted if one.name not in statuses or not statuses[one.name].ready]
    if unready:
        return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return _TRUE


def _ready(pod: Pod, containers: _Verdict) -> _Verdict:
    if containers[0] != "True":
        return containers
    problems = list(_gate_problems(pod))
    return ("False", "ReadinessGatesNotReady", ", ".join(problems)) if problems else _TRUE


def _gate_problems(pod: Pod) -> Iterator[str]:
    gates = pod.spec.readiness_gates if pod.spec is not None else []
    found = {one.type: one.status for one in pod.status.conditions} if pod.status is not None else {}
    for gate in gates:
        name = gate.condition_type
        if name not in found:
            yield f'corresponding condition of pod readiness gate "{name}" does not exist.'
        elif found[name] != "True":
            yield f'the status of pod readiness gate "{name}" is not "True", but {found[name]}'


def _initialized(spec: PodSpec, phase: str, statuses: Statuses) -> _Verdict:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    if any(_has_started(statuses.get(one.name)) for one in spec.containers):
        return _TRUE
    incomplete = [one.name for one in spec.init_containers if not is_initialized(one, statuses.get(one.name))]
    if incomplete:
        return "False", "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(incomplete)}]"
    return _TRUE


def is_initialized(container: Container, status: ContainerStatus | None) -> bool:
    """Whether the containers after this init container may start."""
    if is_sidecar(container):
        return status is not None and bool(status.started)
    return _is_complete(status)


def _has_started(status: ContainerStatus | None) -> bool:
    if status is None or status.state is None:
        return False
    has_ended = status.last_state is not None and status.last_state.terminated is not None
    return status.state.running is not None or status.state.terminated is not None or has_ended
