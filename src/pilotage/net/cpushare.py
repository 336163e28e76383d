"""A share of a core's CPU time, for work that clients can cause."""

from __future__ import annotations

from pilotage.meta.bounds.tokenbucket import TokenBucket

_MAX_CHARGE = 0.01
"""Seconds: the rest of a longer turn is not the caller's work, but for example a run of the garbage collector."""


class CPUShare:
    """A bucket of CPU seconds that gains `share` seconds a second. After an overdraft the caller waits."""

    def __init__(self, share: float, burst: float, now: float) -> None:
        self._seconds = TokenBucket(share, burst, now)

    def spend(self, seconds: float) -> None:
        self._seconds.spend(min(seconds, _MAX_CHARGE))

    def wait(self, now: float) -> float:
        """The seconds to wait before more may be spent."""
        return self._seconds.wait(now)
