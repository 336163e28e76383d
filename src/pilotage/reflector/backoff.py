"""How long to wait before the next try: longer each time, with jitter so that clients do not act at once."""

from __future__ import annotations

import random

from pilotage.meta.bounds.backoff import backoff, spread
from pilotage.rest.listing import BackoffOptions, ListerWatcher, Paced


class BackoffManager:
    """Counts failures and computes the wait after each."""

    def __init__(self, options: BackoffOptions | None = None, generator: random.Random | None = None) -> None:
        self._options = options or BackoffOptions()
        self._random = generator or random.Random()  # noqa: S311  # spreads the load, is no secret
        self._failures = 0
        self._last_end = float("-inf")

    def next_wait(self, now: float, at_least: float = 0.0) -> float:
        """Count a failure at `now` and return the wait after it; `at_least` is what the server asks for."""
        options = self._options
        if now - self._last_end > options.reset_after:
            self._failures = 0
        own = backoff(self._failures, options.first, options.limit, factor=options.factor)
        self._failures += 1
        # A server that shuts down may ask for a long wait, and be back much sooner. The limit takes the jitter from the
        # longest waits, but the earlier ones have spread the clients by as much.
        wait = min(spread(max(own, at_least), options.jitter, self._random), options.limit)
        self._last_end = now + wait
        return wait

    def reset(self) -> None:
        """Begin with the first wait: what failed has worked in between."""
        self._failures = 0


def backoff_of(lister_watcher: ListerWatcher, chosen: BackoffOptions | None) -> BackoffOptions:
    """The options to use: what was chosen, else what the lister-watcher asks for, else those for API servers."""
    if chosen is not None:
        return chosen
    return lister_watcher.backoff if isinstance(lister_watcher, Paced) else BackoffOptions()
