"""What is printed after a save: the objects that the new code writes differently. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pilotage.cli.dev.writes import ObjectDifference
from pilotage.history.differences import Change, shown
from pilotage.meta.text.counts import counted

_MOST_OBJECTS = 20
_MOST_FIELDS = 12
_VERBS = {
    "created": " is created",
    "deleted": " is deleted",
    "written": " is written",
    "refused": ": the write is refused",
    "unwritten": " is no longer written, and stays",
}


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line, and which style it has: `object`, `field`, `unwritten` or `total`."""

    style: str
    text: str
    detail: str = ""
    """What follows in a dim style."""


def report(
    differences: Sequence[ObjectDifference], reconciles: int, failed: int, seconds: float
) -> Iterator[ReportLine]:
    """The lines about a save, by some `seconds` later. Objects of one kind with the same differences are together."""
    groups = _grouped(differences)
    for group in groups[:_MOST_OBJECTS]:
        yield from _lines(group)
    if len(groups) > _MOST_OBJECTS:
        yield ReportLine("total", f"and {counted(len(groups) - _MOST_OBJECTS, 'more object')}")
    errors = f", {failed} of them failed" if failed else ""
    what = f"{counted(len(differences), 'object')} written differently" if differences else "no write differs"
    yield ReportLine(
        "total", f"{what}, after {counted(reconciles, 'reconcile')}{errors}, {seconds:.2f} s after the save"
    )


def _grouped(differences: Sequence[ObjectDifference]) -> list[list[ObjectDifference]]:
    groups: dict[str, list[ObjectDifference]] = {}
    for each in differences:
        changes = [str(change) for change in (*each.fields.values(), *each.unwritten)]
        groups.setdefault(f"{each.written.kind} {each.verb} {each.error and each.written} {changes}", []).append(each)
    return [*groups.values()]


def _lines(group: Sequence[ObjectDifference]) -> Iterator[ReportLine]:
    first, others = group[0], len(group) - 1
    more = f" and {counted(others, 'more')}" if others else ""
    yield ReportLine("object", f"{first.written}{more}{_VERBS.get(first.verb, '')}", first.place)
    lines = [
        *([ReportLine("unwritten", first.error)] if first.verb == "refused" else []),
        *(ReportLine("field", _text(change, first.verb)) for change in first.fields.values()),
        *(
            ReportLine("unwritten", f"{each.path}: {shown(each.old)}", "no longer written, and stays")
            for each in first.unwritten
        ),
    ]
    yield from lines[:_MOST_FIELDS]
    if len(lines) > _MOST_FIELDS:
        yield ReportLine("field", f"and {counted(len(lines) - _MOST_FIELDS, 'more field')}")


def _text(change: Change, verb: str) -> str:
    return f"{change.path}: {shown(change.new)}" if verb == "created" else str(change)
