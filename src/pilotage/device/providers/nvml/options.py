"""Options of the NVML provider."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.device.providers.actions import Vocabulary


@dataclass(frozen=True, slots=True)
class NVMLOptions:
    """Options of the NVML provider. Times are in seconds."""

    poll_seconds: float = 10.0
    """The interval of polls."""
    call_seconds: float = 30.0
    """The timeout after which the driver is considered hung."""
    retry_seconds: float = 5.0
    """The delay before the library is opened again; doubled up to `retry_most_seconds` while opening fails."""
    retry_most_seconds: float = 60.0
    """The longest delay, and the interval of checks for a lost GPU."""
    ignored_xids: frozenset[int] = frozenset()
    """XIDs that do not set a condition, in addition to those without an action."""
    vocabulary: Vocabulary = Vocabulary.ENUM
    """The vocabulary of `status.recommendedAction`."""
