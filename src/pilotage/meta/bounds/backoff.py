"""How long to wait after failures in a row: longer each time, and not the same for all clients."""

from __future__ import annotations

import math
from random import Random


def backoff(failures: int, first: float, longest: float = math.inf, *, factor: float = 2.0) -> float:
    """The wait after so many failures before this one: `first` after none, then longer by the factor each time."""
    try:
        return min(first * factor**failures, longest)
    except OverflowError:
        return longest if first else 0.0


def spread(seconds: float, jitter: float, random: Random) -> float:
    """A wait that is longer by a random part of this share of it, so that clients do not act at the same time."""
    return seconds * (1 + jitter * random.random())
