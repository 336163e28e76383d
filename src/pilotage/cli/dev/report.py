"""What is printed after a save: the objects that the new code writes differently. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pilotage.cli.dev.writes import ObjectDifference
from pilotage.history.differences import Change, shown
from pilotage.history.stories import Reconcile
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
    """A line, and which style it has: `object`, `field`, `unwritten`, `failed` or `total`."""

    style: str
    text: str
    detail: str = ""
    """What follows in a dim style."""


def report(
    differences: Sequence[ObjectDifference], reconciles: Sequence[Reconcile], count: int, seconds: float
) -> Iterator[ReportLine]:
    """The lines about a save, some `seconds` and a `count` of reconciles later: what differs, and the errors of those
    `reconciles` that have failed. Objects of one kind with the same differences are together."""
    groups = _grouped(differences)
    for group in groups[:_MOST_OBJECTS]:
        yield from _lines(group)
    if len(groups) > _MOST_OBJECTS:
        yield ReportLine("total", f"and {counted(len(groups) - _MOST_OBJECTS, 'more object')}")
    failed = [reconcile for reconcile in reconciles if reconcile.error is not None]
    yield from _failures(failed)
    errors = f" ({len(failed)} failed)" if failed else ""
    what = f"{counted(len(differences), 'object')} written differently" if differences else "no write differs"
    after = f"{counted(count, 'reconcile')}{errors}"
    yield ReportLine("total", f"{what}, after {after}, {seconds:.2f} s after the save")


def _failures(failed: Sequence[Reconcile]) -> Iterator[ReportLine]:
    """The errors of reconciles, each once, with the objects that have it."""
    objects: dict[tuple[str, str], list[str]] = {}
    for each in failed:
        name = f"{each.controller} {each.key}"
        found = objects.setdefault((each.error or "", each.place), [])
        found += [name] if name not in found else []
    for (error, place), names in [*objects.items()][:_MOST_OBJECTS]:
        more = f" and {counted(len(names) - 1, 'more object')}" if len(names) > 1 else ""
        yield ReportLine("failed", f"{names[0]}{more} failed: {error}", place.partition(" in ")[0])


def _grouped(differences: Sequence[ObjectDifference]) -> list[list[ObjectDifference]]:
    groups: dict[str, list[ObjectDifference]] = {}
    for each in differences:
        changes = [str(change) for change in (*each.fields.values(), *each.unwritten)]
        groups.setdefault(f"{each.written.kind} {each.verb} {each.error and each.written} {changes}", []).append(each)
    return [*groups.values()]


def _lines(group: Sequence[ObjectDifference]) -> Iterator[ReportLine]:
    first, others = group[0], len(group) - 1
    more = f" and {counted(others, 'more object')}" if others else ""
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
