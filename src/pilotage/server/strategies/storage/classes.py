"""StorageClasses, VolumeAttributesClasses, and the CSIStorageCapacities of storage classes."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, forbidden, invalid, not_supported, required, too_long
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks.fields import IMMUTABLE, validate_given, validate_immutable
from pilotage.server.strategies.checks.items import repeated
from pilotage.server.strategies.checks.labelselectors import validate_label_selector
from pilotage.server.strategies.checks.quantities import validate_quantity_not_negative
from pilotage.server.strategies.checks.texts import validate_text
from pilotage.server.strategies.pods.warnings import label_warning
from pilotage.server.strategies.strategy import Strategy

_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_MAX_PARAMETERS = 512
_MAX_PARAMETER_BYTES = 256 * 1024


class StorageClassStrategy(Strategy):
    """Storage classes are immutable, except that volumes may grow and topologies change."""

    def default(self, document: Document) -> None:
        document.setdefault("reclaimPolicy", "Delete")
        document.setdefault("volumeBindingMode", "Immediate")

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from validate_driver(document.get("provisioner") or "", "provisioner")
        yield from validate_parameters(document.get("parameters") or {})
        policy, mode = document.get("reclaimPolicy"), document.get("volumeBindingMode")
        if policy and policy not in _RECLAIM_POLICIES:
            yield not_supported("reclaimPolicy", policy, _RECLAIM_POLICIES)
        if mode is None:
            yield required("volumeBindingMode")
        elif mode not in _BINDING_MODES:
            yield not_supported("volumeBindingMode", mode, _BINDING_MODES)
        yield from _validate_topologies(document.get("allowedTopologies") or [])

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        yield from self.validate(document)
        for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            yield from validate_immutable(document.get(name), old.get(name), name)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return [
            f"allowedTopologies[{index}].matchLabelExpressions[{place}].key: {text}"
            for index, term in enumerate(document.get("allowedTopologies") or ())
            for place, expression in enumerate(term.get("matchLabelExpressions") or ())
            if (text := label_warning(expression.get("key") or ""))
        ]


def validate_driver(driver: str, path: str) -> Iterator[Cause]:
    """The name of a provisioner: qualified, case-insensitive."""
    if driver:
        name = driver.lower()
        yield from validate_text(name, path, qualified_name)
    else:
        yield required(path)


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
        for place, expression in enumerate(term.get("matchLabelExpressions") or ()):
            yield from _validate_expression(expression, f"{path}[{place}]")
            key = expression.get("key") or ""
            if key in values:
                yield duplicate(f"{path}[{place}].key", key)
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
    yield from (duplicate(f"{path}.values[{index}]", value) for index, value in repeated(values))
    key = expression.get("key") or ""
    yield from validate_text(key, f"{path}.key", qualified_name)


class CSIStorageCapacityStrategy(Strategy):
    """The capacity of a storage class in a topology: only the amounts can change."""

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
