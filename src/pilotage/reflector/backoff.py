"""How long to wait before the next try: longer each time, with jitter so that clients do not act at once."""

from __future__ import annotations

import random

from pilotage.rest.listing import BackoffOptions, ListerWatcher, Paced


class BackoffManager:
    """Counts failures and computes the wait after each."""

    def __init__(self, options: BackoffOptions | None = None, generator: random.Random | None = None) -> None:
        self._options = options or BackoffOptions()
        self._random = generator or random.Random()  # noqa: S311  # spreads the load, is no secret
        self._next = self._options.first
        self._last_end = float("-inf")

    def next_wait(self, now: float, at_least: float = 0.0) -> float:
        """Count a failure at `now` and return the wait after it; `at_least` is what the server asks for."""
        options = self._options
        if now - self._last_end > options.reset_after:
            self._next = options.first
        # A server that shuts down may ask for a long wait, and be back much sooner.
        base = max(self._next, min(at_least, options.limit))
        self._next = min(self._next * options.factor, options.limit)
        wait = base * (1 + options.jitter * self._random.random())
        self._last_end = now + wait
        return wait


def backoff_of(lister_watcher: ListerWatcher, chosen: BackoffOptions | None) -> BackoffOptions:
    """The options to use: what was chosen, else what the lister-watcher asks for, else those for API servers."""
    if chosen is not None:
        return chosen
    return lister_watcher.backoff if isinstance(lister_watcher, Paced) else BackoffOptions()
