"""The journals of controllers: a queue has one, because sources and workers have only the queue in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from pilotage.controller.request import Request
from pilotage.errors import DecodeError
from pilotage.history.history import History
from pilotage.history.journal import Journal
from pilotage.history.options import HistoryOptions
from pilotage.history.records import Cause, EventNote, Note, RetryNote
from pilotage.meta import objects
from pilotage.telemetry.tracing import ANNOTATION
from pilotage.workqueue import WorkQueue

ANNOTATION_BYTES = ANNOTATION.encode()
_MOST_TRIGGERS = 8
"""Triggers of one reconcile that are shown as text; further ones are not."""


def attach(queue: WorkQueue[Request], journal: Journal) -> None:
    """Set the journal of a queue."""
    journal.waiting = queue.waiting_notes
    queue.attachment = journal


def journal_of(queue: WorkQueue[Request]) -> Journal:
    """The journal of a queue; a queue without a controller has one that records nothing."""
    if isinstance(queue.attachment, Journal):
        return queue.attachment
    return History(HistoryOptions(enabled=False)).journal(queue.name, None)


def trigger_texts(notes: Iterable[Cause]) -> list[str]:
    """What put a request on the queue, for logs and traces."""
    texts = [_text(note) for _, note in notes]
    return texts if len(texts) <= _MOST_TRIGGERS else [*texts[:_MOST_TRIGGERS], "and more"]


def traceparents(notes: Iterable[Cause]) -> Iterator[str]:
    """The traces in which the objects of events were created, by their annotations."""
    for _, note in notes:
        data = (note.new_data or note.old_data) if isinstance(note, EventNote) else None
        if data is not None and ANNOTATION_BYTES in data:
            with suppress(DecodeError):
                yield objects.header(data).annotations.get(ANNOTATION, "")


def _text(note: Note) -> str:
    if isinstance(note, EventNote):
        name = "/".join(part for part in (note.namespace, note.name) if part) or "nothing"
        source = f" ({note.origin.source})" if note.origin.source else ""
        return f"{note.type} {name}{source}"
    if isinstance(note, RetryNote):
        return note.trigger
    return note.text
