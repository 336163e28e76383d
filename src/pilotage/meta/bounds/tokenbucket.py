"""Token buckets for rate limits: an average rate per second, and a burst after a pause. Time is passed in.

`grpc.http2.guard` has a bucket of its own: it counts every frame, and must not read the clock for that.
"""

from __future__ import annotations

import math
from collections.abc import Hashable

from pilotage.meta.bounds.recent import Recent


class TokenBucket:
    """Holds at most `burst` tokens and gains `rate` tokens a second. It is full when it is made at the time `now`."""

    __slots__ = ("_at", "_burst", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float, now: float = 0.0) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._at = now

    def take(self, now: float, number: float = 1, max_wait: float = 0.0) -> float | None:
        """Take tokens, and return the seconds to wait until they are available. None if that is longer than `max_wait`;
        then nothing is taken. Tokens that are taken in advance are a debt: the next caller waits for them too, so
        callers that wait keep their order.
        """
        self._refill(now)
        missing = number - self._tokens
        wait = 0.0 if missing <= 0 else missing / self._rate if self._rate > 0 else math.inf
        if wait > max_wait:
            return None
        self._tokens -= number
        return wait

    def try_take(self, now: float) -> bool:
        """Take one token if there is one."""
        return self.take(now) is not None

    def spend(self, number: float) -> None:
        """Take tokens even if they are not available: the work that they pay for is done already."""
        self._tokens -= number

    def wait(self, now: float) -> float:
        """The seconds until nothing is owed for what was spent or taken in advance."""
        self._refill(now)
        return -self._tokens / self._rate if self._tokens < 0 else 0.0

    def is_full(self, now: float) -> bool:
        """Whether all tokens are available, as in a new bucket."""
        return self._tokens + (now - self._at) * self._rate >= self._burst

    def _refill(self, now: float) -> None:
        # A wall clock may be set back. That gains nothing, and time is counted from the new reading.
        self._tokens = min(self._tokens + max(0.0, now - self._at) * self._rate, self._burst)
        self._at = now


class TokenBuckets:
    """A bucket for each key. Those of the least recent keys are forgotten."""

    def __init__(self, rate: float, burst: float, keys: int = 1024) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: Recent[Hashable, TokenBucket] = Recent(keys)

    def try_take(self, key: Hashable, now: float) -> bool:
        """Take one token of a key if there is one."""
        bucket = self._buckets[key] = self._buckets.get(key) or TokenBucket(self._rate, self._burst, now)
        return bucket.try_take(now)
