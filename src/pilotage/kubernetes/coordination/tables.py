"""The rows of Tables of coordination.k8s.io."""

from __future__ import annotations

from pilotage.server.tables.cells import Printer
from pilotage.server.tables.rows import AGE, NAME, row

PRINTERS: dict[str, Printer] = {
    "leases.coordination.k8s.io": row(NAME, "spec.holderIdentity", AGE),
}
