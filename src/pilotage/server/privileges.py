"""What objects may have only in a namespace whose labels allow it."""

from __future__ import annotations

from pilotage.errors import Cause
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.catalogue import NAMESPACES
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo


async def privilege_causes(
    context: RegistryContext, info: ResourceInfo, document: Document, old: Document | None
) -> list[Cause]:
    """The causes for what the namespace of an object does not allow."""
    label, causes = info.strategy.privileges(document, old)
    if not causes:
        return []
    entry = await context.storage.get(f"{context.prefix}{NAMESPACES}{document['metadata'].get('namespace') or ''}")
    if entry is None:
        return []  # the write is refused because of that
    labels = records.decode(entry.value)["metadata"].get("labels") or {}
    return [] if labels.get(label) == "true" else causes
