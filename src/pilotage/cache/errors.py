"""What a cache cannot do for a caller."""

from __future__ import annotations

from pilotage.errors import PilotageError


class CacheNotStarted(PilotageError):
    """The cache was read before it was started: nothing would ever arrive in it."""


class NotCached(PilotageError):
    """What was asked for is not among the things that are cached: a kind without an informer, or a namespace."""
