"""Patches of GPUs: JSON and merge patches as the registry reads them, and strategic ones, which merge conditions."""

from __future__ import annotations

from collections.abc import Callable

from pilotage.errors import BadRequest, DecodeError, Invalid, PatchError, StatusDetails, UnsupportedMediaType
from pilotage.meta import jsontext
from pilotage.meta.documents import Document
from pilotage.meta.patches import strategic
from pilotage.rest.request import PatchType, Request
from pilotage.server import records
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs import patch

Patch = Callable[[bytes], Document]
"""From what callers see of a GPU to what it shall be."""

_CONDITIONS: Document = {
    "type": "array",
    "items": {"type": "object", "properties": {}},
    "x-kubernetes-patch-merge-key": "type",
    "x-kubernetes-patch-strategy": "merge",
}
_SCHEMA: Document = {"properties": {"status": {"properties": {"conditions": _CONDITIONS}}}}


def patch_of(info: ResourceInfo, request: Request) -> Patch:
    """The patch of a request. Raises ApiError: 415 for a kind of patch that is not there, 400 for what is none."""
    if request.content_type == PatchType.STRATEGIC.value:
        return _strategic(request.body)
    if request.content_type not in (PatchType.JSON.value, PatchType.MERGE.value):
        kinds = ", ".join(kind.value for kind in (PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC))
        raise UnsupportedMediaType(f"patches of the type {request.content_type[:100]!r} are not accepted: send {kinds}")
    read = patch.reader(info, request)

    def apply(data: bytes) -> Document:
        return _whole(read(data)[0])

    return apply


def _strategic(body: bytes) -> Patch:
    try:
        patch = jsontext.read(body)
    except DecodeError as error:
        raise BadRequest(f"error decoding patch: {error}") from None

    def apply(data: bytes) -> Document:
        schema = strategic.OpenAPIMergeSchema(_SCHEMA, _no_references)
        try:
            return _whole(strategic.apply(records.decode(data), patch, schema))
        except PatchError as error:
            message = f"the server rejected our request due to an error in our request: {error}"
            raise Invalid(message, details=StatusDetails()) from None

    return apply


def _whole(document: Document) -> Document:
    """What the patch must leave alone is there."""
    if not isinstance(document.get("metadata"), dict):
        raise BadRequest("the patch leaves no metadata behind")
    return document


def _no_references(name: str) -> Document:
    raise KeyError(name)  # the schema has none
