"""The rows of custom resources, by the columns of their definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from pilotage.errors import InvalidDefinition
from pilotage.meta.jsonpath import UnfitValueError, parse
from pilotage.meta.scalars import times
from pilotage.server.tables import cells
from pilotage.server.tables.cells import Cell, Printer

TYPE_CHECKING = False  # a command that prints a table loads this, and no typing
if TYPE_CHECKING:
    from typing import Any

    from pilotage.meta.documents import Document


def columns(declared: Sequence[Document], describe: Callable[[str], str], *, wide: bool = True) -> list[Document]:
    """The definitions of the columns: the name, then those that the version of a definition declares, else the age.

    `describe` returns the description of a column that all kinds have. If not `wide`, those with a priority are left
    out.
    """
    shown = [column("Name", "string", "name", describe("Name"))]
    if not declared:
        return [*shown, column("Age", "date", "", describe("Age"))]
    for each in declared:
        path = each.get("jsonPath", "")
        text = each.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        priority = each.get("priority", 0)
        if wide or not priority:
            shown.append(column(each["name"], each.get("type", "string"), each.get("format", ""), text, priority))
    return shown


def column(name: str, kind: str, form: str, description: str, priority: int = 0) -> Document:
    """The definition of a column."""
    return {"name": name, "type": kind, "format": form, "description": description, "priority": priority}


def printer(declared: Sequence[Document], *, wide: bool = True) -> Printer:
    """The function from an object to its cells."""
    if not declared:
        return lambda document, now: [cells.name(document), _age(document, now)]
    printed = [_column(each) for each in declared if wide or not each.get("priority")]
    return lambda document, now: [cells.name(document), *[cell(document, now) for cell in printed]]


def _age(document: Document, now: datetime) -> Cell:
    """Nothing for a bookmark, which has no time."""
    return cells.age(document, now) if document["metadata"].get("creationTimestamp") else None


def _column(column: Document) -> Callable[[Document, datetime], Cell]:
    try:
        find = parse(column.get("jsonPath", "")).find
    except InvalidDefinition:
        return lambda document, now: None
    convert = _CONVERSIONS.get(column.get("type", "string"), _string)

    def cell(document: Document, now: datetime) -> Cell:
        try:
            found = find(document)
        except UnfitValueError:
            return None
        return convert(found[0], now) if found else None

    return cell


def _string(value: Any, now: datetime) -> Cell:
    if value.__class__ is str:
        return value  # most are
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        import json  # sorts keys, as the API server does

        text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        return text.translate(_ESCAPED)
    return number_text(value)


def number_text(value: float) -> str:
    """A number as the API server prints it: without a fraction where there is none, else with an exponent from 1e6 on,
    as is an integer beyond 64 bits."""
    if -(2**63) <= value < 2**63 and int(value) == value:
        return str(int(value))
    value = float(value)
    if 1e-4 <= abs(value) < 1e6:
        return repr(value)
    digits = repr(value).partition("e")[0].replace(".", "").strip("-0")  # as few as are needed
    mantissa, _, exponent = f"{value:.{len(digits) - 1}e}".partition("e")
    return f"{mantissa}e{exponent}"


def _integer(value: Any, now: datetime) -> Cell:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, now: datetime) -> Cell:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, float) else int(float(value))  # as a float has it


def _boolean(value: Any, now: datetime) -> Cell:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: datetime) -> Cell:
    if not isinstance(value, str):
        return None
    moment = cells.timestamp(value)
    return "<invalid>" if moment is None else times.rounded((now - moment).total_seconds())


_ESCAPED = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
"""What Go's encoder escapes in JSON."""
_CONVERSIONS: dict[str, Callable[[Any, datetime], Cell]] = {
    "boolean": _boolean,
    "date": _date,
    "integer": _integer,
    "number": _number,
    "string": _string,
}
