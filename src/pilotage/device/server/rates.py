"""A token bucket: so many a second, and a few at once. Time is handed in."""

from __future__ import annotations


class Rates:
    """A rate for each of many callers. Those who have not called for long are forgotten."""

    def __init__(self, per_second: float, burst: int, *, callers: int = 1024) -> None:
        self._per_second = per_second
        self._burst = burst
        self._callers = callers
        self._rates: dict[str, Rate] = {}

    def allows(self, caller: str, now: float) -> bool:
        """Whether one more of this caller is allowed; if so, it counts."""
        rate = self._rates.pop(caller, None) or Rate(self._per_second, self._burst)
        self._rates[caller] = rate  # at the end: the first is who has not called for longest
        if len(self._rates) > self._callers:
            del self._rates[next(iter(self._rates))]
        return rate.allows(now)


class Rate:
    """Allows `per_second` on average, and `burst` at once after a pause."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._tokens = float(burst)
        self._at = 0.0

    def allows(self, now: float) -> bool:
        """Whether one more is allowed, at a time that never goes back; if so, it counts."""
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_second)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
