"""Namespaces."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.defaults.cluster import default_namespace
from pilotage.codec.defaults.fields import default_empty
from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.meta.paths import mapping
from pilotage.meta.validation.objectmeta import finalizers_causes
from pilotage.server.strategies.checks import items
from pilotage.server.strategies.metadata import UNQUALIFIED, is_qualified
from pilotage.server.strategies.strategy import Strategy

PROTECTED = ("default", "kube-system", "kube-public")
SYSTEM_NAMESPACES = (*PROTECTED, "kube-node-lease")
"""The namespaces that always exist."""


class NamespaceStrategy(Strategy):
    """Namespaces have finalizers of their own in the spec, and a label with their name."""

    def prepare_for_create(self, document: Document) -> None:
        spec = document["spec"] = mapping(document.get("spec"))
        finalizers = spec.get("finalizers", [])
        spec["finalizers"] = finalizers if "kubernetes" in finalizers else [*finalizers, "kubernetes"]
        document["status"] = {"phase": "Active"}

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        document["spec"] = old.get("spec", {})  # only /finalize changes it

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        result = super().prepare_for_status_update(document, old)
        status = result.setdefault("status", {})
        default_empty(status, "phase", "Active")
        return result

    def prepare_for_delete(self, document: Document, now: str) -> None:
        document["status"] = mapping(document.get("status")) | {"phase": "Terminating"}

    def validate(self, document: Document) -> Iterator[Cause]:
        for name in document["spec"].get("finalizers") or ():
            yield from _validate_finalizer(name, "spec.finalizers")

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        return []  # an update cannot change the spec

    def validate_finalize_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return items.each(document["spec"].get("finalizers"), "spec.finalizers", _validate_finalizer)

    def validate_status_update(self, document: Document, old: Document) -> list[Cause]:
        phase = document["status"].get("phase", "")
        wanted, when = (
            ("Terminating", "not empty") if "deletionTimestamp" in document["metadata"] else ("Active", "empty")
        )
        if phase == wanted:
            return []
        return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {when}")]

    def canonicalize(self, document: Document) -> None:
        default_namespace(document)

    def blocks_removal(self, document: Document) -> bool:
        return bool(mapping(document.get("spec")).get("finalizers"))


def _validate_finalizer(name: str, path: str) -> Iterator[Cause]:
    yield from finalizers_causes([name], path)
    if not is_qualified(name):
        yield invalid(path, name, UNQUALIFIED)
