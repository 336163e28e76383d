"""What a server announces in the initial metadata of its answers, and where its resource versions come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pilotage.device.wire import options


@dataclass(frozen=True, slots=True)
class Announced:
    """What a server promises. NVIDIA's servers promise nothing."""

    options: frozenset[str] = frozenset()
    """Which options it honours beyond its wire generation."""
    storage: str = ""
    """The id of the storage that its versions are of; empty where it may count from the beginning after a restart."""
    bookmark_seconds: float = 0.0
    """How often a silent watch gets a bookmark; 0: perhaps never."""

    @classmethod
    def read(cls, metadata: Mapping[str, str]) -> Announced:
        said = metadata.get(options.UNDERSTOOD, "")
        return cls(
            frozenset(part.strip() for part in said.split(",") if part.strip()),
            metadata.get(options.STORAGE, ""),
            _seconds(metadata.get(options.BOOKMARK_SECONDS, "")),
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a resource version comes from."""

    connection: int = 0
    """Its number; 0 where it is not known, because an interceptor made the answer."""
    storage: str = ""

    def same_versions(self, other: Origin) -> bool:
        """Whether a version from here means the same there, as far as is known."""
        if self.connection and self.connection == other.connection:
            return True  # whether the metadata of both have come or not
        if self.storage or other.storage:
            return self.storage == other.storage
        return not (self.connection and other.connection)


def _seconds(text: str) -> float:
    try:
        found = float(text or "0")
    except ValueError:
        return 0.0
    return found if 0 < found < 3600 else 0.0
