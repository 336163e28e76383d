"""The rows of Tables of resource.k8s.io."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part
from pilotage.server.tables.cells import Printer
from pilotage.server.tables.rows import AGE, NAME, row


def _claim_state(document: Document) -> str:
    status = part(document, "status")
    states = ["deleted"] if document["metadata"].get("deletionTimestamp") else []
    if not status.get("allocation"):
        return ",".join(states or ["pending"])
    states.append("allocated")
    if items(status, "reservedFor"):
        states.append("reserved")
    return ",".join(states)


PRINTERS: dict[str, Printer] = {
    "deviceclasses.resource.k8s.io": row(NAME, AGE),
    "resourceclaims.resource.k8s.io": row(NAME, _claim_state, AGE),
    "resourceclaimtemplates.resource.k8s.io": row(NAME, AGE),
    "resourceslices.resource.k8s.io": row(NAME, "spec.nodeName", "spec.driver", "spec.pool.name", AGE),
}
