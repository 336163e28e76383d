"""The bodies of creates and updates of GPUs, which may omit more fields than bodies for an API server."""

from __future__ import annotations

import msgspec

from pilotage.device.server.resourceversions import check_version
from pilotage.device.wire.generation import KIND
from pilotage.device.wire.tolerance import check_name
from pilotage.errors import BadRequest, DecodeError
from pilotage.meta.text import jsontext
from pilotage.rest.request import APIRequest, Verb


def completed(request: APIRequest) -> bytes:
    """The body of a create or update, with kind and name. Raises BadRequest."""
    if not request.body:
        raise BadRequest("the request contains no GPU: send one as a JSON object")
    try:
        document = jsontext.read(request.body)
    except DecodeError as error:
        raise BadRequest(f"cannot decode the GPU: {error}") from None
    if not isinstance(document, dict):
        raise BadRequest("the request contains no GPU: send one as a JSON object")
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not metadata:
        raise BadRequest("the GPU has no metadata: metadata.name is required")
    document.setdefault("apiVersion", KIND.api_version)
    document.setdefault("kind", KIND.kind)
    if request.name:
        metadata.setdefault("name", request.name)
    if metadata.get("name") or not metadata.get("generateName"):
        check_name(_text(metadata.get("name"), "metadata.name"))
    version = _text(metadata.get("resourceVersion"), "metadata.resourceVersion")
    if version and request.verb is Verb.CREATE:
        raise BadRequest(f"cannot create GPU {metadata.get('name')!r}: metadata.resourceVersion must not be set")
    check_version(version)
    return msgspec.json.encode(document)


def _text(value: object, field: str) -> str:
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{field} must be a string")
    return value or ""
