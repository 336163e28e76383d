"""Managed fields after a create, an update or a patch: the writer is the only owner of each field that it changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pilotage.meta.fields import managers as managing
from pilotage.meta.fields import sets
from pilotage.meta.fields.compare import FieldChanges
from pilotage.meta.fields.managers import FieldManager, Managers, Owned
from pilotage.meta.fields.sets import FieldSet

NEVER_OWNED: FieldSet = sets.from_paths(
    [
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{name}")
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    ]
)
"""The fields that no manager owns: those that identify the object, and those that the server sets."""

NEVER_OWNED_METADATA = frozenset(element.removeprefix("f:") for element in NEVER_OWNED["f:metadata"])
ChangesAt = Callable[[str], FieldChanges | None]
"""The changes of a write in the field names of a version; None where that version does not exist any more."""


class FieldWriter(NamedTuple):
    """The manager of a write, and its time."""

    manager: FieldManager
    api_version: str
    time: str


def updated(managers: Managers, changes_at: ChangesAt, writer: FieldWriter) -> dict[FieldManager, Owned]:
    """The managers after an update: the writer owns what it changed, and what it removed has no owner."""
    result = released(managers, changes_at, keep=writer.manager)
    own = changes_at(writer.api_version)
    assert own is not None, "the version of a write is always served"
    written = sets.difference(own.written, NEVER_OWNED)
    before = result.get(writer.manager)
    fields = _difference(before.fields, own.removed) if before is not None else {}
    if written:
        result[writer.manager] = Owned(
            fields if sets.includes(fields, written) else sets.union(fields, written),
            writer.api_version,
            writer.time,
            before.entry if before is not None else None,
        )
    elif before is not None and fields:
        result[writer.manager] = before._replace(fields=fields)
    else:
        result.pop(writer.manager, None)
    return managing.capped(result)


def released(managers: Managers, changes_at: ChangesAt, keep: FieldManager) -> dict[FieldManager, Owned]:
    """The managers without the fields that a write of `keep` changed or removed."""
    result: dict[FieldManager, Owned] = {}
    for manager, owned in managers.items():
        if manager == keep:
            result[manager] = owned
            continue
        changes = changes_at(owned.api_version)
        if changes is None:
            continue
        fields = _difference(_difference(owned.fields, changes.written), changes.removed)
        if fields:
            result[manager] = owned if fields is owned.fields else owned._replace(fields=fields)
    return result


def _difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """As `difference`, but returns the same object if nothing is removed: such a set need not be encoded again."""
    return sets.difference(one, other) if sets.intersects(one, other) else one
