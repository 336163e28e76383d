"""What one version of a program writes differently from the version before. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from pilotage.cli.dev.stated import Reconciled, Statements, Written
from pilotage.cluster.installation import DEFINITION
from pilotage.history.differences import Change, differences
from pilotage.history.stories import Reconcile, Write
from pilotage.meta.documents import Document

_OWN_CAUSES = ("initial", "retry", "requeue", "added")
"""Causes of a reconcile that are no change by another client."""


@dataclass(slots=True)
class ObjectDifference:
    """One object: what became of it, and which fields have changed."""

    written: Written
    verb: str = ""
    """`created`, `deleted`, `refused`, `written` (which fields is not known), or `unwritten`: no reconcile mentions the
    object any more."""
    fields: dict[str, Change] = field(default_factory=dict)
    unwritten: tuple[Change, ...] = ()
    """The fields that are no longer written; they stay."""
    place: str = ""
    """The line of the program that made the first of the writes."""
    error: str = ""
    """Why it was refused."""


def of_the_code(reconciles: Iterable[Reconcile]) -> list[Reconcile]:
    """The reconciles that happened because a version has begun, or because of what it wrote: not those that only follow
    a change by another client, such as a Pod that became ready meanwhile."""
    return [
        each
        for each in reconciles
        if any(cause.write is not None or cause.type in _OWN_CAUSES for cause in each.causes) or not each.causes
    ]


def written_differently(
    reconciles: Iterable[Reconcile],
    before: Mapping[Reconciled, Statements],
    after: Mapping[Reconciled, Statements],
) -> list[ObjectDifference]:
    """The objects that differ, in the order in which they were written.

    `reconciles` are those of the new version, of all objects, which the old version had left as it wants them: so what
    they write is what differs. `before` and `after` are what both versions want.
    """
    found: dict[Written, ObjectDifference] = {}
    for reconcile in reconciles:
        for write in reconcile.writes:
            if not write.dry_run and "has been modified" not in write.error:  # a conflict: it is tried again
                key = Written(write.kind, write.namespace, write.name)
                _add(found.setdefault(key, ObjectDifference(key)), write)
    for key, changes in _unwritten(before, after).items():
        difference = found.setdefault(key, ObjectDifference(key))
        if difference.verb != "deleted":
            difference.unwritten = tuple(change for change in changes if change.path not in difference.fields)
            if not changes:
                difference.verb = "unwritten"
    return [each for each in found.values() if each.verb or each.fields or each.unwritten]


def changed_definitions(old: Sequence[Document], new: Sequence[Document]) -> list[ObjectDifference]:
    """The CustomResourceDefinitions that differ. One that the program no longer has stays."""
    before = {document["metadata"]["name"]: document for document in old}
    found: list[ObjectDifference] = []
    for document in new:
        name = document["metadata"]["name"]
        changes = differences(before[name], document) if name in before else ()
        difference = ObjectDifference(Written(DEFINITION, "", name), "" if name in before else "created")
        difference.fields = {change.path: change for change in changes}
        found.append(difference)
    return [each for each in found if each.verb or each.fields]


def _add(difference: ObjectDifference, write: Write) -> None:
    """Add a write. A field that is back at its value before has not changed."""
    difference.place = difference.place or write.place.partition(" in ")[0]
    if write.error:
        difference.verb, difference.error = "refused", write.error
        return
    if difference.verb == "refused":  # and now accepted
        difference.verb = ""
    if write.verb in ("delete", "deletecollection"):
        difference.verb = "" if difference.verb == "created" else "deleted"
        difference.fields.clear()
        return
    if write.verb == "create":
        difference.verb = "written" if difference.verb == "deleted" else "created"
    elif write.body:
        difference.verb = difference.verb or "written"
    own = write.changes[: len(write.changes) - write.set_by_server]
    for change in own:
        first = difference.fields.pop(change.path, change)
        if first.old is UNSET or change.new is UNSET or first.old != change.new:
            difference.fields[change.path] = Change(change.path, first.old, change.new)


def _unwritten(
    before: Mapping[Reconciled, Statements], after: Mapping[Reconciled, Statements]
) -> dict[Written, tuple[Change, ...]]:
    """The fields of each object that only the old version mentions; none for an object that only it mentions."""
    mentioned = {written for statements in after.values() for written in statements}
    found: dict[Written, tuple[Change, ...]] = {}
    for request, statements in before.items():
        for written, fields in statements.items() if request in after else ():
            if written not in mentioned:
                found[written] = ()
            elif (now := after[request].get(written)) is not None:
                left = [Change(path, value, UNSET) for path, value in fields.items() if not _is_in(path, now)]
                if left:
                    found[written] = tuple(left)
    return found


def _is_in(path: str, fields: Mapping[str, object]) -> bool:
    """Whether fields have a path, or one below it: an empty value may have got members."""
    return path in fields or any(other.startswith((f"{path}.", f"{path}[")) for other in fields)
