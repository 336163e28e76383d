"""The timeline: reconciles as bars, the events that caused them, and their writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pilotage.dashboard.gathering import Sources
from pilotage.dashboard.past import events_since
from pilotage.dashboard.values import Bar, Moment, Timeline, Written
from pilotage.history.records import CallNote, EventNote, Run
from pilotage.rest.request import READS

MOST = 2000
"""Bars, events and writes that are sent, each."""

Selects = Callable[[str, str, str], bool]
"""Whether a kind, a namespace and a name are shown."""


def timeline(sources: Sources, runs: Sequence[Run], since: float, until: float, selects: Selects) -> Timeline:
    """What happened between two moments of the loop. Of too many bars and events, the last are shown."""
    shown = [run for run in runs if run.began <= until and (run.ended is None or run.ended >= since)]
    caused: dict[int, list[int]] = {}
    bars: list[Bar] = []
    writes: list[Written] = []
    more = len(shown) > MOST
    for run in shown[-MOST:]:
        notes = [note for _, note in run.causes() if isinstance(note, EventNote)]
        for note in notes:
            caused.setdefault(id(note), []).append(run.number)
        if _selects_run(sources, selects, run, notes):
            bars.append(_bar(sources, run, notes))
            writes += _writes(sources, run)
    events = _events(sources, since, until, selects, caused)
    more = more or len(events) > MOST or len(writes) > MOST
    return Timeline(tuple(bars), tuple(events[-MOST:]), tuple(writes[-MOST:]), more)


def _selects_run(sources: Sources, selects: Selects, run: Run, notes: Sequence[EventNote]) -> bool:
    """Whether a run is about a selected object, was caused by it, or has written it."""
    request, kind = run.request, run.journal.kind
    return (
        selects(str(kind.group_kind) if kind is not None else "", request.namespace, request.name)
        or any(selects(_kind(note), note.event.namespace, note.event.name) for note in notes)
        or any(
            isinstance(step, CallNote)
            and selects(sources.history.stories.kind_of(step), step.request.namespace, step.request.name)
            for step in run.steps
        )
    )


def _bar(sources: Sources, run: Run, notes: Sequence[EventNote]) -> Bar:
    writers = {sources.history.stories.writer_of(note) for note in notes}
    namespace, name = run.request.namespace, run.request.name
    kind = run.journal.kind
    return Bar(
        number=run.number,
        lane=run.journal.controller,
        kind=str(kind.group_kind) if kind is not None else "",
        namespace=namespace,
        name=name,
        key=f"{namespace}/{name}" if namespace else name,
        began=sources.time_of(run.began),
        seconds=round((run.ended if run.ended is not None else sources.now()) - run.began, 6),
        result=run.result if run.ended is not None else "running",
        caused_by=tuple(sorted(writers - {0})),
    )


def _writes(sources: Sources, run: Run) -> list[Written]:
    stories = sources.history.stories
    return [
        Written(
            at=sources.time_of(step.began),
            verb=step.request.verb.value,
            kind=stories.kind_of(step),
            namespace=step.request.namespace,
            name=step.request.name,
            reconcile=run.number,
            error=step.error,
        )
        for step in run.steps
        if isinstance(step, CallNote) and step.request.verb not in READS
    ]


def _events(
    sources: Sources, since: float, until: float, selects: Selects, caused: dict[int, list[int]]
) -> list[Moment]:
    found = [
        (at, note)
        for at, note in events_since(sources.history, since)
        if at <= until and selects(_kind(note), note.event.namespace, note.event.name)
    ]
    found.sort(key=lambda pair: pair[0])
    return [
        Moment(
            at=sources.time_of(at),
            kind=_kind(note),
            namespace=note.event.namespace,
            name=note.event.name,
            type=_type(note),
            reconciles=tuple(caused.get(id(note), ())),
        )
        for at, note in found[-MOST - 1 :]
    ]


def _kind(note: EventNote) -> str:
    return str(note.origin.kind.group_kind) if note.origin.kind is not None else ""


def _type(note: EventNote) -> str:
    event = note.event
    if event.is_unchanged:
        return "initial" if event.is_in_initial_list else "resync"
    return event.type
