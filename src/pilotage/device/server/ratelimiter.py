"""A rate limit for each caller. Time is passed in."""

from __future__ import annotations

from pilotage.meta.tokenbucket import TokenBucket


class CallerRateLimiter:
    """A token bucket for each caller. The least recent callers are forgotten."""

    def __init__(self, per_second: float, burst: int, *, callers: int = 1024) -> None:
        self._per_second = per_second
        self._burst = burst
        self._callers = callers
        self._buckets: dict[str, TokenBucket] = {}

    def allows(self, caller: str, now: float) -> bool:
        """Whether another call of this caller is allowed; if so, it is counted."""
        bucket = self._buckets.pop(caller, None) or TokenBucket(self._per_second, self._burst, now)
        self._buckets[caller] = bucket  # at the end: the first is the least recent caller
        if len(self._buckets) > self._callers:
            del self._buckets[next(iter(self._buckets))]
        return bucket.try_take(now)
