"""Server-side apply to one object: its next state, with its managed fields."""

from __future__ import annotations

from pilotage.errors import Cause, Conflict, DecodeError, InternalError, Status, StatusDetails
from pilotage.meta.causes import json_shown
from pilotage.meta.documents import Document, copied
from pilotage.meta.fields import applying, content, elements, sets, typecheck
from pilotage.meta.fields import managers as managing
from pilotage.meta.fields.applying import ApplyResult, ConflictsError, Steps, UnconvertibleError
from pilotage.meta.fields.compare import changes
from pilotage.meta.fields.managers import FieldManager, Owned
from pilotage.meta.fields.sets import FieldSet
from pilotage.meta.fields.tracking import FieldWriter, updated
from pilotage.meta.redaction import LAST_APPLIED
from pilotage.meta.text import jsontext
from pilotage.meta.validation.objectmeta import MAX_ANNOTATIONS
from pilotage.rest.request import APIRequest
from pilotage.server.ownership import configuration, kinds
from pilotage.server.ownership.kinds import ByWebhook
from pilotage.server.ownership.track import replicas_owned, written_at
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.scaling import SCALE

KUBECTL = "kubectl"
"""The manager that may take over what kubectl's client-side apply has set, which an annotation records."""


def applied(
    info: ResourceInfo,
    request: APIRequest,
    live: Document,
    config: Document,
    now: str,
    by_webhook: ByWebhook | None = None,
) -> Steps[tuple[Document, bool]]:
    """The live object after an apply, with its managed fields, and whether anything other than managed fields changes.
    The result may share parts with the live document.

    Raises Conflict if other managers own what would change, unless the request forces it.
    """
    configuration.check_kind(info, config)
    application = _Application(info, request, live, copied(config), now, by_webhook)
    application.check_unmanaged()
    configuration.check_types(info, config)
    try:
        outcome = yield from application.run(force=bool(request.write.force))
    except ConflictsError as error:
        raise _conflict(error, request) from None
    except UnconvertibleError as error:
        raise InternalError(status=Status(500, "", str(error))) from None
    except managing.DAMAGE:
        if not managing.is_damaged(live["metadata"].get("managedFields")):
            raise
        metadata = {key: value for key, value in live["metadata"].items() if key != "managedFields"}
        return (yield from applied(info, request, live | {"metadata": metadata}, config, now, by_webhook))
    document = outcome.document
    metadata = document["metadata"] = dict(document.get("metadata") or {})
    if request.write.field_manager == KUBECTL:
        _renew_last_applied(metadata, config)
    metadata.pop("managedFields", None)
    if outcome.managers:
        metadata["managedFields"] = managing.write(outcome.managers)
    return document, outcome.changed


