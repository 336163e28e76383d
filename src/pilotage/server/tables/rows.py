"""Rows as data: what each cell of a kind shows, as a path in the object or as a function of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pilotage.meta.documents import Document
from pilotage.meta.paths import items, value_at
from pilotage.server.tables import cells
from pilotage.server.tables.cells import NONE, Cell, Printer

Column = Callable[[Document], Cell]
NAME = "metadata.name"
AGE = "metadata.creationTimestamp"
"""Shown as the time since then."""


def row(*columns: str | Column) -> Printer:
    """A row whose cells are the values at paths, empty where there is none, or what functions return."""
    shown = [field(column) if isinstance(column, str) and column != AGE else column for column in columns]

    def printed(document: Document, now: datetime) -> list[Cell]:
        return [cells.age(document, now) if isinstance(cell, str) else cell(document) for cell in shown]

    return printed


def field(path: str, missing: Cell = "") -> Column:
    """The value at a path, or the placeholder for a missing one."""
    steps = path.split(".")

    def shown(document: Document) -> Cell:
        value: Cell = value_at(document, steps)
        return missing if value is None else value

    return shown


def count(path: str) -> Column:
    """The number at a path; 0 if there is none."""
    return field(path, 0)


def flag(path: str) -> Column:
    """Whether the value at a path is true."""
    return lambda document: bool(value_at(document, path.split(".")))


def text(path: str, missing: str = NONE) -> Column:
    """The value at a path as text, or the placeholder for a missing or an empty one."""
    return lambda document: cells.text(value_at(document, path.split(".")), missing)


def size(*paths: str) -> Column:
    """How many entries the lists or maps at these paths have."""
    return lambda document: sum(len(value_at(document, path.split(".")) or ()) for path in paths)


def joined(path: str, missing: str = "") -> Column:
    """The texts of a list, with commas between them."""
    return lambda document: ",".join(value_at(document, path.split(".")) or ()) or missing


def pair(path: str, *names: str) -> Column:
    """Two fields of the object at a path, with a slash between them."""
    return lambda document: "/".join(str(value_at(document, [*path.split("."), name]) or "") for name in names)


def condition(document: Document, kind: str) -> Document:
    """The condition of this type in the status of an object; the last one, and empty if there is none."""
    found: Document = {}
    for each in items(document, "status", "conditions"):
        if each.get("type") == kind:
            found = each
    return found
