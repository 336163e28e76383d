"""The order in which Pods are deleted when there are too many of them, as in the ReplicaSet controller.

A comparison of Go's is not always transitive (equal ages and different restarts), so it is a comparison here too, and
not a key.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cmp_to_key

from pilotage.controller.workloads.pods import READY, is_pod_active, is_pod_ready
from pilotage.meta.conditions import find_status_condition
from pilotage.meta.scalars import times
from pilotage.types.core.v1 import Pod

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 10**9
_INT32 = 2**31


def sort_for_deletion(
    pods: Iterable[Pod], *, related: Iterable[Pod] | None = None, clock: times.Clock = times.system_clock
) -> list[Pod]:
    """The Pods in the order in which the ReplicaSet controller deletes them, the first one first.

    That is: not assigned to a node, pending, not ready, of a lower `controller.kubernetes.io/pod-deletion-cost`, on a
    node with more of the `related` Pods (by default these), ready for a shorter time, restarted more often, younger.
    Times of the same magnitude count as equal, so that not always the youngest is deleted; `clock` returns the time.
    """
    given, now = list(pods), clock()
    others = given if related is None else related
    on_node = Counter(pod.spec.node_name for pod in others if is_pod_active(pod) and pod.spec is not None)
    ranked = [_rank(pod, on_node, now) for pod in given]
    return [each.pod for each in sorted(ranked, key=cmp_to_key(_compare))]


@dataclass(frozen=True, slots=True)
class _Rank:
    """What decides about a Pod; of two Pods, the one with the smaller `first` is deleted."""

    pod: Pod
    first: tuple[int, ...]
    is_ready: bool
    ready_since: datetime | None
    restarts: tuple[int, int]
    """The most restarts of a container, and of a sidecar."""
    now: datetime


def _rank(pod: Pod, on_node: Counter[str | None], now: datetime) -> _Rank:
    node = (pod.spec.node_name if pod.spec is not None else "") or ""
    phase = _PHASES.get((pod.status.phase if pod.status is not None else "") or "", 0)
    ready = is_pod_ready(pod)
    first = (int(bool(node)), phase, int(ready), _cost(pod), -on_node[node])
    return _Rank(pod, first, ready, _ready_since(pod), _restarts(pod), now)


def _compare(one: _Rank, other: _Rank) -> int:
    if one.first != other.first:
        return -1 if one.first < other.first else 1
    if one.is_ready and one.ready_since != other.ready_since:
        return _by_age(one.ready_since, other.ready_since, one, other)
    if one.restarts != other.restarts:
        return -1 if one.restarts > other.restarts else 1
    ages = one.pod.metadata.creation_timestamp, other.pod.metadata.creation_timestamp
    return _by_age(*ages, one, other) if ages[0] != ages[1] else 0


def _by_age(since: datetime | None, other_since: datetime | None, one: _Rank, other: _Rank) -> int:
    """The younger one first, by magnitude; without a time it is the youngest."""
    if since is None or other_since is None:
        return -1 if since is None else 1
    difference = _magnitude(one.now, since) - _magnitude(one.now, other_since)
    if difference:
        return -1 if difference < 0 else 1
    return -1 if one.pod.metadata.uid < other.pod.metadata.uid else 1


def _magnitude(now: datetime, since: datetime) -> int:
    nanoseconds = (now - since).total_seconds() * _NANOSECONDS
    return int(math.log10(nanoseconds)) if nanoseconds > 0 else -1


def _cost(pod: Pod) -> int:
    """The cost in the annotation; 0 for none, and for one that is not an int32 as Go writes it."""
    text = pod.metadata.annotations.get(DELETION_COST, "")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (digits != "0" and digits.startswith("0")) or text == "-0":
        return 0
    return int(text) if len(digits) <= 10 and -_INT32 <= int(text) < _INT32 else 0


def _ready_since(pod: Pod) -> datetime | None:
    found = find_status_condition(pod.status.conditions, READY) if pod.status is not None else None
    return found.last_transition_time if found is not None and found.status == "True" else None


def _restarts(pod: Pod) -> tuple[int, int]:
    if pod.status is None:
        return 0, 0
    sidecars: Sequence[str] = [
        one.name for one in (pod.spec.init_containers if pod.spec is not None else []) if one.restart_policy == "Always"
    ]
    containers = [one.restart_count for one in pod.status.container_statuses]
    started = [one.restart_count for one in pod.status.init_container_statuses if one.name in sidecars]
    return max(containers, default=0), max(started, default=0)
