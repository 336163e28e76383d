"""What a cache cannot do for a caller."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.errors import InvalidDefinition, PilotageError


class CacheNotStarted(PilotageError):
    """The cache was read before it was started: nothing would ever arrive in it."""


class NotCached(PilotageError):
    """What was asked for is not among the things that are cached: a kind without an informer, or a namespace."""


class NoIndex(InvalidDefinition):
    """A read by an index that does not exist. `advice` is the call that adds it, for the way in which it was read."""

    def __init__(self, index: str, known: Iterable[str], advice: str) -> None:
        self.index = index
        self.known = sorted(known)
        existing = ", ".join(map(repr, self.known)) or "none"
        super().__init__(f"there is no index {index!r} (existing indexes: {existing}): {advice}")
