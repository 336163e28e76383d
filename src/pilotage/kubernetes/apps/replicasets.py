"""ReplicaSets, and ReplicationControllers, which are in the core group: their selectors are plain labels."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.apps import templates
from pilotage.meta.causes import required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import numbers
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

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        yield from numbers.counts(spec, "spec", ("replicas", "minReadySeconds"))
        yield from templates.validate_selected_template(spec, "spec")

    def validate_changes(self, document: Document, old: Document) -> list[Cause]:
        return templates.selector_changes(document, old)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return validate_replicas_status(document.get("status") or {})

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return templates.workload_warnings(document, old)


def validate_replicas_status(status: Document) -> Iterator[Cause]:
    """What is wrong with the status of a ReplicaSet or a ReplicationController."""
    yield from numbers.counts(status, "status", _COUNTS)
    yield from templates.validate_parts(status, "replicas", _PARTS)
    yield from templates.validate_parts(status, "readyReplicas", ("availableReplicas",), "readyReplicas")


class ReplicationControllerStrategy(Strategy):
    """ReplicationControllers get their selector and their own labels from the template."""

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        yield from numbers.counts(spec, "spec", ("minReadySeconds",))
        selector = spec.get("selector")
        if not selector:
            yield required("spec.selector")
        yield from numbers.counts(spec, "spec", ("replicas",))
        if spec.get("template") is None:
            yield required("spec.template")
            return
        yield from templates.validate_labels_match(spec, selector or {}, "spec")
        yield from templates.validate_template(spec, "spec", "ReplicationController")

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return validate_replicas_status(document.get("status") or {})

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        # As in Kubernetes, an update warns of the template that it replaces.
        return (
            templates.workload_warnings(document, None) if old is None else templates.workload_warnings(old, document)
        )
