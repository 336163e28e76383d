"""The timeline: reconciles as bars, the events that caused them, and their writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pilotage.dashboard.gathering import Sources
from pilotage.dashboard.state.past import events_since
from pilotage.dashboard.values import Bar, Moment, Timeline, Written
from pilotage.history.records import CallNote, EventNote
from pilotage.history.runs import Run
from pilotage.rest.request import READS

MOST = 600
"""Bars, events and writes that are sent, each."""

_LONGEST = 60.0
"""Seconds before the shown time in which a run may have begun that ends in it."""

Selects = Callable[[str, str, str], bool]
"""Whether a kind, a namespace and a name are shown."""


def timeline(sources: Sources, since: float, until: float, selects: Selects) -> Timeline:
    """What happened between two moments of the loop. Of too many bars, the last are shown, with their events."""
    shown, more = _last_runs(sources, since, until, selects)
    if more:
        since = shown[0][0].began
    caused: dict[int, list[int]] = {}
    for run, notes in shown:
        for note in notes:
            caused.setdefault(id(note), []).append(run.number)
    writes = [write for run, _ in shown for write in _writes(sources, run)]
    events = _events(sources, since, until, selects, caused)
    return Timeline(
        bars=tuple(_bar(sources, run, notes) for run, notes in shown),
        events=tuple(events[-MOST:]),
        writes=tuple(writes[-MOST:]),
        more=more or len(events) > MOST or len(writes) > MOST,
    )


def _last_runs(
    sources: Sources, since: float, until: float, selects: Selects
) -> tuple[list[tuple[Run, list[EventNote]]], bool]:
    """The last selected runs, the oldest first, with the events that caused each; and whether there are more."""
    found: list[tuple[Run, list[EventNote]]] = []
    for run in reversed(sources.history.ring.entries):
        if run.began > until:
            continue
        if run.began < since - _LONGEST:
            break
        if run.ended is not None and run.ended < since:
            continue
        notes = [note for _, note in run.causes() if isinstance(note, EventNote)]
        if _selects_run(sources, selects, run, notes):
            if len(found) == MOST:
                return found[::-1], True
            found.append((run, notes))
    return found[::-1], False


def _selects_run(sources: Sources, selects: Selects, run: Run, notes: Sequence[EventNote]) -> bool:
    """Whether a run is about a selected object, was caused by it, or has written it."""
    request, kind = run.request, run.controller.kind
    return (
        selects(str(kind.group_kind) if kind is not None else "", request.namespace, request.name)
        or any(selects(_kind(note), note.namespace, note.name) for note in notes)
        or any(isinstance(step, CallNote) and selects(*_target(sources, step)) for step in run.steps)
    )


def _bar(sources: Sources, run: Run, notes: Sequence[EventNote]) -> Bar:
    made = [sources.history.stories.made_by(note) for note in notes]
    namespace, name = run.request.namespace, run.request.name
    kind = run.controller.kind
    return Bar(
        number=run.number,
        lane=run.controller.name,
        kind=str(kind.group_kind) if kind is not None else "",
        namespace=namespace,
        name=name,
        key=f"{namespace}/{name}" if namespace else name,
        began=sources.time_of(run.began),
        seconds=round((run.ended if run.ended is not None else sources.now()) - run.began, 6),
        result=run.result if run.ended is not None else "running",
        caused_by=tuple(sorted({writer.number for writer, _ in filter(None, made)})),
    )


def _writes(sources: Sources, run: Run) -> list[Written]:
    return [
        Written(sources.time_of(step.began), step.request.verb.value, *_target(sources, step), run.number, step.error)
        for step in run.steps
        if isinstance(step, CallNote) and step.request.verb not in READS
    ]


def _target(sources: Sources, call: CallNote) -> tuple[str, str, str]:
    kind, namespace, name = sources.history.stories.target_of(call)
    return str(kind), namespace, name


def _events(
    sources: Sources, since: float, until: float, selects: Selects, caused: Mapping[int, Sequence[int]]
) -> list[Moment]:
    found = [
        (at, note)
        for at, note in events_since(sources.history, sources.waiting(), since)
        if at <= until and selects(_kind(note), note.namespace, note.name)
    ]
    found.sort(key=lambda pair: (pair[0], *caused.get(id(pair[1]), ())))
    return [
        Moment(
            at=sources.time_of(at),
            kind=_kind(note),
            namespace=note.namespace,
            name=note.name,
            type=_type(note),
            reconciles=tuple(caused.get(id(note), ())),
        )
        for at, note in found[-MOST - 1 :]
    ]


def _kind(note: EventNote) -> str:
    return str(note.origin.kind.group_kind) if note.origin.kind is not None else ""


def _type(note: EventNote) -> str:
    if note.is_unchanged:
        return "initial" if note.is_in_initial_list else "resync"
    return note.type
