"""Backoff: how long to wait before the next try, longer each time, never exactly as long as everybody else."""

from __future__ import annotations

import random

from pilotage.rest.listing import BackoffOptions, ListerWatcher, Paced

__all__ = ["Backoff", "BackoffOptions", "backoff_of"]


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


def backoff_of(source: ListerWatcher, asked: BackoffOptions | None) -> BackoffOptions:
    """How soon to try again: what was asked for, else what the source says, else what holds for API servers."""
    if asked is not None:
        return asked
    return source.backoff if isinstance(source, Paced) else BackoffOptions()
