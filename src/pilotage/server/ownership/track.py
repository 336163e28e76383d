"""Managed fields after a create, an update or a patch."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec

from pilotage.meta.documents import Document, same
from pilotage.meta.fields import compare, elements, outlines, sets, tracking, typecheck
from pilotage.meta.fields import managers as managing
from pilotage.meta.fields.applying import Steps, UnconvertibleError, at_once
from pilotage.meta.fields.compare import FieldChanges
from pilotage.meta.fields.managers import FieldManager, Managers, Owned
from pilotage.meta.fields.sets import FieldSet
from pilotage.meta.fields.tracking import FieldWriter
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.paths import value_at
from pilotage.rest.request import APIRequest
from pilotage.server import records
from pilotage.server.ownership import kinds
from pilotage.server.ownership.kinds import ByWebhook
from pilotage.server.resources import ResourceInfo
from pilotage.storage.transaction import MAX_VALUE_BYTES

MANAGED_FIELDS = "managedFields"
_ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
"""The one built-in resource with a list whose items may lack their key."""
_UNOWNED = ("apiVersion", "kind")
MAX_OUTLINED = 16 * 1024
"""The maximum size of a body whose outline is cached."""
_MAX_OUTLINES = 64
"""How many outlines of one resource are remembered."""


def track_create(info: ResourceInfo, request: APIRequest, document: Document, *, now: str) -> None:
    """Set the managed fields of a new object, in place: the writer owns all its fields."""
    at_once(tracked_create(info, request, document, now=now))


def tracked_create(
    info: ResourceInfo, request: APIRequest, document: Document, *, now: str, by_webhook: ByWebhook | None = None
) -> Steps[None]:
    """The same in steps, for a resource with a conversion webhook."""
    metadata = document["metadata"]
    given = metadata.pop(MANAGED_FIELDS, None)
    if not info.rules.managed_fields or len(request.body) > MAX_VALUE_BYTES:  # too large with managed fields
        return
    if _untyped(info, document, {}, request.subresource):
        return
    if given:
        entries = yield from _Write(info, request, kinds.empty_object(info), document, now, by_webhook).entries(
            _given(given, {})
        )
    else:
        ownership, empty = kinds.ownership_of(info, request.subresource), kinds.empty_fields(info)
        if len(request.body) <= MAX_OUTLINED:
            fields = _created(ownership, empty, document).fields
        else:
            fields = _created_fields(ownership, empty, document)
        entries = _new_entries(ownership, request, fields, now)
    if entries:
        metadata[MANAGED_FIELDS] = entries


def encoded_entries(info: ResourceInfo, request: APIRequest, document: Document, now: str) -> msgspec.Raw | None:
    """The managed fields of a new custom resource of one version, as they are stored; None if it has no managed fields.

    They are encoded once for all objects of one outline that one manager creates in one second.
    """
    ownership = kinds.ownership_of(info, "")
    created = _created(ownership, {}, document)
    writer = request.write.field_manager, request.user_agent, now
    last, data = created.last
    if last != writer:
        entries = _new_entries(ownership, request, created.fields, now)
        data = msgspec.Raw(records.to_json(entries)) if entries else None
        created.last = writer, data
    return data


def _new_entries(ownership: kinds.FieldOwnership, request: APIRequest, fields: FieldSet, now: str) -> list[Document]:
    manager = update_manager(ownership.api_version, request)
    return [managing.entry(manager, Owned(fields, ownership.api_version, now), in_order=True)] if fields else []


def _created(ownership: kinds.FieldOwnership, empty: Document, document: Document) -> kinds.CreatedFields:
    """The fields of a new object, found by its outline if one of the last few objects had the same."""
    found_outline = outlines.outline(ownership.field_type, document)
    if found_outline is not None and empty:
        found_outline = found_outline, _likeness(empty, document)
    found = ownership.created.get(found_outline)
    if found is None:
        found = kinds.CreatedFields(_created_fields(ownership, empty, document))
        if found_outline is not None:
            if len(ownership.created) >= _MAX_OUTLINES:
                ownership.created.clear()
            ownership.created[found_outline] = found
            records.share_fields(found.fields)
    return found


def _likeness(empty: Document, document: Document) -> tuple[Hashable, ...]:
    """Which values of a new object are as in an empty one, where the empty one has a value: besides the outline, only
    these decide which fields have an owner."""
    found: list[Hashable] = []
    for name, value in empty.items():
        mine = document.get(name)
        found.append((mine == value, mine.__class__ is value.__class__))
        if value and mine.__class__ is dict is value.__class__:
            found.append(_likeness(value, mine))
    return tuple(found)


def _created_fields(ownership: kinds.FieldOwnership, empty: Document, document: Document) -> FieldSet:
    """The fields of a new object in order, compared part by part: most fields without an owner are skipped before."""
    field_type, ignored = ownership.field_type, ownership.ignored
    written: FieldSet = {}
    for name, value in document.items():
        if name in _UNOWNED:
            continue
        element = f"f:{name}"
        if ignored and ignored.get(element) == sets.MEMBER:
            continue
        if name == "metadata":
            owned = {key: item for key, item in value.items() if key not in tracking.NEVER_OWNED_METADATA}
            if owned:
                written[element] = compare.below(field_type.child(name), owned)
        elif name in empty:
            compare.compare_field(element, field_type.child(name), empty[name], value, FieldChanges({}, written))
        else:
            written[element] = compare.appeared(field_type.child(name), value)
    return elements.ordered(sets.without(written, ignored) if ignored else written)


def track_update(info: ResourceInfo, request: APIRequest, document: Document, old: Document, *, now: str) -> None:
    """Set the managed fields of the next state of an object, in place: the writer owns what it changes. A write may set
    or reset the managed fields itself, except through a subresource. An object without managed fields is not tracked.
    """
    at_once(tracked_update(info, request, document, old, now=now))


def tracked_update(
    info: ResourceInfo,
    request: APIRequest,
    document: Document,
    old: Document,
    *,
    now: str,
    by_webhook: ByWebhook | None = None,
) -> Steps[None]:
    """The same in steps, for a resource with a conversion webhook. An object whose stored entries are damaged loses
    them, as in Kubernetes."""
    try:
        yield from _tracked_update(info, request, document, old, now, by_webhook)
    except managing.DAMAGE:
        if not managing.is_damaged(old["metadata"].get(MANAGED_FIELDS)):
            raise
        document["metadata"].pop(MANAGED_FIELDS, None)


def _tracked_update(
    info: ResourceInfo,
    request: APIRequest,
    document: Document,
    old: Document,
    now: str,
    by_webhook: ByWebhook | None,
) -> Steps[None]:
    metadata, before = document["metadata"], old["metadata"].get(MANAGED_FIELDS, [])
    given = metadata.get(MANAGED_FIELDS)
    if info.custom and not given:  # an empty list in the metadata of a custom resource is lost when it is decoded
        given = None
    sets_them = given is not None and not request.subresource and given != before
    if not before and not sets_them:
        metadata.pop(MANAGED_FIELDS, None)
        return
    if request.subresource != "scale" and _untyped(info, document, old, request.subresource):
        metadata.pop(MANAGED_FIELDS, None)
        return
    if request.subresource == "scale" and not replicas_owned(info, before):
        metadata[MANAGED_FIELDS] = before  # a Scale has the entries about its replicas: without any it is not tracked
        return
    metadata[MANAGED_FIELDS] = before  # the same object in both
    write = _Write(info, request, old, document, now, by_webhook)
    if not sets_them:
        entries = write.renewed(before) or (yield from write.entries(managing.read(before, trusted=True)))
    else:
        live = managing.read(before, trusted=True)
        managers = {} if managing.is_reset(given) else _given(given, live)
        entries = (yield from write.entries(managers)) if managers else []
    if entries:
        metadata[MANAGED_FIELDS] = entries
    else:
        metadata.pop(MANAGED_FIELDS, None)


def _untyped(info: ResourceInfo, document: Document, old: Document, subresource: str) -> bool:
    """Whether an object, or the part of it that the write ignores, is not of its type: items without their key, too.

    That part is not validated, but fields of such an object cannot be determined: Kubernetes drops all managed fields.
    """
    if not info.custom:
        return info.gvr == _ACCOUNTS and any(not each.get("name") for each in document.get("secrets") or ())
    if len(info.versions) > 1:  # it may have been written in another version
        written = (each for each in (old, document) if each)
        if any(typecheck.problem(kinds.type_of(info), each, duplicates=True) for each in written):
            return True
    if "status" not in info.rules.subresources:
        return False
    ignored = "spec" if subresource == "status" else "status"
    value = document.get(ignored)
    if value is None or same(value, old.get(ignored)):
        return False
    return bool(typecheck.problem(kinds.type_of(info).child(ignored), value, duplicates=True))


def replicas_owned(info: ResourceInfo, entries: list[Document]) -> bool:
    """Whether any manager owns the replicas that the scale of an object shows."""
    return any(owns(entry, replicas_path(info, entry)) for entry in entries)


def replicas_path(info: ResourceInfo, entry: Document) -> tuple[str, ...]:
    """Where the replicas are at the version of an entry."""
    at = info.versions.get(entry.get("apiVersion") or "", info)
    return at.rules.scale.replicas if at.rules.scale is not None else ()


def owns(entry: Document, path: tuple[str, ...]) -> bool:
    """Whether the manager of an entry owns a field."""
    return bool(path) and value_at(entry, ("fieldsV1", *(f"f:{name}" for name in path))) is not None


def update_manager(api_version: str, request: APIRequest) -> FieldManager:
    """The manager of a request that is not an apply: named by the request, or by its user agent."""
    name = request.write.field_manager or managing.name_of_user_agent(request.user_agent)
    return FieldManager(name or managing.UNKNOWN, managing.UPDATE, api_version, request.subresource)


def written_at(request: APIRequest, now: str) -> str:
    """The time of an entry. Entries of a scale have no time, because a Scale is tracked as a separate object."""
    return "" if request.subresource == "scale" else now


def _given(entries: Any, otherwise: Managers) -> Managers:
    """The managers that a writer sets itself; `otherwise` where it sets none, or malformed ones."""
    try:
        return managing.read(entries) or otherwise
    except ValueError:
        return otherwise


class _Write:
    """A write that is not an apply: the object before and after it, and its manager."""

    def __init__(
        self,
        info: ResourceInfo,
        request: APIRequest,
        old: Document,
        new: Document,
        now: str,
        by_webhook: ByWebhook | None = None,
    ) -> None:
        self._info = info
        self._request = request
        self._old = old
        self._new = new
        ownership = kinds.ownership_of(info, request.subresource)
        self._versions = kinds.versions_of(info, request.subresource, by_webhook)
        version = ownership.api_version
        self._writer = FieldWriter(update_manager(version, request), version, written_at(request, now))
        self._own = compare.changes(ownership.field_type, old, new, ownership.ignored)
        if request.subresource == "scale" and info.rules.scale is not None:
            self._own = _without_zero(self._own, new, info.rules.scale.replicas)
        self._compared: dict[str, FieldChanges | None] = {version: self._own}

    def renewed(self, entries: list[Document]) -> list[Document] | None:
        """The entries if ownership does not change; None if it does."""
        return managing.renewed(entries, self._writer.manager, self._own, self._writer.time)

    def entries(self, managers: Managers) -> Steps[list[Document]]:
        """The entries after the write; none, as in Kubernetes, where the object does not fit a manager's version. Only
        the replicas matter to a scale, at their path in each version."""
        yield self._versions.needs((self._old, self._new), managers)
        try:
            known = self._versions.reconciled(managers, self._old)
            return managing.write(tracking.updated(known, self._changes, self._writer))
        except UnconvertibleError:
            if self._request.subresource != "scale":
                return []
            return managing.write(tracking.updated(managers, self._scaled, self._writer))

    def _scaled(self, version: str) -> FieldChanges | None:
        at = self._info.versions.get(version)
        if at is None or at.rules.scale is None:
            return None
        replicas = sets.from_paths([tuple(f"f:{name}" for name in at.rules.scale.replicas)])
        return FieldChanges(replicas if self._own.removed else {}, replicas if self._own.written else {})

    def _changes(self, version: str) -> FieldChanges | None:
        if version not in self._compared:
            self._compared[version] = self._versions.changes(self._old, self._new, version)
        return self._compared[version]


def _without_zero(found: FieldChanges, new: Document, path: tuple[str, ...]) -> FieldChanges:
    """The changes of a Scale. Zero replicas are omitted in a Scale, so they have no owner."""
    replicas = sets.from_paths([tuple(f"f:{name}" for name in path)])
    if value_at(new, path) or sets.without(found.written, replicas) == found.written:
        return found
    return FieldChanges(sets.union(found.removed, replicas), sets.without(found.written, replicas))


def only_times_differ(entries: list[Document], others: list[Document]) -> bool:
    """Whether two lists of entries are the same but for their times."""
    return len(entries) == len(others) and all(
        one is other or {**one, "time": ""} == {**other, "time": ""} for one, other in zip(entries, others, strict=True)
    )
