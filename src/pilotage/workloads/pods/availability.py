"""When a Pod is available: ready for `minReadySeconds`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from pilotage.workloads.pods.view import PodView


def is_available(pod: PodView, min_ready_seconds: int | None, now: datetime) -> bool:
    """Whether a Pod has been ready for at least `min_ready_seconds`."""
    if not pod.is_ready or not min_ready_seconds:
        return pod.is_ready
    return pod.ready_since is not None and pod.ready_since + timedelta(seconds=min_ready_seconds) <= now


def next_check(pods: Iterable[PodView], min_ready_seconds: int, now: datetime) -> timedelta:
    """How long it is until the next ready Pod becomes available; `min_ready_seconds`, where none is known."""
    least = timedelta(seconds=min_ready_seconds)
    waits = [pod.ready_since + least - now for pod in pods if pod.is_ready and pod.ready_since is not None]
    return min((wait for wait in waits if wait > timedelta()), default=least)
