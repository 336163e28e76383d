"""A recorder of Events that records none."""

from __future__ import annotations

from typing import Any

from pilotage.cluster.events import EventRecorder


class _NoEvents(EventRecorder):
    def __init__(self) -> None:
        pass

    def event(self, *args: Any, **options: Any) -> None:
        """Record nothing."""


NO_EVENTS = _NoEvents()
"""For programs that read no Events of Pods."""
