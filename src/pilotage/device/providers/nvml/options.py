"""Options of the NVML provider."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.device.providers.actions import Vocabulary
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, seconds_field


@dataclass(frozen=True, slots=True)
class NVMLOptions:
    """Options of the NVML provider. Times are in seconds."""

    poll_seconds: SecondsField = seconds_field(10.0, zero=False)
    """The interval of polls."""
    call_seconds: SecondsField = seconds_field(30.0, zero=False)
    """The timeout after which the driver is considered hung."""
    retry_seconds: SecondsField = seconds_field(5.0, zero=False)
    """The delay before the library is opened again; doubled up to `retry_most_seconds` while opening fails."""
    retry_most_seconds: SecondsField = seconds_field(60.0, zero=False)
    """The longest delay, and the interval of checks for a lost GPU."""
    ignored_xids: frozenset[int] = frozenset()
    """XIDs that do not set a condition, in addition to those without an action."""
    vocabulary: Vocabulary = Vocabulary.ENUM
    """The vocabulary of `status.recommendedAction`."""

    def __post_init__(self) -> None:
        check_fields(self)
