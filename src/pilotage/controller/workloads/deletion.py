"""The order in which Pods are deleted when there are too many of them, as in the ReplicaSet controller.

A comparison of Go's is not always transitive (equal ages and different restarts), so it is a comparison here too, and
not a key.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cmp_to_key
from typing import Generic, Protocol, TypeVar

from pilotage.controller.workloads.pods import READY, is_pod_active, is_pod_ready
from pilotage.meta.conditions import find_status_condition
from pilotage.meta.scalars import times
from pilotage.meta.values import Value
from pilotage.types.core.v1 import Pod

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 10**9
_INT32 = 2**31


class Deletable(Protocol):
    """What decides which Pod is deleted first."""

    @property
    def uid(self) -> str: ...
    @property
    def annotations(self) -> Mapping[str, str]: ...
    @property
    def node(self) -> str: ...
    @property
    def phase(self) -> str: ...
    @property
    def is_ready(self) -> bool: ...
    @property
    def ready_since(self) -> datetime | None: ...
    @property
    def most_restarts(self) -> tuple[int, int]: ...
    @property
    def created(self) -> datetime | None: ...


D = TypeVar("D", bound=Deletable)


def sort_for_deletion(
    pods: Iterable[Pod], *, related: Iterable[Pod] | None = None, clock: times.Clock = times.system_clock
) -> list[Pod]:
    """The Pods in the order in which the ReplicaSet controller deletes them, the first one first.

    That is: not assigned to a node, pending, not ready, of a lower `controller.kubernetes.io/pod-deletion-cost`, on a
    node with more of the `related` Pods (by default these), ready for a shorter time, restarted more often, younger.
    Times of the same magnitude count as equal, so that not always the youngest is deleted; `clock` returns the time.
    """
    given = list(pods)
    others = given if related is None else related
    on_node = Counter((pod.spec.node_name or "") for pod in others if is_pod_active(pod) and pod.spec is not None)
    return [each.pod for each in in_deletion_order([_read(pod) for pod in given], on_node, clock())]


def in_deletion_order(pods: Iterable[D], on_node: Mapping[str, int], now: datetime) -> list[D]:
    """The order of `sort_for_deletion` for Pods in another form; `on_node` are the numbers of related active Pods."""
    groups: dict[tuple[int, ...], list[D]] = {}
    for pod in pods:
        groups.setdefault(_rank(pod, on_node), []).append(pod)
    found: list[D] = []
    for rank in sorted(groups):
        ranked = [_Ranked(pod, _magnitude(now, pod.ready_since), _magnitude(now, pod.created)) for pod in groups[rank]]
        found += [each.pod for each in sorted(ranked, key=cmp_to_key(_compare))]
    return found


class _ReadPod(Value, frozen=True):
    """A Pod with the fields that decide."""

    pod: Pod
    uid: str
    annotations: dict[str, str]
    node: str
    phase: str
    is_ready: bool
    ready_since: datetime | None
    most_restarts: tuple[int, int]
    created: datetime | None


def _read(pod: Pod) -> _ReadPod:
    meta, node = pod.metadata, (pod.spec.node_name if pod.spec is not None else "") or ""
    phase = (pod.status.phase if pod.status is not None else "") or ""
    ready = is_pod_ready(pod), _ready_since(pod)
    return _ReadPod(pod, meta.uid, meta.annotations, node, phase, *ready, _most_restarts(pod), meta.creation_timestamp)


class _Ranked(Value, Generic[D], frozen=True):
    """Two Pods of one rank are compared by these."""

    pod: D
    ready_magnitude: int
    age_magnitude: int


def _rank(pod: Deletable, on_node: Mapping[str, int]) -> tuple[int, ...]:
    """Of two Pods, the one with the smaller rank is deleted."""
    cost = _cost(pod.annotations) if pod.annotations else 0
    return int(bool(pod.node)), _PHASES.get(pod.phase, 0), int(pod.is_ready), cost, -on_node.get(pod.node, 0)


def _compare(one: _Ranked[D], other: _Ranked[D]) -> int:
    pod, against = one.pod, other.pod
    if pod.is_ready and pod.ready_since != against.ready_since:
        if pod.ready_since is None or against.ready_since is None:
            return -1 if pod.ready_since is None else 1  # without a time it is the youngest
        return _by_magnitude(one.ready_magnitude - other.ready_magnitude, pod, against)
    if pod.most_restarts != against.most_restarts:
        return -1 if pod.most_restarts > against.most_restarts else 1
    if pod.created == against.created:
        return 0
    if pod.created is None or against.created is None:
        return -1 if pod.created is None else 1
    return _by_magnitude(one.age_magnitude - other.age_magnitude, pod, against)


def _by_magnitude(difference: int, one: Deletable, other: Deletable) -> int:
    if difference:
        return -1 if difference < 0 else 1
    return -1 if one.uid < other.uid else 1


def _magnitude(now: datetime, since: datetime | None) -> int:
    if since is None:
        return -1
    nanoseconds = (now - since).total_seconds() * _NANOSECONDS
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _cost(annotations: Mapping[str, str]) -> int:
    """The cost in the annotation; 0 for none, and for one that is not an int32 as Go writes it."""
    text = annotations.get(DELETION_COST, "")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (digits != "0" and digits.startswith("0")) or text == "-0":
        return 0
    return int(text) if len(digits) <= 10 and -_INT32 <= int(text) < _INT32 else 0


def _ready_since(pod: Pod) -> datetime | None:
    found = find_status_condition(pod.status.conditions, READY) if pod.status is not None else None
    return found.last_transition_time if found is not None and found.status == "True" else None


def _most_restarts(pod: Pod) -> tuple[int, int]:
    if pod.status is None:
        return 0, 0
    sidecars: Sequence[str] = [
        one.name for one in (pod.spec.init_containers if pod.spec is not None else []) if one.restart_policy == "Always"
    ]
    containers = [one.restart_count for one in pod.status.container_statuses]
    started = [one.restart_count for one in pod.status.init_container_statuses if one.name in sidecars]
    return max(containers, default=0), max(started, default=0)
