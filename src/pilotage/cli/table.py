"""Tables for a terminal: aligned columns, no control characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pilotage.kit.printers.table import Columns

NONE = "-"
_LONGEST = 300


class Table:
    """Rows under headings. Later rows use the same columns; a cell that is too wide widens its column from then on.

    `widest` has, by heading, the longest cell that is expected in later rows.
    """

    def __init__(self, headings: Sequence[str], widest: Mapping[str, str] | None = None) -> None:
        self._headings = tuple(headings)
        self._columns = Columns()
        self._columns.lines([[(widest or {}).get(heading, "") for heading in headings]])

    def begin(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """The lines of the headings and the first rows, which set the width of the columns."""
        return self._columns.lines([self._headings, *(list(map(clean, row)) for row in rows)])

    def row(self, cells: Sequence[str]) -> str:
        """One more row."""
        return self._columns.lines([list(map(clean, cells))])[0]


def clean(cell: str) -> str:
    """A cell on one line, without control characters, cut at a maximal length; `-` if it is empty."""
    shown = "".join(character if character.isprintable() else "?" for character in cell[:_LONGEST])
    return (shown if len(cell) <= _LONGEST else f"{shown}…") or NONE
