"""Which function prints the rows of a built-in resource."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.server.tables import cells, core, networking, pods, policies, storage, workloads
from pilotage.server.tables.cells import Cell, Printer

PRINTERS: Mapping[str, Printer] = {
    **core.PRINTERS,
    **networking.PRINTERS,
    **pods.PRINTERS,
    **policies.PRINTERS,
    **storage.PRINTERS,
    **workloads.PRINTERS,
}
"""By resource: `pods`, `leases.coordination.k8s.io`."""
_NO_TIME = "0001-01-01T00:00:00Z"
"""Of the empty object in a bookmark."""


def printer(resource: GroupResource) -> Printer:
    """The function from an object to its cells."""
    return PRINTERS.get(str(resource), _name_and_creation)


def _name_and_creation(document: Document, now: datetime) -> list[Cell]:
    return [cells.name(document), document["metadata"].get("creationTimestamp", _NO_TIME)]
