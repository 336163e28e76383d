"""Managed fields: which manager owns which fields of an object, as `metadata.managedFields` has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pilotage.meta import causes
from pilotage.meta.documents import Document
from pilotage.meta.fields import elements, sets
from pilotage.meta.fields.compare import FieldChanges
from pilotage.meta.fields.sets import FieldSet

APPLY = "Apply"
UPDATE = "Update"
ANCIENT = "ancient-changes"
"""The manager of the updates that were merged to keep the list short."""
BEFORE_FIRST_APPLY = "before-first-apply"
"""The manager of everything that an object without managed fields has when it is first applied to."""
UNKNOWN = "unknown"
"""The manager of a write that names none."""
MAX_UPDATE_MANAGERS = 10
MAX_NAME_BYTES = 128


class FieldManager(NamedTuple):
    """What identifies a manager. An apply is the same manager at every version."""

    name: str
    operation: str
    api_version: str
    subresource: str

    @classmethod
    def of(cls, name: str, operation: str, api_version: str, subresource: str = "") -> FieldManager:
        return cls(name or UNKNOWN, operation, "" if operation == APPLY else api_version, subresource)

    @property
    def rank(self) -> str:
        """The key that Kubernetes sorts managers by, where it does not sort their entries: the manager as JSON."""
        named = {"manager": self.name, "operation": self.operation, "apiVersion": self.api_version}
        return causes.json_shown(
            {key: value for key, value in (named | {"subresource": self.subresource}).items() if value}
        )


class Owned(NamedTuple):
    """What one manager owns, in the field names of one version, and when it last changed something."""

    fields: FieldSet
    api_version: str
    time: str = ""
    entry: Document | None = None
    """The entry that this was read from."""


Managers = Mapping[FieldManager, Owned]
DAMAGE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""The errors of code that uses entries that no server has written."""


def read(entries: Any, *, trusted: bool = False) -> dict[FieldManager, Owned]:
    """The managers in a list of entries. ValueError if one of them is malformed: then all of them are ignored. The sets
    of `trusted` entries, which the server wrote, are not checked.
    """
    found: dict[FieldManager, Owned] = {}
    for entry in entries or ():
        operation, api_version = entry.get("operation", ""), entry.get("apiVersion", "")
        if operation not in (APPLY, UPDATE):
            raise ValueError("operation must be `Apply` or `Update`")
        if not api_version:
            raise ValueError("apiVersion must not be empty")
        if entry.get("fieldsType", "") != "FieldsV1":
            raise ValueError(f"invalid fieldsType {entry.get('fieldsType', '')!r}")
        manager = FieldManager(
            entry.get("manager", ""), operation, "" if operation == APPLY else api_version, entry.get("subresource", "")
        )
        fields = entry.get("fieldsV1") or {}
        if not trusted:
            fields = elements.normalized(fields)
            fields.pop(sets.SELF, None)  # the whole object has no owner
        found[manager] = Owned(fields, api_version, entry.get("time") or "", entry if trusted else None)
    return found


def is_damaged(entries: Any) -> bool:
    """Whether stored entries were changed by something else than a server."""
    try:
        read(entries)
    except DAMAGE:
        return True
    return False


def write(managers: Managers) -> list[Document]:
    """The entries of managers: entries of applies first, then by time and name."""
    return in_order([entry(manager, owned) for manager, owned in managers.items()])


def in_order(entries: list[Document]) -> list[Document]:
    """The entries in Kubernetes' order."""
    return sorted(entries, key=_rank) if len(entries) > 1 else entries


def _rank(entry: Document) -> tuple[str, ...]:
    get = entry.get
    return entry["operation"], get("time", ""), get("manager", ""), entry["apiVersion"], get("subresource", "")


def entry(manager: FieldManager, owned: Owned, *, in_order: bool = False) -> Document:
    """The entry of one manager. Its fields are sorted in Kubernetes' order, unless they are `in_order`."""
    before = owned.entry
    if before is not None and before.get("fieldsV1") is owned.fields:  # most entries stay as they are
        return before if before.get("time", "") == owned.time else before | {"time": owned.time}
    found: Document = {"manager": manager.name} if manager.name else {}
    found["operation"], found["apiVersion"] = manager.operation, owned.api_version
    if owned.time:
        found["time"] = owned.time
    found["fieldsType"] = "FieldsV1"
    found["fieldsV1"] = owned.fields if in_order else elements.ordered(owned.fields)
    if manager.subresource:
        found["subresource"] = manager.subresource
    return found


def renewed(entries: list[Document], manager: FieldManager, changes: FieldChanges, time: str) -> list[Document] | None:
    """The entries after a write that changes only fields that its manager owns alone, as most writes do: only the time
    changes.

    None if ownership changes, or if that must be checked in full: a set at another version, a field of another manager.
    """
    name, operation, version, subresource = manager
    removed, written = changes
    own = -1
    for index, entry in enumerate(entries):
        fields = entry["fieldsV1"]
        if entry["apiVersion"] != version or (removed and sets.intersects(fields, removed)):
            return None
        mine = entry.get("manager", "") == name and entry["operation"] == operation
        if mine and entry.get("subresource", "") == subresource:
            own = index
            if not sets.includes(fields, written):
                return None
        elif sets.intersects(fields, written):
            return None
    if own < 0 or not written:
        return None if written else entries
    if entries[own].get("time", "") == time:
        return entries
    entry = entries[own] | {"time": time}
    return in_order([*entries[:own], entry, *entries[own + 1 :]])


def is_reset(entries: Any) -> bool:
    """Whether entries that a writer sent request the removal of all managers: an empty list, or one empty entry."""
    return entries is not None and (not entries or entries == [{}])


def capped(managers: dict[FieldManager, Owned]) -> dict[FieldManager, Owned]:
    """The managers with the oldest updates of a version merged, so that there are at most MAX_UPDATE_MANAGERS."""
    updates = [manager for manager in managers if manager.operation == UPDATE]
    excess = len(updates) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return managers
    result = dict(managers)
    first: dict[str, FieldManager] = {}
    for manager in sorted(updates, key=lambda each: (managers[each].time, each.rank)):
        owned = managers[manager]
        bucket = FieldManager(ANCIENT, UPDATE, owned.api_version, "")
        before = first.setdefault(owned.api_version, manager)
        if before is manager:
            continue
        if bucket not in result:
            result[bucket] = result.pop(before)._replace(entry=None)
        merged = sets.union(owned.fields, result[bucket].fields)
        if manager != bucket:
            del result[manager]
        result[bucket] = owned._replace(fields=merged, entry=None)
        excess -= 1
        if not excess:
            break
    return result


@lru_cache(maxsize=128)
def name_of_user_agent(user_agent: str) -> str:
    """The manager of a request that names none: the program's name, of printable characters, 128 bytes at most."""
    name = "".join(character for character in user_agent.partition("/")[0] if character.isprintable())
    return name.encode()[:MAX_NAME_BYTES].decode(errors="ignore")


def union_of(managers: Iterable[Owned]) -> FieldSet:
    """The fields that any of the managers owns."""
    result: FieldSet = {}
    for owned in managers:
        result = sets.union(result, owned.fields)
    return result
