"""Patches: documents to send, or differences between an object before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from pilotage.errors import BadRequest, InvalidDefinition, StatusDetails
from pilotage.meta import objects
from pilotage.meta.forms import Object
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import Unstructured
from pilotage.meta.values import Value
from pilotage.rest import PatchType


class Patch(Value, frozen=True):
    """A kind of patch, and how its data comes from the object that is patched."""

    type: PatchType
    data: Callable[[Object | None], bytes]
    """Called with the changed object; None if only its name is known."""
    document: Mapping[str, Any] | Sequence[Any] | None = None
    """The document that the caller wrote; None where the data is bytes, text or a difference."""


def raw_patch(type: PatchType, data: bytes | str | Mapping[str, Any] | Sequence[Any]) -> Patch:  # noqa: A002
    """A patch that the caller wrote: a document, or its JSON as bytes or text, which is sent as it is.

    A document is checked for fields under their Python names (`theme_ref` for `themeRef`) before it is sent. Raises
    BadRequest for a number that JSON does not have.
    """
    if isinstance(data, bytes | str):
        given = data if isinstance(data, bytes) else data.encode()
        return Patch(type, lambda _: given)
    body = msgspec.json.encode(data)
    if b"null" in body:  # what the encoder writes for NaN and infinity
        from pilotage.meta.scalars.numbers import not_finite

        if causes := tuple(not_finite(data)):
            reasons = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
            raise BadRequest(f"cannot patch: {reasons}", details=StatusDetails(causes=causes))
    return Patch(type, lambda _: body, data)


def applied(obj: Resource | Unstructured) -> bytes:
    """The body of a server-side apply of an object."""
    document = objects.read(objects.updated(obj))
    document.get("metadata", {}).pop("managedFields", None)  # refused in what is applied
    return msgspec.json.encode(document)


def merge_from(before: Object, *, optimistic_lock: bool = False) -> Patch:
    """A merge patch with what has changed in the patched object since `before`, whose current state is remembered.

        patch = merge_from(database)
        database.spec.replicas = 3
        await client.patch(database, patch)

    A merge patch replaces lists whole. With `optimistic_lock` it fails with Conflict if the object was
    written in the meantime.
    """
    base = _Base.of(before)

    def data(after: Object | None) -> bytes:
        from pilotage.meta.patches import merge_diff

        old, new = base.documents(after)
        return _encoded(merge_diff(old, new), base.version if optimistic_lock else "")

    return Patch(PatchType.MERGE, data)


def strategic_merge_from(before: Resource, *, optimistic_lock: bool = False) -> Patch:
    """The same as a strategic merge patch, which merges lists by their keys. Only built-in kinds understand it.

    `optimistic_lock` is that of `merge_from`.
    """
    if not before.__resource__.builtin:
        raise InvalidDefinition(
            f"{before.kind} is not a built-in kind, and no other kind has strategic merge patches: use merge_from"
        )
    base, model = _Base.of(before), type(before)

    def data(after: Object | None) -> bytes:
        from pilotage.meta.patches import strategic_diff

        old, new = base.documents(after)
        return _encoded(strategic_diff(old, new, model), base.version if optimistic_lock else "")

    return Patch(PatchType.STRATEGIC, data)


def patch_of(patch: Patch | Mapping[str, Any] | Sequence[Any]) -> Patch:
    """A mapping is a merge patch, a list is a JSON patch."""
    if isinstance(patch, Patch):
        return patch
    if isinstance(patch, Mapping):
        return raw_patch(PatchType.MERGE, patch)
    if isinstance(patch, Sequence) and not isinstance(patch, str | bytes):
        return raw_patch(PatchType.JSON, patch)
    raise InvalidDefinition(
        f"{type(patch).__name__} is not a patch: pass a mapping (a merge patch), a list of operations (a JSON patch), "
        "merge_from(before), or raw_patch(type, data)"
    )


class _Base(Value, frozen=True):
    """An object as it was: its bytes with what was changed until then, and the bytes it had been read from."""

    now: bytes
    origin: bytes | None
    version: str

    @classmethod
    def of(cls, obj: Object) -> _Base:
        return cls(objects.updated(obj), objects.origin_of(obj), obj.metadata.resource_version)

    def documents(self, after: Object | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both states as whole documents, with the fields that no class knows in both or in neither."""
        if after is None:
            raise InvalidDefinition("merge_from needs the changed object, not only its name")
        origin = objects.origin_of(after) or self.origin
        return _own(objects.read(self.now)), _own(objects.read(objects.updated(after, origin)))


def _own(document: dict[str, Any]) -> dict[str, Any]:
    """The document without fields that the server sets: a version in a patch would be a precondition, and managed
    fields belong to the server."""
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        for name in ("resourceVersion", "managedFields"):
            metadata.pop(name, None)
    return document


def _encoded(patch: dict[str, Any], version: str) -> bytes:
    if version:
        patch = patch | {"metadata": patch.get("metadata", {}) | {"resourceVersion": version}}
    return msgspec.json.encode(patch)