class _Application:
    """One apply: the live object, the configuration and its manager."""

    def __init__(
        self,
        info: ResourceInfo,
        request: APIRequest,
        live: Document,
        config: Document,
        now: str,
        by_webhook: ByWebhook | None,
    ) -> None:
        self._info = info
        self._live = live
        self._config = config
        self._versions = kinds.versions_of(info, request.subresource, by_webhook)
        version = info.gvk.api_version
        manager = FieldManager.of(request.write.field_manager, managing.APPLY, version, request.subresource)
        self._writer = FieldWriter(manager, version, written_at(request, now))

    def check_unmanaged(self) -> None:
        """Raises a 500 for a live object without managed fields that is not of this version's type."""
        if not self._live.get("metadata", {}).get("managedFields"):
            failed = "failed to create manager for existing fields: failed to convert new object ({}) to smd typed"
            self._check_live(failed)

    def run(self, *, force: bool) -> Steps[ApplyResult]:
        managers = self._managers()
        self._check_live("failed to create typed live object ({})")
        try:
            return (yield from self._applied(managers, force=force))
        except ConflictsError as error:
            allowed = self._last_applied() if self._writer.manager.name == KUBECTL else None
            if allowed is None:
                raise
            if left := applying.conflicts_outside(error.conflicts, allowed):
                raise ConflictsError(left) from None
        return (yield from self._applied(managers, force=True))

    def _check_live(self, failed: str) -> None:
        """A live object that was written in another version may not have the types of this one. Raises a 500."""
        if not self._info.custom or len(self._info.versions) < 2:
            return
        if problem := typecheck.problem(kinds.type_of(self._info), self._live, duplicates=True):
            message = f"{failed.format(configuration.subject(self._live))}: {problem}"
            raise InternalError(status=Status(500, "", message))

    def _applied(self, managers: dict[FieldManager, Owned], *, force: bool) -> Steps[ApplyResult]:
        return applying.apply(self._live, self._config, managers, self._writer, self._versions, force=force)

    def _managers(self) -> dict[FieldManager, Owned]:
        """The managers of the live object. The fields of an object without managed fields belong to the manager
        `before-first-apply`."""
        entries = self._live.get("metadata", {}).get("managedFields") or []
        version, subresource = self._writer.api_version, self._writer.manager.subresource
        before = FieldManager.of(managing.BEFORE_FIRST_APPLY, managing.UPDATE, version, subresource)
        scale = self._info.rules.scale if subresource == "scale" and not self._info.custom else None
        if scale is not None and not replicas_owned(self._info, entries):  # a Scale has the entries about its replicas
            replicas = sets.from_paths([tuple(f"f:{name}" for name in scale.replicas)])
            return managing.read(entries, trusted=True) | {before: Owned(replicas, version)}
        if entries:
            return managing.read(entries, trusted=True)
        empty = kinds.empty_object(self._info)
        return updated(
            {},
            lambda at: self._versions.changes(empty, self._live, at),
            FieldWriter(before, version, self._writer.time),
        )

    def _last_applied(self) -> FieldSet | None:
        """The fields that kubectl's client-side apply has set and no write has changed since; None without a record."""
        text = self._live.get("metadata", {}).get("annotations", {}).get(LAST_APPLIED)
        if not text:
            return None
        try:
            last = jsontext.read(text.encode())
        except DecodeError:
            return None
        if not isinstance(last, dict) or last.get("apiVersion") != self._writer.api_version:
            return None
        field_type = kinds.type_of(self._info)
        if typecheck.problem(field_type, last):
            return None
        since = changes(field_type, last, self._live)
        return sets.difference(sets.difference(content.fields_of(field_type, last), since.written), since.removed)


def _conflict(error: ConflictsError, request: APIRequest) -> Conflict:
    if request.subresource == "scale":
        error = ConflictsError([_of_scale(conflict) for conflict in error.conflicts])
    causes = tuple(
        Cause("FieldManagerConflict", f"conflict with {conflict.owner}", elements.shown(conflict.path))
        for conflict in error.conflicts
    )
    return Conflict(str(error), details=StatusDetails(causes=causes))


def _of_scale(conflict: applying.FieldConflict) -> applying.FieldConflict:
    """A conflict about the replicas of an object as one about the replicas of its Scale, which is what was applied."""
    version = SCALE.api_version if conflict.manager.api_version else ""
    return conflict._replace(manager=conflict.manager._replace(api_version=version), path=("f:spec", "f:replicas"))


def _renew_last_applied(metadata: Document, config: Document) -> None:
    """Keep the record of kubectl's client-side apply up to date, in place, where there is one."""
    annotations = metadata.get("annotations") or {}
    if not annotations.get(LAST_APPLIED):
        return
    recorded = copied(config)
    recorded.setdefault("metadata", {}).get("annotations", {}).pop(LAST_APPLIED, None)
    text = json_shown(recorded, order="sorted") + "\n"
    annotations = annotations | {LAST_APPLIED: text}
    if sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items()) > MAX_ANNOTATIONS:
        del annotations[LAST_APPLIED]
    metadata["annotations"] = annotations
