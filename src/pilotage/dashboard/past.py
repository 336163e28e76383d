"""The objects as they were: the newer events of the history are taken back, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pilotage.dashboard.objects import Key
from pilotage.history.history import History
from pilotage.history.records import EventNote, Run


def changes_since(history: History, moment: float) -> dict[Key, bytes | None]:
    """The bytes that objects had at a moment of the loop, for those that have changed since; None: it did not exist."""
    found: dict[Key, bytes | None] = {}
    for _, note in sorted(events_since(history, moment), key=lambda pair: pair[0], reverse=True):
        event, kind = note.event, note.origin.kind
        if kind is not None and not event.is_unchanged and event.type != "generic":
            found[kind, event.namespace, event.name] = event.old_data
    return found


def events_since(history: History, moment: float) -> Iterator[tuple[float, EventNote]]:
    """The events after a moment of the loop, with their times."""
    for entry in reversed(history.dropped.entries):
        if isinstance(entry, EventNote):
            if entry.at <= moment:
                break
            yield entry.at, entry
    for at, note in timed_events(history, moment):
        if at > moment:
            yield at, note


def tail(history: History, moment: float) -> list[EventNote | Run]:
    """The entries of the history since a moment of the loop, the oldest first."""
    found: list[EventNote | Run] = []
    for entry in reversed(history.ring.entries):
        if isinstance(entry, Run) and entry.began < moment:
            break
        found.append(entry)
    found.reverse()
    return found


def timed_events(history: History, moment: float = -math.inf) -> list[tuple[float, EventNote]]:
    """The events since a moment of the loop that led to requests, the oldest first. The reconcile that an event caused
    has its time; for one that still waits, it is about that of the reconcile before it."""
    entries = tail(history, moment)
    times = {id(note): at for entry in entries if isinstance(entry, Run) for at, note in entry.notes}
    found: list[tuple[float, EventNote]] = []
    last = max(moment, 0.0)
    for entry in entries:
        if isinstance(entry, EventNote):
            last = times.get(id(entry), last)
            found.append((last, entry))
        else:
            last = max(last, entry.began)
    return found


def oldest(history: History) -> float | None:
    """The moment of the loop to which the history reaches back; None where it is empty."""
    return next((entry.began for entry in history.ring.entries if isinstance(entry, Run)), None)
