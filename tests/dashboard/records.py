"""Recorded runs for tests of pure functions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from pilotage.controller.request import Request
from pilotage.history.history import History
from pilotage.history.journal import Journal
from pilotage.history.records import Cause, EventNote, Origin
from pilotage.history.runs import Run
from pilotage.meta.kinds import GroupVersionKind

BOOK = GroupVersionKind("books.pilotage.dev", "v1", "Book")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Happened(NamedTuple):
    """When a run began and ended, in seconds since noon."""

    began: float
    ended: float | None
    result: str = "success"


def new_history() -> History:
    history = History(clock=lambda: NOON)
    history.anchor = (0.0, NOON)
    return history


def recorded(
    journal: Journal, happened: Happened, name: str = "a", notes: list[Cause] | None = None, error: str = ""
) -> Run:
    """A run in a history."""
    run = journal.begin(Request(name, "default"), notes or [], happened.began, 0)
    run.result, run.error = ("error", error) if error else (happened.result, "")
    if happened.ended is not None:
        journal.end(run, happened.ended)
    return run


def event(kind: str, old: bytes | None, new: bytes | None, name: str = "a") -> EventNote:
    """An event of a Book."""
    return EventNote(Origin("test", BOOK), kind, "default", name, old, new)


def book(name: str = "a", version: int = 1, **more: object) -> bytes:
    """The bytes of a Book."""
    owners = more.pop("owners", [])
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-01-31T11:00:00Z",
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Shelf", "name": owner, "uid": f"uid-{owner}", "controller": True}
            for owner in owners  # type: ignore[attr-defined]  # a list of names
        ],
    }
    return msgspec.json.encode({"apiVersion": BOOK.api_version, "kind": "Book", "metadata": metadata, **more})
