"""The answer of `pilotage why`: the stories of one object, why it is not reconciled now, and who wrote a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from pilotage.history.fieldmanagers import owners
from pilotage.history.fieldpaths import segments, value_at
from pilotage.history.stories import Reconcile
from pilotage.history.why.bounds import bounded
from pilotage.history.why.provenance import Find, Provenance, Target, provenance
from pilotage.history.why.reasons import Reason, reasons
from pilotage.history.why.situation import Situation
from pilotage.meta.kinds import GroupKind
from pilotage.meta.values import Value

DEFAULT_LIMIT = 10
MOST = 1000
"""Reconciles of one answer."""
_MOST_SEARCHED = 2000
"""Reconciles in which the writes of a field are searched, the latest first."""


class Question(Value, frozen=True):
    """What is asked about an object."""

    target: Target
    limit: int = DEFAULT_LIMIT
    field: str = ""
    """The path of a field: who wrote it?"""


class Answer(Value, frozen=True, omit_defaults=True, kw_only=True):
    """What is known of one object."""

    kind: str
    group: str = ""
    namespace: str = ""
    name: str
    reconciles: tuple[Reconcile, ...] = ()
    """The last ones, the oldest first: reconciles of the object; if its kind is not reconciled, reconciles that it
    caused or that wrote it."""
    total: int = 0
    """How many there are in the history."""
    are_of_others: bool = False
    """Whether the reconciles are reconciles of other objects."""
    reasons: tuple[Reason, ...] = ()
    """What holds up the next reconcile, or that nothing does. None where no running program was asked."""
    field: Provenance | None = None


def answer(
    question: Question,
    stories: Sequence[Reconcile],
    *,
    find: Find | None = None,
    situation: Situation | None = None,
    document: Mapping[str, Any] | None = None,
) -> Answer:
    """The answer to a question.

    `stories` are reconciles, the oldest first, of which the object's reconciles are selected: all of a recording or of
    the last commands of a tool, or what a history has about the object. `find` returns a reconcile by its number; by
    default it searches the stories. `situation` is the state of a running program, and `document` the object as it is
    now, without secrets.
    """
    target = question.target
    if question.field:
        return _named(target, field=_provenance(question, stories, find, document))
    own = [index for index, story in enumerate(stories) if _is_own(target, story)]
    found = own or [index for index, story in enumerate(stories) if concerns(target, story)]
    return _named(
        target,
        reconciles=bounded([stories[index] for index in found[-min(question.limit, MOST) :]] if question.limit else []),
        total=len(found),
        are_of_others=not own and bool(found),
        reasons=reasons(situation) if situation is not None else (),
    )


def concerns(target: Target, story: Reconcile) -> bool:
    """Whether a reconcile is one of an object, was caused by it, or wrote it."""
    return _is_own(target, story) or any(map(target.is_of, (*story.causes, *story.writes)))


def _is_own(target: Target, story: Reconcile) -> bool:
    kind = story.kind
    return (
        story.name == target.name
        and story.namespace == target.namespace
        and GroupKind(kind.group, kind.kind) == target.kind
    )


def _provenance(
    question: Question, stories: Sequence[Reconcile], find: Find | None, document: Mapping[str, Any] | None
) -> Provenance:
    recent = stories[-_MOST_SEARCHED:]
    owned = owners(document, question.field) if document is not None else ()
    found = provenance(
        question.target, question.field, recent, find or (lambda number: by_number(stories, number)), owned
    )
    value = value_at(document, segments(question.field)) if document is not None else UNSET
    exists = None if document is None else value is not UNSET
    note = "" if exists is False and not found.chain else found.note
    return msgspec.structs.replace(found, value=value, exists=exists, note=note)


def by_number(stories: Sequence[Reconcile], number: int) -> Reconcile | None:
    """The reconcile with a number, in a sequence in which the numbers rise. Only a few of the stories are read."""
    low, high = 0, len(stories)
    while low < high:
        middle = (low + high) // 2
        found = stories[middle]
        if found.number == number:
            return found
        low, high = (middle + 1, high) if found.number < number else (low, middle)
    return None


def _named(target: Target, **parts: Any) -> Answer:
    return Answer(kind=target.kind.kind, group=target.kind.group, namespace=target.namespace, name=target.name, **parts)
