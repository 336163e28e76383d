"""The object of a write while webhooks or policies change it."""

from __future__ import annotations

from pilotage.errors import PatchDoesNotApply, PatchError, RequestTooLarge
from pilotage.meta.causes import internal_error
from pilotage.meta.documents import Document, same
from pilotage.meta.fields import managers as managing
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.schema.structural import DefaultsTooLargeError
from pilotage.server.admission import Attributes
from pilotage.server.decoding import bodies
from pilotage.server.decoding.fieldproblems import FieldProblems
from pilotage.server.decoding.refusals import UndecodablePatch
from pilotage.server.matching.criteria import Match
from pilotage.server.matching.requests import Convert, VersionedObjects, wire
from pilotage.server.resources import ResourceInfo
from pilotage.storage.transaction import MAX_VALUE_BYTES

_INVALID_MANAGED_FIELDS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: {}"
)
_OPERATIONS = ("add", "copy", "move", "remove", "replace", "test")
_PATCH = APIRequest(Verb.PATCH, GroupVersionResource("", "v1", ""))
"""The object is decoded like the object of a patch, whose errors have only the reason."""


class Mutation:
    """The object of a write while webhooks or policies change it."""

    def __init__(self, attributes: Attributes, convert: Convert) -> None:
        self.objects = VersionedObjects(attributes, convert)
        self._attributes = attributes
        self._convert = convert
        self._changed = False
        self._managed = ((attributes.new or {}).get("metadata") or {}).get("managedFields")

    async def replace(self, patched: Document, match: Match) -> bool:
        """Replace the object, with defaults. Returns whether that changes anything."""
        before, _ = await self.objects.at(match)
        changed = not same(before, patched)
        self._set(await self._decoded(patched, match))
        return changed

    async def _decoded(self, patched: Document, match: Match) -> Document:
        """A patched object of the version of a match as an object of the request, with its defaults."""
        info = self._attributes.body or match.info
        if not isinstance(patched, dict) or (patched.get("apiVersion"), patched.get("kind")) != (
            info.gvk.api_version,
            info.gvk.kind,
        ):
            raise internal_error(f"a patch of admission has changed the apiVersion or the kind of a {info.gvk.kind}")
        document = _internal(patched, info)
        _default(document, info)
        if match.kind == self._attributes.kind:
            return document
        own = self._attributes.info
        assert own is not None, "verbs set the resource info before admission"
        return _internal(await self._convert(wire(document, info), own), own)

    def _set(self, document: Document) -> None:
        new = self._attributes.new
        assert new is not None, "a patch needs a new object"
        new.clear()
        new.update(document)
        self._changed = True
        self.objects.forget_new()

    def finish(self) -> None:
        """Restore the managed fields if webhooks have made them invalid."""
        attributes = self._attributes
        if not self._changed or attributes.new is None:
            return
        metadata = attributes.new["metadata"]
        try:
            managing.read(metadata.get("managedFields") or [])
        except ValueError as error:
            metadata.pop("managedFields")
            if self._managed:
                metadata["managedFields"] = self._managed
            attributes.warnings.append(_INVALID_MANAGED_FIELDS.format(error))


def go_message(error: PatchError, operations: list[Document]) -> str:
    """Why a patch does not apply, in Go's words for the usual cases."""
    operation = operations[error.operation] if error.operation is not None else {}
    kind, path = operation.get("op"), str(operation.get("path") or "")
    if kind not in _OPERATIONS:
        return f"Unexpected kind: {kind or 'unknown'}"
    if not isinstance(error, PatchDoesNotApply):
        return str(error)
    if kind == "test":
        return f"testing value {path} failed: test failed"
    if kind == "remove" and error.path == path:
        key = path.rpartition("/")[2]
        return f"error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value"
    if error.path != path:
        return f'{kind} operation does not apply: doc is missing path: "{path}": missing value'
    return str(error)


def _internal(document: Document, info: ResourceInfo) -> Document:
    try:
        return bodies.internal(document, info, _PATCH, FieldProblems())
    except UndecodablePatch as error:
        raise internal_error(error.why) from error


def _default(document: Document, info: ResourceInfo) -> None:
    if info.schema is not None:
        try:
            info.schema.default(document, limit=MAX_VALUE_BYTES)
        except DefaultsTooLargeError as error:
            raise RequestTooLarge(f"Request entity too large: {error}") from None
    info.default(document)
