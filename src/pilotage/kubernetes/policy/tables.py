"""The rows of Tables of policy."""

from __future__ import annotations

from pilotage.server.tables.cells import Printer
from pilotage.server.tables.rows import AGE, NAME, count, row, text

PRINTERS: dict[str, Printer] = {
    "poddisruptionbudgets.policy": row(
        NAME,
        text("spec.minAvailable", "N/A"),
        text("spec.maxUnavailable", "N/A"),
        count("status.disruptionsAllowed"),
        AGE,
    ),
}
