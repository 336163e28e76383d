"""The writes of a request that triggers itself: which fields they change, and which controller wrote."""

from __future__ import annotations

from pilotage.history.history import History
from pilotage.history.records import CallNote, EventNote, Run
from pilotage.history.text import write_text


def last_run_of(history: History, controller: str, namespace: str, name: str) -> Run | None:
    """The last reconcile of a request that wrote something."""
    for entry in reversed(history.ring.entries):
        if entry.last_write is not None and (entry.request.name, entry.request.namespace, entry.journal.controller) == (
            name,
            namespace,
            controller,
        ):
            return entry
    return None


def loop_text(run: Run) -> str:
    """The last write of a reconcile with its fields, and the write of another controller that caused it; empty if the
    history has none."""
    builder = run.journal.history.stories
    own = next((step for step in reversed(run.steps) if isinstance(step, CallNote) and step.written), None)
    text = f"the last write of its reconcile was: {write_text(builder.write(run, own))}" if own is not None else ""
    made = filter(None, (builder.made_by(note) for _, note in reversed(run.notes) if isinstance(note, EventNote)))
    by_others = ((other, call) for other, call in made if other.journal is not run.journal)
    if (cause := next(by_others, None)) is None:
        return text
    other = f"controller {cause[0].journal.controller} caused it: {write_text(builder.write(*cause))}"
    return f"{text}; {other}" if text else other
