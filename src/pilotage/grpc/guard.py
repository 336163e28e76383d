"""How much of what costs the server work and brings the client nothing is borne with, on one connection."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass


class Nuisance(enum.IntEnum):
    """What a client may do, but not without end. Each value is a place in a list."""

    RESET = 0
    """Streams that the client resets (rapid reset)."""
    REFUSED = 1
    """Calls refused, for whatever reason; one with large headers counts more than once."""
    SETTINGS = 2
    """Settings, one by one."""
    PING = 3
    WINDOW_UPDATE = 4
    """Window updates, beyond those that answer data sent."""
    EMPTY_DATA = 5
    """DATA frames with nothing in them."""
    SMALL_DATA = 6
    """DATA frames with very little in them that do not end a request."""
    OTHER = 7
    """PRIORITY frames, GOAWAYs, frames of unknown types."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """So many at once, and so many more with each second."""

    burst: int
    per_second: float


ALLOWANCES: dict[Nuisance, Allowance] = {
    Nuisance.RESET: Allowance(100, 20),
    Nuisance.REFUSED: Allowance(100, 20),
    Nuisance.SETTINGS: Allowance(50, 1),
    Nuisance.PING: Allowance(50, 5),
    Nuisance.WINDOW_UPDATE: Allowance(400, 100),
    Nuisance.EMPTY_DATA: Allowance(20, 2),
    Nuisance.SMALL_DATA: Allowance(500, 100),
    Nuisance.OTHER: Allowance(100, 10),
}


class Abuse(Exception):
    """More than is borne with. The connection is to be ended."""

    def __init__(self, nuisance: Nuisance) -> None:
        self.nuisance = nuisance
        super().__init__(f"too much of {nuisance.name.lower().replace('_', ' ')}")


class Guard:
    """Counts nuisances. To count costs next to nothing; the clock is read only when an allowance is used up."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left: list[float] = [ALLOWANCES[each].burst for each in Nuisance]
        self._since = [clock()] * len(Nuisance)

    def count(self, nuisance: Nuisance, number: int = 1) -> None:
        """Raises Abuse where it is too much."""
        self._left[nuisance] -= number
        if self._left[nuisance] < 0:
            self._refill(nuisance)

    def grant(self, nuisance: Nuisance, number: int) -> None:
        """Allow so many more, once."""
        self._left[nuisance] = min(self._left[nuisance] + number, max(ALLOWANCES[nuisance].burst, number))

    def exhausted(self, nuisance: Nuisance) -> bool:
        """Whether the next one would be looked at closely: the time to grant what was earned."""
        return self._left[nuisance] < 1

    def _refill(self, nuisance: Nuisance) -> None:
        allowance = ALLOWANCES[nuisance]
        now = self._clock()
        gained = (now - self._since[nuisance]) * allowance.per_second
        self._since[nuisance] = now
        self._left[nuisance] = min(self._left[nuisance] + gained, allowance.burst)
        if self._left[nuisance] < 0:
            raise Abuse(nuisance)
