"""Who wrote a field, in which reconcile, and because of what: followed back to the first cause from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from msgspec import UNSET

from pilotage.history.differences import Change
from pilotage.history.fieldmanagers import FieldWriter
from pilotage.history.fieldpaths import segments, touches
from pilotage.history.stories import IDENTITY, NO_KIND, Cause, Object, Reconcile, Write
from pilotage.meta.kinds import GroupKind
from pilotage.meta.values import Value

Find = Callable[[int], Reconcile | None]
"""The reconcile with a number; None if it is not in the history."""

_MOST_LINKS = 50
_FURTHER = 10
"""Reconciles that are searched beyond the latest one that has a write of the field: a write may be later than an event
that caused a later reconcile."""
_MOST_CAUSES = 20
"""Causes of one reconcile that a link has."""
_OUTSIDE = ("create", "update", "delete", "generic", "added")
_REPEATED = ("retry", "requeue")


class Target(Value, frozen=True):
    """The object whose field it is."""

    kind: GroupKind
    namespace: str
    name: str

    def is_of(self, part: Object) -> bool:
        """Whether a part of a story is about this object."""
        kind = part.kind
        return (
            part.name == self.name
            and part.namespace == self.namespace
            and (kind == NO_KIND or GroupKind(kind.group, kind.kind) == self.kind)
        )


class Link(Value, frozen=True, omit_defaults=True, kw_only=True):
    """A write of a reconcile, and why the reconcile ran."""

    reconcile: int
    controller: str
    key: str
    began: datetime
    write: Write
    causes: tuple[Cause, ...] = ()


class Provenance(Value, frozen=True, omit_defaults=True, kw_only=True):
    """Where the value of a field comes from."""

    path: str
    value: Any = UNSET
    """The value now, without secrets; unset where the field, or the object, does not exist."""
    chain: tuple[Link, ...] = ()
    """The reconciles that led to it, the one that wrote the field first."""
    origin: Cause | None = None
    """The event from outside that led to all of it: a change by another client."""
    writer: FieldWriter | None = None
    """The client that wrote the field, as its managed fields name it, where it was no reconcile of the history."""
    owners: tuple[FieldWriter, ...] = ()
    """All clients that own the field now."""
    note: str = ""
    """Why it is not followed further, as a sentence."""
    exists: bool | None = None
    """Whether the object has the field now; None: not known."""


def provenance(
    target: Target, path: str, stories: Sequence[Reconcile], find: Find, owners: Sequence[FieldWriter] = ()
) -> Provenance:
    """Where a field comes from. `stories` are the reconciles that concern the object, the oldest first."""
    wanted = segments(path)
    newest = max(_writes(target, wanted, stories), key=lambda found: found[0], default=None)
    owner = owners[0] if owners else None
    if newest is None or (owner is not None and owner.at is not None and owner.at > newest[0]):
        note = "" if owner is not None else "neither the history nor the managed fields show who wrote it"
        return Provenance(path=path, writer=owner, owners=tuple(owners), note=note)
    _, found, write = newest
    if isinstance(found, Cause):
        return Provenance(path=path, origin=found, owners=tuple(owners))
    chain, origin, note = _followed(found, write, find)
    return Provenance(path=path, chain=chain, origin=origin, owners=tuple(owners), note=note)


def changes_of(changes: Sequence[Change], wanted: Sequence[str]) -> list[Change]:
    """The changes that change a field."""
    return [change for change in changes if touches(segments(change.path), wanted)]


def _writes(
    target: Target, wanted: Sequence[str], stories: Sequence[Reconcile]
) -> Iterator[tuple[datetime, Reconcile | Cause, Write]]:
    """The writes of a field by reconciles, and the events that show the write of another client, with their times."""
    further = _FURTHER
    for story in reversed(stories):
        found = [
            write
            for write in story.writes
            if target.is_of(write) and not write.error and not write.dry_run and _wrote(write, wanted)
        ]
        events = [
            cause
            for cause in story.causes
            if target.is_of(cause) and cause.write is None and changes_of(cause.changes, wanted)
        ]
        for write in found:
            yield write.at, story, write
        for cause in events:
            yield cause.at, cause, _NO_WRITE
        further -= 1 if further < _FURTHER or found or events else 0
        if not further:
            return


def _wrote(write: Write, wanted: Sequence[str]) -> bool:
    """Whether a write changed a field. The changes of a create leave out its identity."""
    is_identity = write.verb == "create" and any(touches(segments(path), wanted) for path in IDENTITY)
    return is_identity or bool(changes_of(write.changes, wanted))


_NO_WRITE = Write(verb="", at=datetime.min)


def _followed(story: Reconcile, write: Write, find: Find) -> tuple[tuple[Link, ...], Cause | None, str]:
    """The links from a write back, the cause from outside, and why they end without one."""
    links: list[Link] = []
    seen: set[int] = set()
    while len(links) < _MOST_LINKS:
        seen.add(story.number)
        links.append(_link(story, write))
        outside = next((cause for cause in story.causes if cause.type in _OUTSIDE and cause.write is None), None)
        if outside is not None:
            return tuple(links), outside, ""
        before = next((each for each in story.causes if each.write is not None and each.reconcile not in seen), None)
        if before is None or before.write is None:
            return tuple(links), next(iter(story.causes), None), _end(story)
        earlier = find(before.reconcile)
        if earlier is None:
            return tuple(links), None, f"reconcile #{before.reconcile}, which led to it, is no longer in the history"
        story, write = earlier, before.write
    return tuple(links), None, f"only {_MOST_LINKS} reconciles are followed"


def _link(story: Reconcile, write: Write) -> Link:
    return Link(
        reconcile=story.number,
        controller=story.controller,
        key=story.key,
        began=story.began,
        write=write,
        causes=story.causes[:_MOST_CAUSES],
    )


def _end(story: Reconcile) -> str:
    if not story.causes:
        return ""
    cause = story.causes[0]
    if cause.type in _REPEATED:
        return f"reconcile #{cause.reconcile} put its request on the queue again"
    return "what was written before the program started is not in its history" if cause.type == "initial" else ""
