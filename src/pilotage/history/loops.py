"""The writes of a request that triggers itself: which fields they change, and which controller wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from pilotage.errors import DecodeError
from pilotage.history.history import History
from pilotage.history.records import CallNote, EventNote, ReadNote
from pilotage.history.runs import Run
from pilotage.history.text import write_text
from pilotage.meta import objects


def last_run_of(history: History, controller: str, namespace: str, name: str) -> Run | None:
    """The last reconcile of a request that wrote something."""
    for entry in reversed(history.ring.entries):
        if entry.last_write is not None and (entry.request.name, entry.request.namespace, entry.controller.name) == (
            name,
            namespace,
            controller,
        ):
            return entry
    return None


def _read(run: Run) -> Iterator[tuple[Run, CallNote] | None]:
    """The writes that left the objects which a reconcile has read: it may have begun before their events."""
    for step in reversed(run.steps):
        if isinstance(step, ReadNote) and step.data:
            with suppress(DecodeError):
                header = objects.header(step.data)
                yield run.controller.history.ring.writes.get(
                    (header.uid, int(header.resource_version) if header.resource_version.isdecimal() else 0)
                )


def loop_text(run: Run) -> str:
    """The last write of a reconcile with its fields, and the write of another controller that caused it; empty if the
    history has none."""
    builder = run.controller.history.stories
    own = next((step for step in reversed(run.steps) if isinstance(step, CallNote) and step.written), None)
    text = f"the last write of its reconcile was: {write_text(builder.write(run, own))}" if own is not None else ""
    made = (builder.made_by(note) for _, note in reversed(run.notes) if isinstance(note, EventNote))
    by_others = (
        (each[0], each[1]) for each in (*made, *_read(run)) if each and each[0].controller is not run.controller
    )
    if (cause := next(by_others, None)) is None:
        return text
    other = f"controller {cause[0].controller.name} caused it: {write_text(builder.write(*cause))}"
    return f"{text}; {other}" if text else other
