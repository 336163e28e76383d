"""Backoff: how long to wait before the next try, longer each time, never exactly as long as everybody else."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackoffOptions:
    """client-go's numbers for lists and watches, in seconds."""

    first: float = 0.8
    limit: float = 30.0
    factor: float = 2.0
    jitter: float = 1.0
    """A wait is longer by a random part of this share of it: with 1.0, a wait of 2 s is one of 2 to 4 s."""
    reset_after: float = 120.0
    """Without trouble for so long, the next wait is the first one again."""


class Backoff:
    """Counts troubles and says how long to wait after each."""

    def __init__(self, options: BackoffOptions | None = None, chooser: random.Random | None = None) -> None:
        self._options = options or BackoffOptions()
        self._random = chooser or random.Random()  # noqa: S311  # spreads the load, is no secret
        self._next = self._options.first
        self._last = float("-inf")

    def delay(self, now: float, at_least: float = 0.0) -> float:
        """The wait after a trouble at `now`; not shorter than what the server asked for."""
        options = self._options
        if now - self._last > options.reset_after:
            self._next = options.first
        base = max(self._next, min(at_least, options.limit))
        self._next = min(self._next * options.factor, options.limit)
        wait = base * (1 + options.jitter * self._random.random())
        self._last = now + wait
        return wait
