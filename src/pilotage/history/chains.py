"""Chains of writes: how many reconciles in a row, each caused by a write of the one before, led to a write.

A write of a reconcile is remembered by the uid and the version that it left, so that its event is recognised. The event
of any other write begins a new chain.
"""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.errors import DecodeError
from pilotage.history.records import Cause, EventNote
from pilotage.meta import objects
from pilotage.meta.bounds.recent import Recent

_REMEMBERED = 10_000
"""Writes that are remembered. The event of a write follows soon; one that was forgotten begins a new chain."""

WRITTEN: Recent[tuple[str, int], int] = Recent(_REMEMBERED)
"""By uid and version, which together are unique among all servers: the length of the chain after each write. A write
that deleted an object has the version 0."""


def depth_of(notes: Iterable[Cause]) -> int:
    """The length of the chain that led to a reconcile with these notes: the shortest of its events' chains. 0: it was
    caused from outside."""
    lengths = [_length_after(note) for _, note in notes if isinstance(note, EventNote) and not note.is_unchanged]
    return min(lengths, default=0)


def key_of(event: EventNote) -> tuple[str, int] | None:
    """The uid and the version that the write of an event has left; None where they are not known."""
    data = event.new_data or event.old_data
    if data is None:
        return None
    try:
        header = objects.header(data)
    except (DecodeError, RecursionError):
        return None
    return (header.uid, int(header.resource_version)) if header.resource_version.isdecimal() else None


def _length_after(event: EventNote) -> int:
    key = key_of(event)
    if key is None:
        return 0
    after = WRITTEN.get(key, 0)
    return WRITTEN.get((key[0], 0), after) if event.type == "delete" else after
