"""The recorded Tables: the cells of each row, recorded and ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from pilotage.kubernetes.core import events
from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.server.tables import custom
from pilotage.server.tables.cells import Printer
from pilotage.server.tables.table import name_and_creation

NOW = datetime(2026, 11, 16, tzinfo=UTC)
CREATED = "2026-11-15T23:00:00Z"


class Cell(NamedTuple):
    """One cell, as we print it and as it was recorded."""

    column: str
    ours: object
    recorded: object

    @property
    def agrees(self) -> bool:
        ours, recorded = self.ours, self.recorded
        if isinstance(ours, str) and isinstance(recorded, str):
            pattern = re.escape(recorded).replace("<age>", r"\S+").replace("<time>", CREATED)
            return re.fullmatch(pattern, ours) is not None
        return type(ours) is type(recorded) and ours == recorded


def cells(case: Document, bases: dict[str, Document]) -> Iterator[Cell]:
    """All cells of the rows of one recorded Table."""
    rows = case["rows"]["cells"] if isinstance(case["rows"], dict) else case["rows"]
    printer = _printer(case, bases)
    for row, document in zip(rows, case["objects"], strict=True):
        yield from map(Cell, case["columns"], printer(_stored(document), NOW), row)


def _printer(case: Document, bases: dict[str, Document]) -> Printer:
    if case["group"] != "tables.example":
        rows = KINDS.rows(GroupResource(case["group"], case["resource"]["resource"]))
        return rows.cells if rows is not None else name_and_creation
    (version,) = (
        version for version in bases["gadgets"]["definition"]["spec"]["versions"] if version["name"] == case["version"]
    )
    return custom.printer(version.get("additionalPrinterColumns", []))


def _stored(document: Document) -> Document:
    document["metadata"].setdefault("creationTimestamp", CREATED)
    return events.to_core(document) if "regarding" in document else document
