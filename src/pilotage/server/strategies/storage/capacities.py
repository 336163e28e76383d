"""CSIStorageCapacities and VolumeAttributesClasses."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document, same
from pilotage.server.strategies.checks.fields import IMMUTABLE, validate_given
from pilotage.server.strategies.checks.labelselectors import validate_label_selector
from pilotage.server.strategies.checks.quantities import validate_quantity_not_negative
from pilotage.server.strategies.checks.texts import validate_text
from pilotage.server.strategies.pods.warnings import label_warning
from pilotage.server.strategies.storage.storageclasses import validate_driver, validate_parameters
from pilotage.server.strategies.strategy import Strategy


class CSIStorageCapacityStrategy(Strategy):
    """How much room a storage class has in a topology: only the amounts change."""

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from validate_label_selector(document.get("nodeTopology"), "nodeTopology")
        yield from validate_text(document.get("storageClassName", ""), "storageClassName")
        yield from validate_given(document.get("capacity"), "capacity", validate_quantity_not_negative)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        yield from self.validate(document)
        if not same(document.get("nodeTopology"), old.get("nodeTopology")):
            yield invalid("nodeTopology", document.get("nodeTopology"), IMMUTABLE)
        name = document.get("storageClassName", "")
        if name != old.get("storageClassName", ""):
            yield invalid("storageClassName", name, IMMUTABLE)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        topology = document.get("nodeTopology") or {}
        expressions = [
            f"nodeTopology.matchExpressions[{index}].key: {key} is {text}"
            for index, expression in enumerate(topology.get("matchExpressions") or ())
            if (text := label_warning(key := expression.get("key") or ""))
        ]
        labels = topology.get("matchLabels") or ()
        return expressions + [
            f"nodeTopology.matchLabels.{key}: {text}" for key in labels if (text := label_warning(key))
        ]


class VolumeAttributesClassStrategy(Strategy):
    """Attributes of volumes that a driver can change. The class itself cannot change."""

    def validate(self, document: Document) -> Iterator[Cause]:
        parameters = document.get("parameters") or {}
        yield from validate_driver(document.get("driverName") or "", "driverName")
        yield from validate_parameters(parameters)
        if not parameters:
            yield required("parameters", "must contain at least one key/value pair")

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        for name in ("driverName", "parameters"):
            if document.get(name) != old.get(name):
                yield forbidden(name, f"updates to {name} are forbidden.")
        yield from self.validate(document)
