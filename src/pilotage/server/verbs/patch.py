"""Patches of every kind as functions from an object to its next state."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pilotage.errors import (
    ApiError,
    BadRequest,
    DecodeError,
    InternalError,
    Invalid,
    MalformedPatch,
    PatchError,
    PatchTooLarge,
    RequestTooLarge,
    Status,
    StatusDetails,
    UnsupportedMediaType,
)
from pilotage.meta.causes import forbidden, invalid, invalid_error, json_shown
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.meta.models import METADATA_FIELDS
from pilotage.meta.patches import json_patch, merge, strategic
from pilotage.meta.text import gojson, jsontext, limits
from pilotage.meta.text.gotext import go_text
from pilotage.rest.request import APIRequest, PatchType
from pilotage.server.decoding.bodies import sorted_keys
from pilotage.server.decoding.fieldproblems import MAX_UNKNOWN, FieldProblems, duplicate_fields
from pilotage.server.decoding.parts import check_parts
from pilotage.server.decoding.refusals import NO_KIND
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.identity import no_name
from pilotage.server.verbs.restoring import unrestorable
from pilotage.types import builtin

_MAX_SHOWN = 64 * 1024
_PATCH_TYPES = {kind.value: kind for kind in PatchType}
_OPERATION_FIELDS = ("op", "path", "from", "value")
_OPERATION_FIELD = re.compile(r"\[\d+\]\.(?:op|path|from|value)")
Patch = Callable[[Document], tuple[Document, FieldProblems]]
"""Maps the stored object to the patched one, which shares the parts that the patch does not change. May be called again
after a conflict.
"""


def reader(info: ResourceInfo, request: APIRequest) -> Patch:
    """The patch of a request that is not an apply. Raises ApiError for anything else."""
    kind = patch_type(info, request)
    if request.write.force is not None:
        cause = forbidden("force", "may not be specified for non-apply patch")
        raise invalid_error(GroupKind("meta.k8s.io", "PatchOptions"), "", [cause])
    strict = request.write.field_validation != "Ignore"

    def apply(old: Document) -> tuple[Document, FieldProblems]:
        patch = _read(request, kind)  # the result shares with it, and is the caller's own
        problems = _problems(request, patch, kind) if strict else FieldProblems()
        try:
            document = _applied(info, kind, patch, old)
        except PatchError as error:
            raise _refused(error, kind) from None
        if not isinstance(document, dict):
            raise _refused(PatchError("the patch leaves no object behind"), kind)
        if kind is not PatchType.STRATEGIC and not info.custom and not document.get("apiVersion"):
            raise no_name(request.name)  # Go's decoder then leaves the object empty
        return document, problems

    return apply


def _problems(request: APIRequest, patch: Any, kind: PatchType) -> FieldProblems:
    """The duplicate fields of a patch, and the unknown fields in operations of a JSON patch."""
    duplicate = duplicate_fields(request.body, patch)
    if kind is not PatchType.JSON:
        return FieldProblems(duplicate=duplicate)
    known = [path for path in duplicate if _OPERATION_FIELD.fullmatch(path)]
    fields = ((index, key) for index, operation in enumerate(patch) for key in operation or ())
    unknown = [f"[{index}].{key}" for index, key in fields if key not in _OPERATION_FIELDS][:MAX_UNKNOWN]
    ordered = jsontext.by_appearance(request.body, unknown, known) if unknown and known else [*unknown, *known]
    named = [f"{'duplicate' if path in known else 'unknown'} field {gojson.quoted(path)}" for path in ordered]
    return FieldProblems(operations=[f"json patch {each}" for each in named])


def undecodable(info: ResourceInfo, request: APIRequest, reason: str, patched: Document) -> Invalid:
    """The 422 for a patch whose result cannot be decoded as the kind.

    As in Kubernetes, it shows the result (or a strategic patch) without a kind and a name; nothing of a Secret.
    """
    if info.gvk.kind == "Secret":
        value = "{}"
    elif request.content_type == PatchType.STRATEGIC.value:
        value = go_text(_read(request, PatchType.STRATEGIC))
        reason = unrestorable(reason, patched, _merge_schema(info))
    else:
        value = json_shown(_in_order(patched, request))[:_MAX_SHOWN]
    if reason == NO_KIND:
        reason = f"{reason} in '{value}'"
    return invalid_error(GroupKind("", ""), "", [invalid("patch", value, reason)])


def _in_order(patched: Document, request: APIRequest) -> Document:
    """The result of a patch in kube-apiserver's order: sorted, except for metadata that the patch does not change."""
    shown: Document = sorted_keys(patched)
    metadata = shown.get("metadata")
    if isinstance(metadata, dict) and b'"metadata"' not in request.body and b"/metadata" not in request.body:
        known = patched["metadata"]
        first = {key: known[key] for key in METADATA_FIELDS if key in known}
        if "managedFields" in first:
            entries = first["managedFields"]
            first["managedFields"] = [entry | {"fieldsV1": sorted_keys(entry.get("fieldsV1"))} for entry in entries]
        shown["metadata"] = first | {key: value for key, value in known.items() if key not in first}
    return shown


