"""What a server announces in the initial metadata of its responses, and the origin of its resource versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pilotage.device.wire import options


@dataclass(frozen=True, slots=True)
class Announced:
    """What a server announces. NVIDIA's servers announce nothing."""

    options: frozenset[str] = frozenset()
    """Options that it supports beyond its wire generation."""
    storage: str = ""
    """The id of the storage of its resource versions; empty if they may start again after a restart."""
    bookmark_seconds: float = 0.0
    """The interval of bookmarks on an idle watch; 0: unknown."""

    @classmethod
    def read(cls, metadata: Mapping[str, str]) -> Announced:
        text = metadata.get(options.UNDERSTOOD, "")
        return cls(
            frozenset(part.strip() for part in text.split(",") if part.strip()),
            metadata.get(options.STORAGE, ""),
            _seconds(metadata.get(options.BOOKMARK_SECONDS, "")),
        )


@dataclass(frozen=True, slots=True)
class VersionOrigin:
    """The origin of a resource version."""

    connection: int = 0
    """The number of the connection; 0 if unknown, because an interceptor made the response."""
    storage: str = ""

    def same_versions(self, other: VersionOrigin) -> bool:
        """Whether a version of this origin is known to be valid at the other one."""
        if self.connection and self.connection == other.connection:
            return True  # even if the metadata of one have not been received yet
        if self.storage or other.storage:
            return self.storage == other.storage
        return not (self.connection and other.connection)


def _seconds(text: str) -> float:
    try:
        found = float(text or "0")
    except ValueError:
        return 0.0
    return found if 0 < found < 3600 else 0.0
