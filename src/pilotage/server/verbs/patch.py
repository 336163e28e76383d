"""Patches of every kind as functions from an object to its next state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pilotage.errors import (
    BadRequest,
    DecodeError,
    Invalid,
    PatchError,
    PatchTooLarge,
    RequestTooLarge,
    StatusDetails,
    UnsupportedMediaType,
)
from pilotage.meta import jsontext, limits
from pilotage.meta.causes import forbidden, invalid_error
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.meta.patches import json_patch, merge, strategic
from pilotage.rest.request import PatchType, Request
from pilotage.server import records
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.bodies import FieldProblems, duplicate_fields
from pilotage.types import builtin

Patch = Callable[[bytes], tuple[Document, FieldProblems]]
"""From the bytes of what is there to what is wanted instead. May be called again, with what is there by then."""


def reader(info: ResourceInfo, request: Request) -> Patch:
    """The patch of a request that is not an apply. Raises ApiError for what is no patch."""
    kind = patch_type(info, request)
    if request.write.force is not None:
        cause = forbidden("force", "may not be specified for non-apply patch")
        raise invalid_error(GroupKind("meta.k8s.io", "PatchOptions"), "", [cause])
    read = [_read(request, kind)]
    duplicate: list[str] = []
    if kind is not PatchType.JSON and request.write.field_validation not in ("", "Ignore"):
        duplicate = duplicate_fields(request.body, read[0])

    def apply(data: bytes) -> tuple[Document, FieldProblems]:
        patch = read.pop() if read else _read(request, kind)  # the result shares with it, and is the caller's own
        try:
            document = _applied(info, kind, patch, records.decode(data))
        except PatchError as error:
            message = f"the server rejected our request due to an error in our request: {error}"
            raise Invalid(message, details=StatusDetails()) from None
        if not isinstance(document, dict):
            raise BadRequest("the patch leaves no object behind")
        return document, FieldProblems(duplicate=list(duplicate))

    return apply


def patch_type(info: ResourceInfo, request: Request) -> PatchType:
    """The kind of patch that a request is. Raises UnsupportedMediaType."""
    accepted = info.strategy.patch_types
    for kind in accepted:
        if request.content_type == kind.value:
            return kind
    if not info.custom:
        raise UnsupportedMediaType("415: Unsupported Media Type", details=StatusDetails())
    names = ", ".join(kind.value for kind in accepted)
    raise UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: {names}"
    )


def _read(request: Request, kind: PatchType) -> Any:
    try:
        patch = jsontext.read(request.body)
    except DecodeError as error:
        raise BadRequest(f"error decoding patch: {error}") from None
    if kind is PatchType.JSON:
        if not isinstance(patch, list):
            raise BadRequest("error decoding patch: a JSON patch is a list of operations")
        if not all(isinstance(operation, dict) for operation in patch):
            raise BadRequest("error decoding patch: an operation of a JSON patch is an object")
        if len(patch) > json_patch.MAX_OPERATIONS:
            bound = f"The allowed maximum operations in a JSON patch is {json_patch.MAX_OPERATIONS}, got {len(patch)}"
            raise RequestTooLarge(f"Request entity too large: {bound}")
    elif not isinstance(patch, dict):
        raise BadRequest("error decoding patch: a merge patch is an object")
    return patch


def _applied(info: ResourceInfo, kind: PatchType, patch: Any, old: Document) -> Any:
    if kind is PatchType.JSON:
        document = json_patch.apply(old, patch)
        try:
            limits.check_depth(document, limits.DEFAULT)  # deep values in deep places: only this kind can nest them
        except DecodeError as error:
            raise PatchTooLarge(str(error)) from None
        return document
    if kind is PatchType.MERGE:
        return merge.apply(old, patch)
    schema = strategic.OpenAPIMergeSchema(info.strategy.merge_schema or builtin.schema(info.gvk), builtin.definition)
    return strategic.apply(old, patch, schema)
