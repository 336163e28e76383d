"""When a request is sent again, and after how long. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from pilotage.errors import ConnectionLost
from pilotage.meta.bounds.backoff import backoff, spread
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field

_SAFE = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently. Times are seconds.

    An answer of 429, or of 5xx with Retry-After, is retried after that time, and longer with every
    try. A write is sent again only after answers that mean that nothing was done (429 and 503).
    """

    tries: int = count_field(10)
    """How often a request is sent again after an answer with Retry-After."""
    total: SecondsField = seconds_field(60.0)
    """A retry that would come later than this after the first try is not made: the error is raised."""
    lost: int = count_field(3)
    """How often a read is sent again after its connection was lost."""
    first: SecondsField = seconds_field(0.1)
    """The wait before a read is sent again after its connection was lost; it doubles each time."""
    longest: SecondsField = seconds_field(30.0)
    """The longest wait, unless the server asks for more."""
    jitter: float = 0.2
    """A wait is longer by a random part of this share of it."""

    def __post_init__(self) -> None:
        check_fields(self)

    def after_answer(self, method: str, code: int, retry_after: int, attempt: int, random: Random) -> float | None:
        """How long to wait after an answer before trying again, for the time number `attempt` (from 0); None: never."""
        if attempt >= self.tries or not retry_after or not (code == 429 or 500 <= code <= 599):
            return None
        if method not in _SAFE and code not in (429, 503):
            return None  # the write may have taken effect
        return spread(max(retry_after, backoff(attempt, 0.5, self.longest)), self.jitter, random)

    def after_loss(self, method: str, error: ConnectionLost, attempt: int, random: Random) -> float | None:
        """The same after a lost connection. One that could not be opened, or was silent, is not retried."""
        if method not in _SAFE or not error.sent or error.timed_out or attempt >= self.lost:
            return None
        return spread(backoff(attempt, self.first), self.jitter, random)
