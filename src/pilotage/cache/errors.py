"""The errors of a cache."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.errors import InvalidDefinition, PilotageError


class CacheNotStarted(PilotageError):
    """The cache was read before it was started."""


class NotCached(PilotageError):
    """The kind has no informer, or its namespace is not cached."""


class NamespaceRemoved(NotCached):
    """The namespace was removed from the cache while it ran. `namespace` is its name."""

    def __init__(self, message: str, namespace: str) -> None:
        self.namespace = namespace
        super().__init__(message)


class NoIndex(InvalidDefinition):
    """A read by an index that does not exist. `advice` is the call that adds it."""

    def __init__(self, index: str, known: Iterable[str], advice: str) -> None:
        self.index = index
        self.known = sorted(known)
        existing = ", ".join(map(repr, self.known)) or "none"
        super().__init__(f"there is no index {index!r} (existing indexes: {existing}): {advice}")
