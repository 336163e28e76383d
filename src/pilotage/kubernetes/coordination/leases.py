"""Strategies of the group coordination.k8s.io."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.meta.paths import mapping
from pilotage.server.strategies.strategy import Strategy


class LeaseStrategy(Strategy):
    """Leases have positive durations, and times to the microsecond."""

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = mapping(document.get("spec"))
        seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if isinstance(seconds, int) and seconds <= 0:
            yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
        if isinstance(transitions, int) and transitions < 0:
            yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
