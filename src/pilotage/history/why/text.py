"""Answers as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.history.differences import shown
from pilotage.history.fieldmanagers import FieldWriter
from pilotage.history.fieldpaths import segments
from pilotage.history.stories import Cause
from pilotage.history.text import Line, cause_text, changes_text, reconcile_lines
from pilotage.history.why.answer import Answer
from pilotage.history.why.provenance import Link, Provenance, changes_of
from pilotage.meta.text.counts import counted

_MOST_CAUSES = 5
"""Causes of a link that are shown."""


def answer_lines(answer: Answer) -> Iterator[Line]:
    """The stories, then what holds up the next reconcile; or where a field comes from."""
    title = f"{answer.kind} {answer.namespace}/{answer.name}" if answer.namespace else f"{answer.kind} {answer.name}"
    if answer.field is not None:
        yield from _field_lines(title, answer.field)
        return
    more = answer.total - len(answer.reconciles)
    if more > 0:
        yield Line("", f"({counted(more, 'earlier reconcile')}: --limit {answer.total} prints all)")
    if answer.are_of_others:
        yield Line("", f"Reconciles that {title} caused, or that wrote it:")
    for reconcile in answer.reconciles:
        yield from reconcile_lines(reconcile, names_clients=True)
        yield Line("", "")
    if answer.reasons:
        yield Line("", title)
        for number, reason in enumerate(answer.reasons):
            yield Line("and" if number else "now", reason.text)
    elif not answer.reconciles:
        yield Line("", f"No reconciles of {title} are recorded.")


def _field_lines(title: str, field: Provenance) -> Iterator[Line]:
    value = " does not exist now" if field.exists is False else f" is {shown(field.value)}" if field.exists else ""
    yield Line("", f"{title}: {field.path}{value}")
    for link in field.chain:
        yield Line("wrote", _link_text(link, field.path if link is field.chain[0] else ""))
        causes = link.causes[:_MOST_CAUSES]
        for number, cause in enumerate(causes):
            yield Line("and" if number else "because", cause_text(cause, names_client=True))
        if not causes:
            yield Line("because", "the program put it on the queue")
    if not field.chain and field.origin is not None:
        yield Line("wrote", _origin_text(field.origin, field.path))
    if field.writer is not None:
        yield Line("wrote", _writer_text(field.writer))
    others = [each for each in field.owners if each is not field.owners[0]]
    if field.writer is not None and others:
        yield Line("and", f"also owned by {', '.join(_name(each) for each in others)}")
    if field.note:
        yield Line("and", field.note)


def _link_text(link: Link, path: str) -> str:
    write = link.write
    chosen = changes_of(write.changes, segments(path)) if path else list(write.changes)
    what = f": {changes_text(tuple(chosen), values_alone=write.verb == 'create')}" if chosen else ""
    by = f"by reconcile #{link.reconcile} of {link.controller} {link.key} at {link.began:%H:%M:%S}"
    return f"{by}: {write.verb} {write.title}{what}"


def _origin_text(cause: Cause, path: str) -> str:
    by = f" (field manager {cause.manager})" if cause.manager else ""
    changes = changes_text(tuple(changes_of(cause.changes, segments(path))))
    return f"by another client{by}, not by a reconcile, at {cause.at:%H:%M:%S}: {changes}"


def _writer_text(writer: FieldWriter) -> str:
    at = f" at {writer.at:%Y-%m-%d %H:%M:%S} UTC" if writer.at is not None else ""
    return (
        f"by the field manager {_name(writer)}{at}, as metadata.managedFields has it; not by a reconcile of the history"
    )


def _name(writer: FieldWriter) -> str:
    how = ", ".join(part for part in (writer.operation, writer.subresource) if part)
    return f"{writer.name} ({how})" if how else writer.name
