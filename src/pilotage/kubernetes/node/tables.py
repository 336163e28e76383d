"""The rows of Tables of node.k8s.io."""

from __future__ import annotations

from pilotage.server.tables.cells import Printer
from pilotage.server.tables.rows import AGE, NAME, row

PRINTERS: dict[str, Printer] = {
    "runtimeclasses.node.k8s.io": row(NAME, "handler", AGE),
}
