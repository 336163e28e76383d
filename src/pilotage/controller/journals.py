"""The journals of controllers: a queue has one, because sources and workers have only the queue in common."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from pilotage.controller.request import Request
from pilotage.history.history import History, Journal
from pilotage.history.options import HistoryOptions
from pilotage.history.records import EventNote, RetryNote, TextNote
from pilotage.workqueue import WorkQueue

_MOST_TRIGGERS = 8
"""Triggers of one reconcile that are shown as text; further ones are not."""

_journals: WeakKeyDictionary[WorkQueue[Request], Journal] = WeakKeyDictionary()


def attach(queue: WorkQueue[Request], journal: Journal) -> None:
    """Set the journal of a queue."""
    _journals[queue] = journal


def journal_of(queue: WorkQueue[Request]) -> Journal:
    """The journal of a queue; a queue without a controller has one that records nothing."""
    known = _journals.get(queue)
    return known if known is not None else History(HistoryOptions(enabled=False)).journal(queue.name, None)


def trigger_texts(notes: Iterable[tuple[float, object]]) -> list[str]:
    """What put a request on the queue, for logs and traces."""
    texts = [_text(note) for _, note in notes]
    return texts if len(texts) <= _MOST_TRIGGERS else [*texts[:_MOST_TRIGGERS], "and more"]


def _text(note: object) -> str:
    if isinstance(note, EventNote):
        name = "/".join(part for part in (note.event.namespace, note.event.name) if part) or "nothing"
        return f"<Event {note.event.type} {name}>"
    if isinstance(note, RetryNote):
        return note.trigger
    return note.text if isinstance(note, TextNote) else str(note)
