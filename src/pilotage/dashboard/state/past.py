"""The objects as they were: the newer events of the history are taken back, one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

from pilotage.dashboard.state.objects import Key
from pilotage.history.history import History
from pilotage.history.records import Cause, EventNote

Timed = tuple[float, EventNote]
"""An event, and the moment of the loop at which it came."""


def changes_since(events: Iterable[Timed], moment: float) -> dict[Key, bytes | None]:
    """The bytes that objects had at a moment of the loop, for those that have changed since; None: it did not exist."""
    found: dict[Key, bytes | None] = {}
    for at, note in [*sorted(events, key=lambda pair: pair[0])][::-1]:  # of one moment, the last one first
        kind = note.origin.kind
        is_known = note.old_data is not None or note.type == "create"
        if at > moment and kind is not None and is_known and not note.is_unchanged and note.type != "generic":
            found[kind, note.namespace, note.name] = note.old_data
    return found


def events_since(history: History, waiting: Iterable[Cause], moment: float = -math.inf) -> list[Timed]:
    """The events that came after a moment of the loop, the events of one object in their order: events that led to
    reconciles, that predicates dropped, and that wait on queues. One that led to several reconciles comes once."""
    dropped = itertools.takewhile(lambda each: each.at > moment, reversed(history.dropped.notes))
    runs = [*itertools.takewhile(lambda run: run.began > moment, reversed(history.ring.entries))]
    causes: list[Cause] = [(each.at, each.note) for each in dropped]
    causes.reverse()
    for run in reversed(runs):
        causes += run.notes
    causes += waiting
    found = {id(note): (at, note) for at, note in causes if at > moment and isinstance(note, EventNote)}
    return [*found.values()]


def oldest(history: History) -> float | None:
    """The moment of the loop to which the history reaches back; None where it is empty."""
    return history.ring.entries[0].began if history.ring.entries else None
