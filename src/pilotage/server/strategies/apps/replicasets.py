"""ReplicaSets."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.documents import Document
from pilotage.server.strategies.apps.status import validate_parts
from pilotage.server.strategies.apps.templates import (
    selector_changes,
    validate_selected_template,
    workload_warnings,
)
from pilotage.server.strategies.checks.numbers import validate_counts
from pilotage.server.strategies.pods.defaults import default_pod_template
from pilotage.server.strategies.strategy import Strategy

_COUNTS = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)
_PARTS = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")


class ReplicaSetStrategy(Strategy):
    """ReplicaSets keep a number of pods of one template."""

    def default(self, document: Document) -> None:
        spec = document.setdefault("spec", {})
        default_pod_template(spec.setdefault("template", {}))
        spec.setdefault("replicas", 1)

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        yield from validate_counts(spec, "spec", ("replicas", "minReadySeconds"))
        yield from validate_selected_template(spec, "spec")

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        yield from self.validate(document)
        yield from selector_changes(document, old)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return validate_replicas_status(document.get("status") or {})

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return workload_warnings(document, old)


def validate_replicas_status(status: Document) -> Iterator[Cause]:
    """What is wrong with the status of a ReplicaSet or a ReplicationController."""
    yield from validate_counts(status, "status", _COUNTS)
    yield from validate_parts(status, "replicas", _PARTS)
    yield from validate_parts(status, "readyReplicas", ("availableReplicas",), "readyReplicas")
