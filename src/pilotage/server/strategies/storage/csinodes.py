"""CSINodes."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks.fields import IMMUTABLE
from pilotage.server.strategies.checks.numbers import validate_counts
from pilotage.server.strategies.checks.texts import validate_text
from pilotage.server.strategies.pods.volumes.csi import validate_driver_name
from pilotage.server.strategies.strategy import Strategy

_MAX_NODE_ID = 256


class CSINodeStrategy(Strategy):
    """The drivers of a node are added and removed, but change only in how many volumes they allow."""

    written_lists = (("spec", "drivers"),)

    def validate(self, document: Document) -> Iterator[Cause]:
        drivers = document["spec"].get("drivers") or []
        names: set[str] = set()
        for index, driver in enumerate(drivers):
            path, name, node = f"spec.drivers[{index}]", driver.get("name") or "", driver.get("nodeID") or ""
            yield from validate_driver_name(name, f"{path}.name")
            if not node:
                yield required(f"{path}.nodeID")
            elif len(node.encode(errors="replace")) > _MAX_NODE_ID:
                yield invalid(f"{path}.nodeID", node, f"must be {_MAX_NODE_ID} characters or less")
            yield from validate_counts(driver.get("allocatable") or {}, f"{path}.allocatable", ("count",))
            if name in names:
                yield duplicate(f"{path}.name", name)
            names.add(name)
            yield from _validate_topology_keys(driver.get("topologyKeys") or [], path)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        yield from self.validate(document)
        yield from _validate_changes(document["spec"], old["spec"])


def _validate_changes(spec: Document, old: Document) -> Iterator[Cause]:
    was: dict[str, list[Document]] = {}
    for driver in old.get("drivers") or ():
        was.setdefault(driver.get("name", ""), []).append(_fixed(driver))
    for driver in spec.get("drivers") or ():
        for before in was.get(driver.get("name", ""), ()):
            if _fixed(driver) != before:
                yield invalid("spec.drivers", _fixed(driver), IMMUTABLE, whole=True)


def _fixed(driver: Document) -> Document:
    return {key: value for key, value in driver.items() if key != "allocatable"}


def _validate_topology_keys(keys: list[str], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for key in keys:
        if not key:
            yield required(path)
        if key in seen:
            yield duplicate(path, key)
        seen.add(key)
        yield from validate_text(key, path, qualified_name)
