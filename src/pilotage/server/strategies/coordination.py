"""Strategies of the group coordination.k8s.io."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.server.strategies.strategy import Strategy, mapping


class LeaseStrategy(Strategy):
    """Leases have positive durations, and times to the microsecond."""

    qualified_finalizers = False

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        _drop_gated(document, {})

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        _drop_gated(document, old)

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = mapping(document.get("spec"))
        seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if isinstance(seconds, int) and seconds <= 0:
            yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
        if isinstance(transitions, int) and transitions < 0:
            yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")


def _drop_gated(document: Document, old: Document) -> None:
    """Drop the fields whose feature is off in the release, unless the object has them already."""
    spec, was = mapping(document.get("spec")), mapping(old.get("spec"))
    for name in ("strategy", "preferredHolder"):
        if name not in was:
            spec.pop(name, None)
