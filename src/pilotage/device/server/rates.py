"""A token bucket: so many a second, and a few at once. Time is handed in."""

from __future__ import annotations


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
