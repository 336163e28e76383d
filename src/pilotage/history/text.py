"""Stories as lines for people: a word that says what the line is, and a text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from msgspec import UnsetType

from pilotage.history.differences import Change, shown
from pilotage.history.stories import Cause, Read, Reconcile, Write
from pilotage.meta.scalars import times
from pilotage.meta.text.counts import counted

_WIDTH = 9
_MOST_CHANGES = 6
"""Changes that are shown in a line; the others are counted."""
_LONG = 100
"""Seconds from which a duration has larger units."""
_MOST_CAUSES = 20
"""Causes that are shown of one reconcile."""

HAPPENED = {
    "create": "was created",
    "update": "changed",
    "delete": "was deleted",
    "generic": "had an event",
    "initial": "existed at the start",
    "resync": "was reported again, unchanged",
}
_BY = {"create": " by {}", "initial": ", last written by {}"}
_DID = {
    "create": "created",
    "update": "updated",
    "patch": "patched",
    "apply": "applied",
    "delete": "deleted",
    "deletecollection": "deleted all",
}


class Line(NamedTuple):
    """A line: its word, such as `because`, and its text. A line without a word is a heading."""

    word: str
    text: str

    def __str__(self) -> str:
        return f"  {self.word:<{_WIDTH}}{self.text}" if self.word else self.text


def reconcile_lines(reconcile: Reconcile, *, names_clients: bool = False) -> Iterator[Line]:
    """The heading, then because …, read …, wrote …, log …, and the result. With `names_clients`, a change by another
    client has the name of its field manager."""
    yield Line("", heading(reconcile))
    causes = reconcile.causes
    for number, cause in enumerate(causes[:_MOST_CAUSES]):
        yield Line("and" if number else "because", cause_text(cause, names_client=names_clients))
    if len(causes) > _MOST_CAUSES:
        yield Line("and", counted(len(causes) - _MOST_CAUSES, "more cause"))
    if not causes:
        yield Line("because", "the program put it on the queue")
    for step in reconcile.steps:
        if isinstance(step, Read):
            yield Line("read", read_text(step))
        elif isinstance(step, Write):
            yield Line("wrote", write_text(step))
        else:
            yield Line("log", str(step))
    if reconcile.skipped:
        yield Line("and", f"{counted(reconcile.skipped, 'more step')}, which the history has no room for")
    yield Line("result", result_text(reconcile))


def heading(reconcile: Reconcile) -> str:
    """`10:03:22.123  database default/main  #12`."""
    at = reconcile.began.strftime("%H:%M:%S.%f")[:-3]
    return f"{at}  {reconcile.controller} {reconcile.key}  #{reconcile.number}"


def cause_text(cause: Cause, *, names_client: bool = False) -> str:
    """Why a request was on the queue, in one line."""
    again = f" (reconcile #{cause.reconcile})" if cause.reconcile else ""
    if cause.type == "retry":
        return f"retry after {cause.text}{again}"
    if cause.type not in HAPPENED:
        return f"{cause.text}{again}"
    text = f"{cause.title} {HAPPENED[cause.type]}"
    if cause.write is not None:
        text = f"{cause.title} was {own_verb(cause)} by this program{again}"
    elif names_client and cause.manager:
        text += _BY.get(cause.type, " (by {})").format(cause.manager)
    if cause.is_forgotten:
        return f"{text} (no longer in the history: which fields)"
    return f"{text}: {changes_text(cause.changes)}" if cause.changes else text


def own_verb(cause: Cause) -> str:
    """What a write of this program did to the object of an event; the update of a last finalizer deletes it."""
    verb = cause.write.verb if cause.write is not None else ""
    return "deleted" if cause.type == "delete" else _DID.get(verb, verb)


def read_text(read: Read) -> str:
    """What was read, from where, and at which version."""
    origin = "API server" if read.is_live else "cache"
    if read.verb == "list":
        what = f"{counted(read.count, read.kind.kind or 'object')}"
        where = f" in {read.namespace}" if read.namespace else ""
        selected = f" with {read.selector}" if read.selector else ""
        text = f"{what}{where}{selected} ({origin}, version {read.version or 'unknown'})"
    elif read.found:
        text = f"{read.title} ({origin}, version {read.version or 'unknown'})"
    else:
        text = f"{read.title} ({origin}): not found"
    return f"{text}: {read.error}" if read.error else text


def write_text(write: Write) -> str:
    """What was written, field by field, and the error."""
    verb = "dry run: " if write.dry_run else ""
    verb += f"{write.verb} {write.subresource} of" if write.subresource else write.verb
    text = f"{verb} {write.title}"
    if write.changes:
        own = write.changes[: len(write.changes) - write.set_by_server]
        server = f"{counted(write.set_by_server, 'field')} set by the server" if write.set_by_server else ""
        text += f": {', and '.join(filter(None, (changes_text(own, values_alone=write.verb == 'create'), server)))}"
    elif write.body:
        text += f": sent {write.body}"
    elif not write.error and write.verb in ("update", "patch", "apply"):
        text += ": no field changed"
    return f"{text}: failed: {write.error}" if write.error else text


def changes_text(changes: tuple[Change, ...], *, values_alone: bool = False) -> str:
    """Changes in one line; of a new object its values alone. Several fields of one parent that are all new, or all
    removed, are together: `status.conditions[Ready]: (none) → {type: 'Ready', status: 'True'}`."""
    parts = []
    for (parent, is_new), group in groupby(changes[:_MOST_CHANGES], _side):
        members = [*group]
        if not parent or len(members) == 1:
            parts += [f"{each.path}: {shown(each.new)}" if values_alone else str(each) for each in members]
            continue
        values = (f"{each.path[len(parent) + 1 :]}: {shown(each.new if is_new else each.old)}" for each in members)
        text = f"{{{', '.join(values)}}}"
        if not values_alone:
            text = f"(none) → {text}" if is_new else f"{text} → (none)"
        parts.append(f"{parent}: {text}")
    text, more = ", ".join(parts), len(changes) - _MOST_CHANGES
    return f"{text}, and {counted(more, 'more field')}" if more > 0 else text


def _side(change: Change) -> tuple[str, bool]:
    """The parent of a field that is new or removed, and whether it is new; else no parent."""
    parent, dot, _ = change.path.rpartition(".")
    is_new, is_removed = isinstance(change.old, UnsetType), isinstance(change.new, UnsetType)
    is_member = dot and not change.path.endswith("]") and (is_new or is_removed)
    return (parent if is_member else "", is_new)


def result_text(reconcile: Reconcile) -> str:
    """The result, how long it took, and where it failed."""
    text = reconcile.result if reconcile.error is None else f"{reconcile.result}: {reconcile.error}"
    took = f" in {duration_text(reconcile.seconds)}" if reconcile.result != "running" else ""
    waited = f", after {duration_text(reconcile.waited)} on the queue" if reconcile.waited >= 0.001 else ""
    where = f" at {reconcile.place}" if reconcile.place else ""
    return f"{text}{where}{took}{waited}"


def duration_text(seconds: float, digits: int = 3) -> str:
    """`1.2 ms`, `3.4 s` or `59m`."""
    if seconds >= _LONG:
        return times.rounded(seconds)
    number, unit = (seconds, "s") if seconds >= 1 else (seconds * 1000, "ms")
    return f"{number:.0f} {unit}" if number >= 100 else f"{number:.{digits}g} {unit}"
