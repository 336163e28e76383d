"""The state of a Pod, as the controllers of Kubernetes read it."""

from __future__ import annotations

from datetime import timedelta

from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.meta.conditions import find_status_condition, is_status_condition_true
from pilotage.meta.scalars import times
from pilotage.types.core.v1 import Pod

READY = "Ready"
_ENDED = ("Succeeded", "Failed")


def is_pod_ready(pod: Pod) -> bool:
    """Whether the condition Ready of a Pod is True."""
    return pod.status is not None and is_status_condition_true(pod.status.conditions, READY)


def is_pod_available(pod: Pod, min_ready_seconds: Seconds = 0, *, clock: times.Clock = times.system_clock) -> bool:
    """Whether a Pod has been ready for at least `min_ready_seconds`, by the time that `clock` returns."""
    least = timedelta(seconds=seconds(min_ready_seconds, "min_ready_seconds"))
    ready = find_status_condition(pod.status.conditions, READY) if pod.status is not None else None
    if ready is None or ready.status != "True":
        return False
    return not least or (ready.last_transition_time is not None and ready.last_transition_time + least <= clock())


def is_pod_active(pod: Pod) -> bool:
    """Whether a Pod has not ended and is not being deleted: the Pods that count as replicas."""
    return (pod.status is None or pod.status.phase not in _ENDED) and pod.metadata.deletion_timestamp is None
