"""A rate limit for each of many callers. Time is passed in."""

from __future__ import annotations

from pilotage.meta.tokenbucket import TokenBucket


class CallerRateLimiter:
    """A rate for each of many callers. Those who have not called for long are forgotten."""

    def __init__(self, per_second: float, burst: int, *, callers: int = 1024) -> None:
        self._per_second = per_second
        self._burst = burst
        self._callers = callers
        self._buckets: dict[str, TokenBucket] = {}

    def allows(self, caller: str, now: float) -> bool:
        """Whether one more of this caller is allowed; if so, it counts."""
        bucket = self._buckets.pop(caller, None) or TokenBucket(self._per_second, self._burst, now)
        self._buckets[caller] = bucket  # at the end: the first is the caller that has not called for longest
        if len(self._buckets) > self._callers:
            del self._buckets[next(iter(self._buckets))]
        return bucket.try_take(now)
