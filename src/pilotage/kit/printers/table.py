"""Tables as kubectl prints them: columns by their widest cell, three spaces between them."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.errors import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.kit.arguments.reads import GetArguments
    from pilotage.meta.documents import Document

_PADDING = 3
_MIN_WIDTH = 6
_TAB_PADDING = 2
_EVENT_WIDTH = len("MODIFIED")  # the longest, which comes after the headings
NONE = "<none>"


class Columns:
    """Aligned columns that remember their widths, so that later lines stand under the earlier ones."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def lines(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """The lines of some rows. The last cell of a row is not padded."""
        lengths = set(map(len, rows))
        for number in range(max(lengths, default=1) - 1):
            if number == len(self._widths):
                self._widths.append(_MIN_WIDTH)
            longest = max([len(row[number]) for row in rows if number < len(row) - 1])
            self._widths[number] = max(self._widths[number], longest + _PADDING)
        forms = {length: self._form(length) for length in lengths}
        return [forms[len(row)] % tuple(row) for row in rows]

    def _form(self, length: int) -> str:
        """The form of a line: `%-9s%-6s%s`. A third of the time of padding each cell."""
        return "".join([f"%-{width}s" for width in self._widths[: length - 1]]) + "%s"


class KindTables(Record):
    """The pages of a list, or single objects, of one kind as Tables."""

    __slots__ = __match_args__ = ("kind", "namespaced", "tables")

    kind: str
    """As names have it in front: `deployment.apps`."""
    namespaced: bool
    tables: list[Document]

    def __init__(self, kind: str, namespaced: bool, tables: list[Document]) -> None:
        self._set(kind, namespaced, tables)


def printed(answers: Sequence[KindTables], options: GetArguments) -> str:
    """The text of some Tables, with an empty line before the headings of another kind; empty if they have no rows."""
    several = len({answer.kind for answer in answers if answer.tables}) > 1
    texts: list[str] = []
    for answer in answers:
        rows = [row for table in answer.tables for row in table.get("rows") or ()]
        if rows:
            table = _sorted({**answer.tables[0], "rows": rows}, options.sort_by)
            printer = TablePrinter(options, answer.kind, namespaced=answer.namespaced, several=several)
            texts.append("\n".join([*printer.lines(table), ""]))
    return ("" if options.no_headers else "\n").join(texts)


def _sorted(table: Document, path: str) -> Document:
    if not path:
        return table
    from pilotage.kit.printers.sorting import sort_key

    key = sort_key(path, [row["object"] for row in table["rows"]])
    return {**table, "rows": sorted(table["rows"], key=lambda row: key(row["object"]))}


class TablePrinter:
    """Prints the Tables of one resource, as the flags of `get` set it: first with headings, then rows of a watch.

    `kind` stands in front of each name where `several` kinds are printed.
    """

    def __init__(self, options: GetArguments, kind: str, *, namespaced: bool, several: bool = False) -> None:
        self._wide: bool = options.output == "wide"
        self._namespace = bool(options.all_namespaces) and namespaced
        self._prefix = f"{kind}/" if options.show_kind or several else ""
        self._labels: bool = options.show_labels
        self._label_columns = [name for each in options.label_columns for name in each.split(",") if name]
        self._columns = Columns()
        self._definitions: list[Document] = []
        self._headed: bool = options.no_headers

    def lines(self, table: Document, event: str = "") -> list[str]:
        """The lines of a Table. Later ones may leave their column definitions out."""
        self._definitions = table.get("columnDefinitions") or self._definitions
        definitions = enumerate(self._definitions)
        shown = [(number, one) for number, one in definitions if self._wide or not one.get("priority")]
        prefixes = [
            (number, self._prefix if one.get("format") == "name" or number == 0 else "") for number, one in shown
        ]
        rows = [self._row(row, event, prefixes) for row in table.get("rows") or ()]
        if rows and not self._headed:
            self._headed = True
            rows.insert(0, self._headings(bool(event), [str(one["name"]).upper() for _, one in shown]))
        return self._columns.lines(rows)

    def _headings(self, with_event: bool, shown: list[str]) -> list[str]:
        found = ["EVENT".ljust(_EVENT_WIDTH)] if with_event else []
        found += ["NAMESPACE"] if self._namespace else []
        found += shown
        found += [label.rpartition("/")[2].upper() for label in self._label_columns]
        return found + (["LABELS"] if self._labels else [])

    def _row(self, row: Document, event: str, shown: Sequence[tuple[int, str]]) -> list[str]:
        cells = row.get("cells") or []
        cells = [*cells, *[""] * (len(self._definitions) - len(cells))]
        found = [prefix + cell_text(cells[number]) for number, prefix in shown]
        if self._namespace or self._labels or self._label_columns:
            metadata = (row.get("object") or {}).get("metadata") or {}
            labels = metadata.get("labels") or {}
            found = [metadata.get("namespace") or "", *found] if self._namespace else found
            found += [labels.get(label) or "" for label in self._label_columns]
            found += [labels_text(labels)] if self._labels else []
        return [event.ljust(_EVENT_WIDTH), *found] if event else found


def cell_text(value: Any) -> str:
    """A cell in one line: the first line of a longer text, with escapes for what controls a terminal."""
    if value.__class__ is str and value.isprintable():
        return value  # most are
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
    return escaped(text.replace("\t", " "))


def escaped(text: str) -> str:
    """Text with escapes for what controls a terminal, as kubectl prints them: `^[` and `\\r`, and a question mark for
    other control characters and for those that change the direction of text. Line ends and tabs are left."""
    if text.isprintable():
        return text
    import re

    return re.sub(_CONTROLS, lambda match: _ESCAPES.get(match[0], "?"), text)


_ESCAPES = {"\x1b": "^[", "\r": "\\r"}
_CONTROLS = "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"


def labels_text(labels: dict[str, str]) -> str:
    """Labels as a table shows them: `a=1,b=2`."""
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels)) or NONE


def aligned(text: str) -> str:
    """Text with tabs, as Go's tabwriter aligns it: the cells of neighbouring lines form columns.

    A run of lines with a cell in the same column has one width for it. The last cell of a line is not padded.
    """
    rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
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
        width = max(len(row[column]) for row in rows[at:stop]) + _TAB_PADDING
        for row in rows[at:stop]:
            row[column] = row[column].ljust(width)
        _align(rows, column + 1, at, stop)
        at = stop
