"""How long a Job waits before it replaces a failed Pod: ten seconds, doubled with each failure, ten minutes at most."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from pilotage.meta.values import Value
from pilotage.workloads.jobs.pods import JobPod

BASE = timedelta(seconds=10)
MAXIMUM = timedelta(minutes=10)
_NONE = timedelta()


class Backoff(Value, frozen=True):
    """The failures of a Job since its last success."""

    failures: int = 0
    """How many Pods have failed."""
    last_failure: datetime | None = None
    """When the last of them ended."""


def next_backoff(before: Backoff, succeeded: Sequence[JobPod], failed: Sequence[JobPod]) -> Backoff:
    """The failures with the Pods that have just ended: those before the last success do not count."""
    if not succeeded and not failed:
        return before
    failures = [end for pod in failed if (end := pod.finished_at) is not None]
    if not succeeded:
        return Backoff(before.failures + len(failed), max(failures, default=None))
    if not failed:
        return Backoff()
    last_success = max((end for pod in succeeded if (end := pod.finished_at) is not None), default=None)
    later = [end for end in failures if last_success is None or end > last_success]
    return Backoff(len(later), max(later, default=None))


def remaining_time(backoff: Backoff, now: datetime, base: timedelta = BASE, maximum: timedelta = MAXIMUM) -> timedelta:
    """How long no Pod is created yet."""
    if not backoff.failures or backoff.last_failure is None:
        return _NONE
    # 2**40 times the base is above any maximum, and a larger power takes long to compute.
    waiting = min(base * 2 ** min(backoff.failures - 1, 40), maximum) if backoff.failures > 1 else base
    return max(waiting - (now - backoff.last_failure), _NONE)


def remaining_time_of_index(failed: JobPod | None, now: datetime) -> timedelta:
    """The same for one index, whose last Pod has failed; without such a Pod there is nothing to wait for."""
    if failed is None:
        return _NONE
    return remaining_time(Backoff(failed.failures + failed.ignored_failures + 1, failed.finished_at), now)
