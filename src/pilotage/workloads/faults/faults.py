"""The faults that are in force, and the behaviour of each container with them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace

from pilotage.errors import InvalidDefinition
from pilotage.types.core.v1 import Container, Pod
from pilotage.workloads.faults.behaviour import DEFAULT, JOB, Behaviour
from pilotage.workloads.faults.fault import ANNOTATION, Fault, parse
from pilotage.workloads.integers import parse_integer
from pilotage.workloads.options import WorkloadOptions

RUN_SECONDS = "workloads.pilotage.dev/run-seconds"
"""An annotation of Pods: how long their containers run."""
EXIT_CODE = "workloads.pilotage.dev/exit-code"
"""An annotation of Pods: the exit code of their containers."""
_STEPS = 5
"""A jitter has as many values: Pods that are created together change together, in a few groups."""


class Faults:
    """The faults in force; `subscribe` notifies of each change."""

    def __init__(self, options: WorkloadOptions) -> None:
        self._options = options
        self._faults: list[Fault] = []
        self._subscribers: list[Callable[[], None]] = []

    def add(self, fault: Fault) -> None:
        self._faults.append(fault)
        self._notify()

    def remove(self, fault: Fault) -> None:
        """It has no effect any more; a fault that is not in force is ignored."""
        if fault in self._faults:
            self._faults.remove(fault)
            self._notify()

    def named(self, name: str) -> list[Fault]:
        """The faults of one name."""
        return [fault for fault in self._faults if fault.name == name]

    def subscribe(self, subscriber: Callable[[], None]) -> None:
        """Call a function after each change."""
        self._subscribers.append(subscriber)

    def _notify(self) -> None:
        for subscriber in self._subscribers:
            subscriber()

    def behaviour_of(self, pod: Pod, container: Container, restarts: int) -> Behaviour:
        """How a container of a Pod behaves after a number of restarts."""
        assert pod.spec is not None
        is_init = container in pod.spec.init_containers
        policy = container.restart_policy or ("Never" if is_init else pod.spec.restart_policy)
        behaviour = DEFAULT if policy in (None, "", "Always") else JOB
        jitter = self._jitter(pod.metadata.uid, container.name)
        behaviour = replace(behaviour, pull_seconds=self._options.pull_seconds + jitter)
        if not is_init:
            behaviour = _annotated(behaviour, pod)
        for fault in (*self._faults, *_annotated_faults(pod)):
            if fault.affects(pod, container):
                behaviour = fault.effect_on(behaviour, restarts)
        return behaviour

    def _jitter(self, uid: str, container: str) -> float:
        """The part of the jitter for one container: always the same from the same seed."""
        if not self._options.jitter_seconds:
            return 0.0
        chance = zlib.crc32(f"{self._options.seed} {uid} {container}".encode()) % _STEPS
        return float(self._options.jitter_seconds) * chance / _STEPS


def _annotated(behaviour: Behaviour, pod: Pod) -> Behaviour:
    annotations = pod.metadata.annotations
    if not annotations:
        return behaviour
    run, code = annotations.get(RUN_SECONDS, ""), annotations.get(EXIT_CODE, "")
    if run.isascii() and run.replace(".", "", 1).isdigit():
        behaviour = replace(behaviour, run_seconds=float(run))
    number = parse_integer(code)
    return replace(behaviour, exit_code=number) if number is not None and 0 <= number < 256 else behaviour


def _annotated_faults(pod: Pod) -> list[Fault]:
    """The fault in the annotation of a Pod. One that cannot be read has no effect; the kubelet records an Event."""
    text = pod.metadata.annotations.get(ANNOTATION)
    if not text:
        return []
    try:
        return [parse(text)]
    except InvalidDefinition:
        return []


def annotation_problem(pod: Pod) -> str:
    """Why the fault in the annotation of a Pod cannot be read; empty if it can, or there is none."""
    try:
        parse(text) if (text := pod.metadata.annotations.get(ANNOTATION)) else None
    except InvalidDefinition as error:
        return str(error)
    return ""
