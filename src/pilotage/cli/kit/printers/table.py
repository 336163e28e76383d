"""Tables as kubectl prints them: columns by their widest cell, three spaces between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.mapper import RESTMapping

_PADDING = 3
_MIN_WIDTH = 6
NONE = "<none>"
UNKNOWN = "<unknown>"


class Columns:
    """Aligned columns that remember their widths, so that later lines stand under the earlier ones."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def lines(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """The lines of some rows. The last cell of a row is not padded."""
        for row in rows:
            for number, cell in enumerate(row[:-1]):
                self._widen(number, len(cell))
        return [self._line(row) for row in rows]

    def _widen(self, number: int, length: int) -> None:
        while len(self._widths) <= number:
            self._widths.append(_MIN_WIDTH)
        self._widths[number] = max(self._widths[number], length + _PADDING)

    def _line(self, row: Sequence[str]) -> str:
        return "".join(cell.ljust(self._widths[number]) for number, cell in enumerate(row[:-1])) + row[-1]


class TableOptions(msgspec.Struct):
    """What a table shows besides the columns of the kind."""

    wide: bool = False
    """Columns that are hidden otherwise."""
    headers: bool = True
    """A line of headings."""
    namespace: bool = False
    """A first column with the namespace."""
    kind: bool = False
    """The kind in front of each name."""
    labels: bool = False
    """A last column with all labels."""
    label_columns: tuple[str, ...] = ()
    """A column for each of these labels."""


class TablePrinter(msgspec.Struct):
    """Prints the Tables of one resource: first with headings, then rows of a watch."""

    mapping: RESTMapping
    options: TableOptions
    columns: Columns = msgspec.field(default_factory=Columns)
    _definitions: list[Document] | None = None
    _headed: bool = False

    def lines(self, table: Document, event: str = "") -> list[str]:
        """The lines of a Table. Later ones may leave their column definitions out."""
        if table.get("columnDefinitions"):
            self._definitions = table["columnDefinitions"]
        rows = [self._row(row, event) for row in table.get("rows") or ()]
        if rows and self.options.headers and not self._headed:
            self._headed = True
            rows.insert(0, self._headings(bool(event)))
        return self.columns.lines(rows)

    def _shown(self) -> list[int]:
        definitions = self._definitions or []
        return [number for number, one in enumerate(definitions) if self.options.wide or not one.get("priority")]

    def _headings(self, with_event: bool) -> list[str]:
        definitions = self._definitions or []
        found = ["EVENT"] if with_event else []
        found += ["NAMESPACE"] if self.options.namespace else []
        found += [str(definitions[number]["name"]).upper() for number in self._shown()]
        found += [label.rpartition("/")[2].upper() for label in self.options.label_columns]
        return found + (["LABELS"] if self.options.labels else [])

    def _row(self, row: Document, event: str) -> list[str]:
        metadata = (row.get("object") or {}).get("metadata") or {}
        cells = row.get("cells") or []
        found = [event] if event else []
        found += [metadata.get("namespace") or ""] if self.options.namespace else []
        for number in self._shown():
            text = cell_text(cells[number]) if number < len(cells) else ""
            is_name = (self._definitions or [])[number].get("format") == "name" or number == 0
            found.append(f"{self._prefix}{text}" if is_name and self.options.kind else text)
        labels = metadata.get("labels") or {}
        found += [labels.get(label) or "" for label in self.options.label_columns]
        return found + ([labels_text(labels)] if self.options.labels else [])

    @property
    def _prefix(self) -> str:
        from pilotage.cli.kit.session import kind_of

        return f"{kind_of(self.mapping.gvk)}/"


def cell_text(value: Any) -> str:
    """A cell in one line: the first line of a longer text, without control characters."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if text.isprintable():
        return text
    end = min((at for at in (text.find(character) for character in "\f\n\r") if at >= 0), default=-1)
    if end >= 0:
        text = text[:end] + "..."
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    return "^[" if character == "\x1b" else "?" if character != "\t" else " "


def labels_text(labels: dict[str, str]) -> str:
    """Labels as a table shows them: `a=1,b=2`."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE
