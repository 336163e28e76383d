"""The metrics of informers."""

from __future__ import annotations

from pilotage.telemetry.metrics import REGISTRY

_LABELS = ("kind", "namespace")

TROUBLES = REGISTRY.counter(
    "pilotage_informer_troubles_total", "Lists and watches that failed, by stage.", ("kind", "stage")
)
HANDLER_FAILURES = REGISTRY.counter(
    "pilotage_informer_handler_failures_total", "Exceptions raised by event handlers.", ("kind",)
)
UNDECODABLE = REGISTRY.counter("pilotage_informer_undecodable_total", "Objects that could not be decoded.", ("kind",))
OBJECTS = REGISTRY.gauge("pilotage_informer_objects", "Objects in the store.", _LABELS)
LIVE = REGISTRY.gauge("pilotage_informer_live", "1 while the watch of the informer is open.", _LABELS)
