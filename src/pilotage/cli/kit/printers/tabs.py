"""Text with tabs, aligned as Go's tabwriter does it: the cells of neighbouring lines form columns."""

from __future__ import annotations

_PADDING = 2


def aligned(text: str) -> str:
    """Each run of lines with a cell in a column gets one width for it. The last cell of a line is not padded."""
    rows = [line.split("\t") for line in text.splitlines()]
    _align(rows, 0, 0, len(rows))
    return "".join("".join(row) + "\n" for row in rows)


def _align(rows: list[list[str]], column: int, start: int, end: int) -> None:
    at = start
    while at < end:
        if len(rows[at]) <= column + 1:
            at += 1
            continue
        stop = at
        while stop < end and len(rows[stop]) > column + 1:
            stop += 1
        width = max(len(row[column]) for row in rows[at:stop]) + _PADDING
        for row in rows[at:stop]:
            row[column] = row[column].ljust(width)
        _align(rows, column + 1, at, stop)
        at = stop
