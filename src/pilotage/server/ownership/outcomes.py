"""Managed fields after an update, by the ones before it and its changes: most updates of a kind are one of few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.fields import elements, sets
from pilotage.meta.fields import managers as managing
from pilotage.meta.fields.compare import FieldChanges
from pilotage.meta.fields.managers import FieldManager, Managers, Owned
from pilotage.meta.fields.sets import FieldSet
from pilotage.meta.fields.tracking import NEVER_OWNED, FieldWriter

_MOST = 64
_MOST_BYTES = 16 * 1024
"""The maximum size of the sets of an update whose outcome is remembered."""
_encode = msgspec.json.Encoder().encode


class Ownership(NamedTuple):
    """What a manager owns after an update."""

    manager: FieldManager
    fields: FieldSet | None
    """In Kubernetes' order; None: as before."""
    is_written: bool
    """Whether the entry has the time of the update."""


Outcome: TypeAlias = list[Ownership]
Outcomes: TypeAlias = "dict[bytes, Outcome]"
"""The outcomes of the last few updates, by their keys."""


def key_of(managers: Managers, changes: FieldChanges, writer: FieldWriter) -> bytes | None:
    """All that decides about an outcome; None where it depends on more: on other versions, or on the times of so many
    entries that the oldest are merged."""
    if len(managers) >= managing.MAX_UPDATE_MANAGERS:
        return None
    if any(owned.api_version != writer.api_version for owned in managers.values()):
        return None
    before = [(manager, owned.fields) for manager, owned in managers.items()]
    key = _encode((before, changes, writer.manager))
    return key if len(key) <= _MOST_BYTES else None


def outcome_of(
    before: Managers, after: Mapping[FieldManager, Owned], changes: FieldChanges, writer: FieldWriter
) -> Outcome:
    """What is the same of all updates with one key."""
    is_written = bool(sets.difference(changes.written, NEVER_OWNED))
    return [
        Ownership(
            manager,
            elements.ordered(owned.fields) if _is_new(owned, before.get(manager)) else None,
            is_written and manager == writer.manager,
        )
        for manager, owned in after.items()
    ]


def _is_new(owned: Owned, before: Owned | None) -> bool:
    return before is None or owned.fields is not before.fields


def remember(outcomes: Outcomes, key: bytes, outcome: Outcome) -> None:
    if len(outcomes) >= _MOST:
        outcomes.clear()
    outcomes[key] = outcome


def entries_of(outcome: Outcome, before: Managers, writer: FieldWriter) -> list[Document]:
    """The entries after an update with this outcome."""
    return managing.in_order([_entry(each, before.get(each.manager), writer) for each in outcome])


def _entry(found: Ownership, before: Owned | None, writer: FieldWriter) -> Document:
    time = writer.time if found.is_written or before is None else before.time
    if found.fields is None and before is not None:
        return managing.entry(found.manager, before._replace(time=time))
    return managing.entry(found.manager, Owned(found.fields or {}, writer.api_version, time), in_order=True)
