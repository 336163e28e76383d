"""Limits the frames of one connection that cost the server work and that a well-behaved client sends rarely."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass


class AbuseKind(enum.IntEnum):
    """What is counted. Each value is an index of a list."""

    RESET = 0
    """Streams that the client resets (rapid reset)."""
    REFUSED = 1
    """Refused calls; one with large headers counts more than once."""
    SETTINGS = 2
    """Single settings, not frames."""
    PING = 3
    WINDOW_UPDATE = 4
    """Window updates beyond those that follow from data sent."""
    EMPTY_DATA = 5
    """DATA frames without a payload."""
    SMALL_DATA = 6
    """DATA frames with a small payload that do not end a request."""
    OTHER = 7
    """PRIORITY, GOAWAY and unknown frames."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """A token bucket: its size, and its refill."""

    burst: int
    per_second: float


ALLOWANCES: dict[AbuseKind, Allowance] = {
    AbuseKind.RESET: Allowance(100, 20),
    AbuseKind.REFUSED: Allowance(100, 20),
    AbuseKind.SETTINGS: Allowance(50, 1),
    AbuseKind.PING: Allowance(50, 5),
    AbuseKind.WINDOW_UPDATE: Allowance(400, 100),
    AbuseKind.EMPTY_DATA: Allowance(20, 2),
    AbuseKind.SMALL_DATA: Allowance(500, 100),
    AbuseKind.OTHER: Allowance(100, 10),
}


class Abuse(Exception):
    """A limit is exceeded: the connection must be closed."""

    def __init__(self, kind: AbuseKind) -> None:
        self.kind = kind
        super().__init__(f"too many frames: {kind.name.lower().replace('_', ' ')}")


class Guard:
    """Counts by kind. Counting is a subtraction: the clock is read only when an allowance is used up.

    `meta.bounds.tokenbucket` would read it at each count, for frames that cost little more than that.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left: list[float] = [ALLOWANCES[each].burst for each in AbuseKind]
        self._since = [clock()] * len(AbuseKind)

    def count(self, kind: AbuseKind, number: int = 1) -> None:
        """Raises Abuse above the limit."""
        self._left[kind] -= number
        if self._left[kind] < 0:
            self._refill(kind)

    def grant(self, kind: AbuseKind, number: int) -> None:
        """Allow `number` more, once."""
        # Not limited by the burst alone: after one large response a client may send more frames than that at once.
        self._left[kind] = min(self._left[kind] + number, max(ALLOWANCES[kind].burst, number))

    def exhausted(self, kind: AbuseKind) -> bool:
        """Whether the allowance is used up: the moment to grant what the peer has earned."""
        return self._left[kind] < 1

    def _refill(self, kind: AbuseKind) -> None:
        allowance = ALLOWANCES[kind]
        now = self._clock()
        gained = (now - self._since[kind]) * allowance.per_second
        self._since[kind] = now
        self._left[kind] = min(self._left[kind] + gained, allowance.burst)
        if self._left[kind] < 0:
            raise Abuse(kind)
