"""Reconciles in one row each, from their records: nothing is decoded but the first cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pilotage.dashboard.gathering import Sources
from pilotage.dashboard.values import Story, Summary
from pilotage.history.records import CallNote, Cause
from pilotage.history.runs import Run
from pilotage.history.text import cause_text, reconcile_lines
from pilotage.rest.request import READS

_MOST_TEXT = 300
"""Characters of a text in a row."""


def summary(sources: Sources, run: Run) -> Summary:
    """One reconcile in a row."""
    notes = [*run.causes()]
    controller, request = run.controller, run.request
    queued = min((at for at, _ in run.notes), default=run.began)
    return Summary(
        number=run.number,
        controller=controller.name,
        kind=str(controller.kind.group_kind) if controller.kind is not None else "",
        namespace=request.namespace,
        name=request.name,
        began=sources.time_of(run.began),
        waited=round(max(0.0, run.began - queued), 6),
        seconds=round((run.ended if run.ended is not None else sources.now()) - run.began, 6),
        result=run.result if run.ended is not None else "running",
        error=run.error[:_MOST_TEXT],
        causes=len(notes),
        writes=sum(isinstance(step, CallNote) and step.request.verb not in READS for step in run.steps),
        because=_because(sources, notes),
    )


def story(sources: Sources, run: Run) -> Story:
    """The whole story of a reconcile."""
    reconcile = sources.history.stories.reconcile(run)
    lines = tuple((line.word, line.text) for line in reconcile_lines(reconcile))
    fields = {name: getattr(reconcile, name) for name in reconcile.__struct_fields__}
    return Story(**fields, lines=lines)


def newest(found: Iterable[Run], limit: int) -> tuple[list[Run], int]:
    """The newest runs, the newest first, and how many there are."""
    several = [*found]
    return [*reversed(several[-limit:])], len(several)


def _because(sources: Sources, notes: Sequence[Cause]) -> str:
    if not notes:
        return "the program put it on the queue"
    return cause_text(sources.history.stories.cause(*notes[0]))[:_MOST_TEXT]
