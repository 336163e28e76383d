"""The rows of Tables of certificates.k8s.io."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, part
from pilotage.meta.scalars import times
from pilotage.server.tables.cells import NONE, Printer
from pilotage.server.tables.rows import AGE, NAME, row, text


def _duration(document: Document) -> str:
    seconds = part(document, "spec").get("expirationSeconds")
    return NONE if seconds is None else times.rounded(seconds)


def _certificate_condition(document: Document) -> str:
    status = part(document, "status")
    kinds = {condition.get("type") for condition in items(status, "conditions")}
    found = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    if "Failed" in kinds:
        found += ",Failed"
    if status.get("certificate"):
        found += ",Issued"
    return found


PRINTERS: dict[str, Printer] = {
    "certificatesigningrequests.certificates.k8s.io": row(
        NAME, AGE, text("spec.signerName"), "spec.username", _duration, _certificate_condition
    ),
}