def patch_type(info: ResourceInfo, request: APIRequest) -> PatchType:
    """The kind of patch that a request is. Raises UnsupportedMediaType."""
    accepted, kind = info.rules.patch_types, _PATCH_TYPES.get(request.content_type)
    if kind in accepted:
        return kind
    if not info.custom:
        raise UnsupportedMediaType("415: Unsupported Media Type", details=StatusDetails())
    names = ", ".join(each.value for each in accepted)
    raise UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: {names}"
    )


def _refused(error: PatchError, kind: PatchType) -> ApiError:
    """The error for a patch that cannot be applied. For a JSON patch, Kubernetes does not report the reason."""
    if kind is not PatchType.STRATEGIC:
        return Invalid("the server rejected our request due to an error in our request", details=StatusDetails())
    code = error.code if isinstance(error, MalformedPatch) else 422
    if code == 400:
        return BadRequest(str(error))
    if code == 500:
        return InternalError(status=Status(500, "", str(error)))
    return Invalid(str(error), details=StatusDetails())


def _read(request: APIRequest, kind: PatchType) -> Any:
    prefix = "" if kind is PatchType.STRATEGIC else "error decoding patch: "
    try:
        patch = gojson.read(request.body)
    except DecodeError as error:
        raise BadRequest(f"{prefix}{error}") from None
    check_parts(patch, len(request.body))
    if kind is PatchType.JSON:
        _check_operations(patch)
        if patch and len(patch) > json_patch.MAX_OPERATIONS:
            bound = f"The allowed maximum operations in a JSON patch is {json_patch.MAX_OPERATIONS}, got {len(patch)}"
            raise RequestTooLarge(f"Request entity too large: {bound}")
    elif patch is None and kind is PatchType.MERGE:
        raise BadRequest("Invalid JSON Patch")
    elif not isinstance(patch, dict) and patch is not None:
        wanted = "Go value of type map[string]interface {}"
        raise BadRequest(f"{prefix}json: cannot unmarshal {jsontext.json_type(patch)} into {wanted}")
    return patch or ({} if kind is not PatchType.JSON else [])


def _check_operations(patch: Any) -> None:
    """Raise BadRequest unless it is a list of operations."""
    subject = "error decoding patch: json: cannot unmarshal"
    if not isinstance(patch, list) and patch is not None:
        raise BadRequest(f"{subject} {jsontext.json_type(patch)} into Go value of type []handlers.jsonPatchOp")
    for operation in patch or ():
        if operation is None:
            continue  # Go's decoder leaves it empty
        if not isinstance(operation, dict):
            raise BadRequest(f"{subject} {jsontext.json_type(operation)} into Go value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            value = operation.get(name)
            if value is not None and not isinstance(value, str):
                field = f"Go struct field jsonPatchOp.{name} of type string"
                raise BadRequest(f"{subject} {jsontext.json_type(value)} into {field}")


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
    return strategic.apply(old, patch, _merge_schema(info))


def _merge_schema(info: ResourceInfo) -> strategic.OpenAPIMergeSchema:
    return strategic.OpenAPIMergeSchema(info.rules.merge_schema or builtin.schema(info.gvk), builtin.definition)
