"""The metrics of informers."""

from __future__ import annotations

from pilotage.meta.kinds import GroupVersionKind
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

_OF_CLIENT_GO = ("name", "group", "version", "resource")

STORE_VERSION = REGISTRY.gauge(
    "informer_store_resource_version", "The resource version that the store has reached.", _OF_CLIENT_GO
)
QUEUED_ITEMS = REGISTRY.gauge(
    "informer_queued_items", "Objects of the store of which an event handler is still to be notified.", _OF_CLIENT_GO
)
PROCESSING_SECONDS = REGISTRY.histogram(
    "informer_processing_latency_seconds",
    "How long the event handlers take for one event, of every 16th event.",
    _OF_CLIENT_GO,
    buckets=tuple(10.0**exponent for exponent in range(-6, 2)),
)
NAME = "pilotage"
"""The `name` of informers of all namespaces; the name of other informers has their namespace, too."""


def labels_of_client_go(gvk: GroupVersionKind, resource: str, namespace: str) -> tuple[str, str, str, str]:
    """The labels of client-go's metrics for an informer."""
    return f"{NAME}/{namespace}" if namespace else NAME, gvk.group, gvk.version, resource
