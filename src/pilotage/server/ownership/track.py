"""Managed fields after a create, an update or a patch."""

from __future__ import annotations

from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.fields import managers as managing
from pilotage.meta.fields import tracking
from pilotage.meta.fields.compare import Changes
from pilotage.meta.fields.managers import Manager, Managers
from pilotage.meta.fields.tracking import Writer
from pilotage.rest.request import Request
from pilotage.server.ownership import kinds
from pilotage.server.resources import ResourceInfo
from pilotage.storage.transaction import MAX_VALUE_BYTES

MANAGED_FIELDS = "managedFields"


def track_create(info: ResourceInfo, request: Request, document: Document, *, now: str) -> None:
    """Set the managed fields of a new object, in place: the writer owns what it has."""
    metadata = document["metadata"]
    given = metadata.pop(MANAGED_FIELDS, None)
    if not info.strategy.managed_fields or len(request.body) > MAX_VALUE_BYTES:  # there would be no room for them
        return
    write = _Write(info, request, kinds.empty_object(info), document, now)
    if entries := write.entries(_given(given, {}) if given else {}):
        metadata[MANAGED_FIELDS] = entries


def track_update(info: ResourceInfo, request: Request, document: Document, old: Document, *, now: str) -> None:
    """Set the managed fields of the next state of an object, in place: the writer owns what it changes.

    A write may set them itself, or reset them, except through a subresource. An object without any is not tracked.
    """
    metadata, before = document["metadata"], old["metadata"].get(MANAGED_FIELDS, [])
    given, entries = metadata.get(MANAGED_FIELDS), before
    write = _Write(info, request, old, document, now)
    if given is not None and given != before and not request.subresource:
        live = managing.read(before, trusted=True)
        managers = {} if managing.is_reset(given) else _given(given, live)
        entries = write.entries(managers) if managers else []
    elif before:
        entries = write.renewed(before) or write.entries(managing.read(before, trusted=True))
    if entries:
        metadata[MANAGED_FIELDS] = entries
    else:
        metadata.pop(MANAGED_FIELDS, None)


def update_manager(info: ResourceInfo, request: Request, name: str = "") -> Manager:
    """The manager of a request that is not an apply: named by the request, or by its user agent."""
    chosen = name or request.write.field_manager or managing.name_of_user_agent(request.user_agent)
    return Manager.of(chosen, managing.UPDATE, info.gvk.api_version, request.subresource)


def written_at(request: Request, now: str) -> str:
    """The time of an entry. Those of a scale have none, because a Scale is tracked as an object of its own."""
    return "" if request.subresource == "scale" else now


def _given(entries: Any, otherwise: Managers) -> Managers:
    """The managers that a writer sets itself; `otherwise` where it sets none, or malformed ones."""
    try:
        return managing.read(entries) or otherwise
    except ValueError:
        return otherwise


class _Write:
    """A write that is not an apply: the object before and after it, and who writes."""

    def __init__(self, info: ResourceInfo, request: Request, old: Document, new: Document, now: str) -> None:
        self._old = old
        self._new = new
        self._versions = kinds.versions_of(info, request.subresource)
        self._writer = Writer(update_manager(info, request), info.gvk.api_version, written_at(request, now))
        self._compared: dict[str, Changes | None] = {}

    def renewed(self, entries: list[Document]) -> list[Document] | None:
        """The entries where ownership stays as it is; None where it does not."""
        changes = self._changes(self._writer.api_version)
        assert changes is not None, "the version of a write exists"
        return managing.renewed(entries, self._writer.manager, changes, self._writer.time)

    def entries(self, managers: Managers) -> list[Document]:
        """The entries after the write."""
        return managing.write(tracking.updated(managers, self._changes, self._writer))

    def _changes(self, version: str) -> Changes | None:
        if version not in self._compared:
            self._compared[version] = self._versions.changes(self._old, self._new, version)
        return self._compared[version]


def only_times_differ(entries: list[Document], others: list[Document]) -> bool:
    """Whether two lists of entries are the same but for their times."""
    return len(entries) == len(others) and all(
        one is other or {**one, "time": ""} == {**other, "time": ""} for one, other in zip(entries, others, strict=True)
    )
