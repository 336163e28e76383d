"""The rows of Tables of apiregistration.k8s.io."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import part
from pilotage.server.tables.cells import Printer
from pilotage.server.tables.rows import AGE, NAME, condition, pair, row


def _service(document: Document) -> str:
    has_service = bool(part(document, "spec", "service"))
    return str(pair("spec.service", "namespace", "name")(document)) if has_service else "Local"


def _available(document: Document) -> str:
    found = condition(document, "Available")
    if not found:
        return "Unknown"
    status = str(found.get("status", ""))
    return status if status == "True" else f"{status} ({found.get('reason', '')})"


PRINTERS: dict[str, Printer] = {
    "apiservices.apiregistration.k8s.io": row(NAME, _service, _available, AGE),
}
