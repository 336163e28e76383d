"""Which records are about an object, without making their stories."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pilotage.errors import DecodeError
from pilotage.history.records import CallNote, EventNote
from pilotage.history.runs import Run
from pilotage.meta import objects
from pilotage.meta.kinds import GroupKind, GroupVersionKind, GroupVersionResource
from pilotage.rest.request import READS

if TYPE_CHECKING:
    from pilotage.history.history import History
    from pilotage.history.stories import Reconcile

_PORTION = 1000
"""Reconciles that are looked at before other tasks run."""

KindOf = Callable[[GroupVersionResource], GroupVersionKind | None]


async def concerning(history: History, kind: GroupKind, name: str, namespace: str = "") -> Sequence[Reconcile]:
    """The reconciles of an object, and those that it caused or that wrote it, the oldest first. Other tasks run
    meanwhile."""
    from pilotage.history.storybuilder import Reconciles

    runs, found = [*history.ring.entries], list[Run]()
    for first in range(0, len(runs), _PORTION):
        portion = runs[first : first + _PORTION]
        found += [run for run in portion if concerns(history.kind_of, run, kind, namespace, name)]
        await asyncio.sleep(0)
    return Reconciles(history.stories, found)


def concerns(kind_of: KindOf, run: Run, kind: GroupKind, namespace: str, name: str) -> bool:
    """Whether a reconcile is one of an object, was caused by it, or wrote it."""
    own = run.controller.kind
    if own is not None and own.group_kind == kind and (run.request.namespace, run.request.name) == (namespace, name):
        return True
    return any(
        isinstance(note, EventNote) and is_about(note, kind, namespace, name) for _, note in run.causes()
    ) or any(isinstance(step, CallNote) and _writes(kind_of, step, kind, namespace, name) for step in run.steps)


def is_about(note: EventNote, kind: GroupKind, namespace: str, name: str) -> bool:
    """Whether an event is one of an object."""
    of = note.origin.kind
    return note.name == name and note.namespace == namespace and (of is None or of.group_kind == kind)


def _writes(kind_of: KindOf, call: CallNote, kind: GroupKind, namespace: str, name: str) -> bool:
    request = call.request
    if request.verb in READS or request.namespace != namespace or (request.name or _name_in(call)) != name:
        return False
    known = kind_of(request.resource)
    return known.group_kind == kind if known is not None else request.resource.group == kind.group


def _name_in(call: CallNote) -> str:
    """The name of an object that was created: only its answer has it."""
    try:
        return objects.header(call.answer).name if isinstance(call.answer, bytes | memoryview) else ""
    except DecodeError:
        return ""
