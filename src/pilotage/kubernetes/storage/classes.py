"""StorageClasses, VolumeAttributesClasses, and the CSIStorageCapacities of storage classes."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks.quantities import validate_quantity_not_negative
from pilotage.kubernetes.core.pods.warnings import label_warning
from pilotage.meta.causes import duplicate, forbidden, invalid, required, too_long
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks import fields, items, labelselectors, texts
from pilotage.server.strategies.strategy import Strategy

_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_MAX_PARAMETERS = 512
_MAX_PARAMETER_BYTES = 256 * 1024


class StorageClassStrategy(Strategy):
    """Storage classes are immutable, except that volumes may grow and topologies change."""

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from validate_driver(document.get("provisioner") or "", "provisioner")
        yield from validate_parameters(document.get("parameters") or {})
        yield from fields.optional_choice(document.get("reclaimPolicy") or None, "reclaimPolicy", _RECLAIM_POLICIES)
        mode = document.get("volumeBindingMode")
        if mode is None:
            yield required("volumeBindingMode")
        yield from fields.optional_choice(mode, "volumeBindingMode", _BINDING_MODES)
        yield from _validate_topologies(document.get("allowedTopologies") or [])

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return [
            f"allowedTopologies[{index}].matchLabelExpressions[{at}].key: {text}"
            for index, term in enumerate(document.get("allowedTopologies") or ())
            for at, expression in enumerate(term.get("matchLabelExpressions") or ())
            if (text := label_warning(expression.get("key") or ""))
        ]


def validate_driver(driver: str, path: str) -> Iterator[Cause]:
    """The name of a provisioner: qualified, case-insensitive."""
    yield from texts.required_text(driver.lower(), path, qualified_name)


def validate_parameters(parameters: Document) -> Iterator[Cause]:
    """The parameters of a driver: not too many, nor too large."""
    if len(parameters) > _MAX_PARAMETERS:
        yield too_long("parameters", _MAX_PARAMETERS)
        return
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")
    size = sum(
        len(key.encode(errors="replace")) + len(value.encode(errors="replace")) for key, value in parameters.items()
    )
    if size > _MAX_PARAMETER_BYTES:
        yield too_long("parameters", _MAX_PARAMETER_BYTES)


def _validate_topologies(topologies: list[Document]) -> Iterator[Cause]:
    seen: set[frozenset[tuple[str, frozenset[str]]]] = set()
    empty_seen = len(topologies)  # the real server compares with as many empty ones, too
    for index, term in enumerate(topologies):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        values: dict[str, frozenset[str]] = {}
        for at, expression in enumerate(term.get("matchLabelExpressions") or ()):
            yield from _validate_expression(expression, f"{path}[{at}]")
            key = expression.get("key") or ""
            if key in values:
                yield duplicate(f"{path}[{at}].key", key)
            values[key] = frozenset(expression.get("values") or ())
        whole = frozenset(values.items())
        if not whole:
            yield from [duplicate(path, "")] * empty_seen
            empty_seen += 1
        elif whole in seen:
            yield duplicate(path, "")
        seen.add(whole)


def _validate_expression(expression: Document, path: str) -> Iterator[Cause]:
    values = expression.get("values") or []
    if not values:
        yield required(f"{path}.values")
    yield from (duplicate(f"{path}.values[{index}]", value) for index, value in items.repeated(values))
    key = expression.get("key") or ""
    yield from texts.text(key, f"{path}.key", qualified_name)


class CSIStorageCapacityStrategy(Strategy):
    """The capacity of a storage class in a topology: only the amounts can change."""

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from labelselectors.label_selector(document.get("nodeTopology"), "nodeTopology")
        yield from texts.text(document.get("storageClassName", ""), "storageClassName")
        yield from fields.given(document.get("capacity"), "capacity", validate_quantity_not_negative)

    def validate_changes(self, document: Document, old: Document) -> Iterator[Cause]:
        if not same(document.get("nodeTopology"), old.get("nodeTopology")):
            yield invalid("nodeTopology", document.get("nodeTopology"), fields.IMMUTABLE)
        name = document.get("storageClassName", "")
        if name != old.get("storageClassName", ""):
            yield invalid("storageClassName", name, fields.IMMUTABLE)

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
