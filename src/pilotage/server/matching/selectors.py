"""Namespace and object selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pilotage.errors import NotFound, StatusDetails
from pilotage.meta.documents import Document
from pilotage.meta.selectors.selectors import Selector
from pilotage.server import records
from pilotage.server.admission import Attributes, Operation
from pilotage.storage.interface import Storage

_NAMESPACES = "core/namespaces/"
_WRITES = (Operation.CREATE, Operation.UPDATE)


def selector_of(value: Mapping[str, Any] | None) -> Selector | None:
    """A selector of a configuration; None if it selects everything."""
    return Selector.from_label_selector(value) or None if value else None


class NamespaceLabels:
    """The labels of the namespaces of one tenant."""

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self._prefix = prefix + _NAMESPACES

    async def matches(self, selector: Selector | None, attributes: Attributes) -> bool:
        """Whether the namespace of a request is selected; cluster-scoped objects always are.

        Raises NotFound if the namespace does not exist.
        """
        if selector is None:
            return True
        is_namespace = attributes.resource.resource == "namespaces"
        if not attributes.namespace and not is_namespace:
            return True
        if is_namespace and not attributes.subresource and attributes.operation in _WRITES:
            return selector.matches(_labels(attributes.new))
        return selector.matches(_labels(await self.namespace(attributes.namespace)))

    async def namespace(self, name: str) -> Document:
        """A namespace as it is stored. Raises NotFound."""
        entry = await self._storage.get(self._prefix + name)
        if entry is None:
            details = StatusDetails(name=name, kind="namespaces")
            raise NotFound(f'namespaces "{name}" not found', details=details)
        return records.decode(records.stamp(entry.value, entry.revision))


def matches_object(selector: Selector | None, attributes: Attributes) -> bool:
    """Whether the new or the old object of a request is selected."""
    if selector is None:
        return True
    return any(
        document is not None and "metadata" in document and selector.matches(_labels(document))
        for document in (attributes.new, attributes.old)
    )


def _labels(document: Document | None) -> Mapping[str, str]:
    metadata = (document or {}).get("metadata")
    return (metadata.get("labels") or {}) if isinstance(metadata, dict) else {}
