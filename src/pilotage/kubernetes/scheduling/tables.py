"""The rows of Tables of scheduling.k8s.io."""

from __future__ import annotations

from pilotage.server.tables.cells import Printer
from pilotage.server.tables.rows import AGE, NAME, count, flag, row

PRINTERS: dict[str, Printer] = {
    "priorityclasses.scheduling.k8s.io": row(NAME, count("value"), flag("globalDefault"), AGE, "preemptionPolicy"),
}
