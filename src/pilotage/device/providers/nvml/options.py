"""What can be chosen about looking after GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.device.providers.actions import Vocabulary


@dataclass(frozen=True, slots=True)
class NVMLOptions:
    """How GPUs are looked after. Times are in seconds."""

    poll_seconds: float = 10.0
    """How often the state of each GPU is read."""
    call_seconds: float = 30.0
    """After so long without an answer the driver is taken to hang."""
    retry_seconds: float = 5.0
    """Before the library is opened again; doubled up to `retry_most_seconds` while that fails."""
    retry_most_seconds: float = 60.0
    """Also how often a GPU that is lost is looked for."""
    ignored_xids: frozenset[int] = frozenset()
    """XIDs that make no condition, beside those that ask for nothing anyway."""
    vocabulary: Vocabulary = Vocabulary.ENUM
    """How actions are spelled in `status.recommendedAction`."""
