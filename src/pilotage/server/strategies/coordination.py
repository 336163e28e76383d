"""Strategies of the group coordination.k8s.io."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.server.strategies.strategy import Strategy, mapping


class LeaseStrategy(Strategy):
    """Leases have positive durations, and times to the microsecond."""

    schema_rules = False
    qualified_finalizers = False

    def validate(self, document: Document) -> list[Cause]:
        spec = mapping(document.get("spec"))
        found = []
        seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if isinstance(seconds, int) and seconds <= 0:
            found.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        if isinstance(transitions, int) and transitions < 0:
            found.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        return found


STRATEGIES: Mapping[str, Strategy] = {
    "leases": LeaseStrategy(unconditional_update=False, create_on_update=True),
}
