"""The CPU time that the page may take of the program: what costs more waits, so that reconcilers do not."""

from __future__ import annotations

from collections.abc import Callable

SHARE = 0.012
"""Of one core. The stream and the network take the rest of two percent."""
BURST = 0.3
"""Seconds of CPU time that may be spent at once, after a while without requests."""


class Budget:
    """Grows with the time of the loop, and is charged with what answers have cost."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._at = now()
        self._left = BURST

    def charge(self, seconds: float) -> None:
        """Take the cost of an answer."""
        self._grow()
        self._left -= seconds

    def delay(self) -> float:
        """The seconds until the next answer may be computed."""
        self._grow()
        return max(0.0, -self._left / SHARE)

    def _grow(self) -> None:
        now = self._now()
        self._left = min(BURST, self._left + (now - self._at) * SHARE)
        self._at = now
