"""The rows of Tables of flowcontrol.apiserver.k8s.io."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.paths import part
from pilotage.server.kinds import Rows
from pilotage.server.tables.cells import NONE, Printer
from pilotage.server.tables.rows import AGE, NAME, Column, condition, count, row, text


def _limited(path: str) -> Column:
    """A number of a level that is limited; nothing of any other, or if its requests do not queue."""
    *parents, name = path.split(".")

    def shown(document: Document) -> str | int:
        holder = part(document, "spec", "limited", *parents)
        number: int = holder.get(name, 0)
        return number if holder else NONE

    return shown


def precedence(document: Document) -> int:
    """What flow schemas are sorted by."""
    return int(part(document, "spec").get("matchingPrecedence") or 0)


FLOW_SCHEMAS = Rows(
    row(
        NAME,
        "spec.priorityLevelConfiguration.name",
        count("spec.matchingPrecedence"),
        text("spec.distinguisherMethod.type"),
        AGE,
        lambda document: str(condition(document, "Dangling").get("status", "?")),
    ),
    order=precedence,
)
PRINTERS: dict[str, Printer] = {
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": row(
        NAME,
        "spec.type",
        _limited("nominalConcurrencyShares"),
        _limited("limitResponse.queuing.queues"),
        _limited("limitResponse.queuing.handSize"),
        _limited("limitResponse.queuing.queueLengthLimit"),
        AGE,
    ),
}
