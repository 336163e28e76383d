"""Fields that objects may set only in a namespace whose labels allow it."""

from __future__ import annotations

from pilotage.errors import Cause
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.catalogue.catalogue import NAMESPACES
from pilotage.server.context import RegistryContext


async def privilege_causes(
    context: RegistryContext, document: Document, label: str, causes: list[Cause]
) -> list[Cause]:
    """The causes, unless the namespace of an object has a label that allows what they are about."""
    entry = await context.storage.get(f"{context.prefix}{NAMESPACES}{document['metadata'].get('namespace') or ''}")
    if entry is None:
        return []  # the write is refused because of that
    labels = records.decode(entry.value)["metadata"].get("labels") or {}
    return [] if labels.get(label) == "true" else causes
