"""Patches: documents to send, or differences between an object before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from pilotage.errors import BadRequest, InvalidDefinition, StatusDetails
from pilotage.meta import objects
from pilotage.meta.documents import Document
from pilotage.meta.forms import Object
from pilotage.meta.models import Resource
from pilotage.meta.scalars.hooks import ENCODE_ERRORS
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
    BadRequest for a value that JSON does not have.
    """
    if isinstance(data, bytes | str):
        given = data if isinstance(data, bytes) else data.encode()
        return Patch(type, lambda _: given)
    try:
        body = msgspec.json.encode(data)
    except ENCODE_ERRORS:
        _refuse_unwritable(data)
        raise
    if b"null" in body:  # what the encoder writes for NaN and infinity
        _refuse_unwritable(data)
    return Patch(type, lambda _: body, data)


def _refuse_unwritable(data: Mapping[str, Any] | Sequence[Any]) -> None:
    from pilotage.meta.scalars.unwritable import unwritable  # few programs need it

    if causes := tuple(unwritable(data)):
        reasons = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
        raise BadRequest(f"cannot patch: {reasons}", details=StatusDetails(causes=causes))


def applied(obj: Resource | Unstructured) -> bytes:
    """The body of a server-side apply of an object."""
    return msgspec.json.encode(own_document(obj))


def own_document(obj: Object) -> Document:
    """The object as a document of the caller's own, with the fields that its class does not know, but without managed
    fields: they are not compared, and refused in what is applied."""
    return _without(objects.read(objects.updated(obj)), "managedFields")


def merge_from(before: Object, *, optimistic_lock: bool = False) -> Patch:
    """A merge patch with what has changed in the patched object since `before`, whose current state is remembered.

        patch = merge_from(database)
        database.spec.replicas = 3
        await client.patch(database, patch)

    A merge patch replaces lists whole. With `optimistic_lock` it fails with Conflict if the object was
    written in the meantime.
    """
    from pilotage.meta.patches import merge_diff

    return _difference(PatchType.MERGE, before, merge_diff, optimistic_lock)


def strategic_merge_from(before: Resource, *, optimistic_lock: bool = False) -> Patch:
    """The same as a strategic merge patch, which merges lists by their keys. Only built-in kinds understand it.

    `optimistic_lock` has the same meaning as for `merge_from`.
    """
    if not before.__resource__.builtin:
        raise InvalidDefinition(
            f"{before.kind} is not a built-in kind, and no other kind has strategic merge patches: use merge_from"
        )
    from pilotage.meta.patches import strategic_diff

    diff = partial(strategic_diff, schema=type(before))
    return _difference(PatchType.STRATEGIC, before, diff, optimistic_lock)


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


def _difference(
    type: PatchType,  # noqa: A002
    before: Object,
    diff: Callable[[Document, Document], Document],
    optimistic_lock: bool,
) -> Patch:
    """A patch with the difference between `before`, as it is now, and the object that is patched."""
    now, version, read_from = objects.updated(before), before.metadata.resource_version, objects.origin_of(before)

    def data(after: Object | None) -> bytes:
        if after is None:
            raise InvalidDefinition("merge_from needs the changed object, not only its name")
        # Both as whole documents, with the fields that no class knows in both or in neither.
        later = objects.updated(after, objects.origin_of(after) or read_from)
        # A version in a patch would be a precondition, and managed fields belong to the server.
        old, new = (_without(objects.read(data), "resourceVersion", "managedFields") for data in (now, later))
        patch = diff(old, new)
        if optimistic_lock and version:
            patch = patch | {"metadata": patch.get("metadata", {}) | {"resourceVersion": version}}
        return msgspec.json.encode(patch)

    return Patch(type, data)


def _without(document: Document, *names: str) -> Document:
    """The document without these fields of its metadata, in place."""
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        for name in names:
            metadata.pop(name, None)
    return document
