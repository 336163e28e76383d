"""The client side: encodes requests and decodes the server's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pilotage.device.wire import documents, options
from pilotage.device.wire.documents import MetadataDocument, Object
from pilotage.device.wire.generation import KIND, RESOURCE, Generation
from pilotage.device.wire.messages import gpu_message, parsed
from pilotage.device.wire.objects import codec
from pilotage.device.wire.tolerance import check_name
from pilotage.errors import BadRequest, DecodeError, Gone, MethodNotSupported, NotFound
from pilotage.rest.request import APIRequest, Form, PatchType, Verb
from pilotage.rest.response import Bytes, Page, Response, WatchEvent, WatchEventType

_DELETED = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}'
_ERROR = "the Device API server ended the watch with an error without a reason: list again"
_OBJECT_EVENTS = ("ADDED", "MODIFIED", "DELETED")
_READABLE_BY_V3 = {
    (Generation.V6, "GetGpu"): b"\x12\x00",
    (Generation.V6, "ListGpus"): b"\x0a\x00",
    (Generation.V6, "WatchGpus"): b"\x0a\x00",
}
"""The empty namespace, which protobuf would omit. A server of V3 has its options in this field, and NVIDIA's fake
server crashes without them."""


@dataclass(frozen=True, slots=True)
class EncodedCall:
    """A call before it is sent. `method` is the bare name: see `method_path`."""

    method: str
    message: bytes
    metadata: Mapping[str, str] = field(default_factory=dict)


def encode_request(generation: Generation, request: APIRequest) -> EncodedCall:
    """The call of a request.

    Raises MethodNotSupported if the generation has no such method, BadRequest for options that it cannot carry and that
    change the meaning of the call, NotFound for other resources than GPUs.
    """
    if request.resource != RESOURCE:
        raise NotFound(f"the Device API serves {RESOURCE.group_resource}, not {request.resource.group_resource}")
    method = _method(generation, request)
    message = gpu_message(generation, f"{method}Request")()
    try:
        _FILLERS[request.verb](generation, request, message)
    except ValueError as error:  # of protobuf: a lone surrogate, or a number of more than 64 bits
        raise BadRequest(f"the Device API cannot carry this request: {error}") from None
    metadata = options.metadata(generation, request)
    data = message.SerializeToString(deterministic=True)
    return EncodedCall(method, data + _READABLE_BY_V3.get((generation, method), b""), metadata)


def decode_response(generation: Generation, method: str, message: bytes) -> Response:
    """Decode the response of any method but ListGpus and WatchGpus. Raises DecodeError."""
    if method == "DeleteGpu":
        return Response(_DELETED)
    answer = parsed(gpu_message(generation, "GetGpuResponse" if method == "GetGpu" else "Gpu"), message)
    if method == "GetGpu":
        if not answer.HasField("gpu"):
            raise DecodeError("the server's response contains no GPU")
        answer = answer.gpu
    return Response(_whole(generation, answer), code=201 if method == "CreateGpu" else 200)


def decode_page(generation: Generation, message: bytes) -> Page:
    """Decode the response of ListGpus. A missing list is an empty one. Raises DecodeError."""
    found = parsed(gpu_message(generation, "ListGpusResponse"), message).gpu_list
    version = ""
    if generation is Generation.V8:
        version = found.list_meta.resource_version
    elif generation is not Generation.V1:
        version = found.metadata.resource_version
    return Page([_whole(generation, item) for item in found.items], version, list_kind=f"{KIND.kind}List")


def decode_event(generation: Generation, message: bytes) -> WatchEvent | None:
    """Decode a message of WatchGpus; None for an unknown type, which is skipped. Raises DecodeError."""
    found = parsed(gpu_message(generation, "WatchGpusResponse"), message)
    kind: WatchEventType = found.type  # or an unknown type
    if kind in _OBJECT_EVENTS:
        if not found.HasField("object"):
            raise DecodeError(f"the event {kind} contains no GPU")
        return WatchEvent(kind, _whole(generation, found.object))
    if kind == "BOOKMARK":
        metadata = codec(generation).read_metadata(found.object)
        if not metadata.resource_version:
            return None  # without a version it is useless
        kept = MetadataDocument(resource_version=metadata.resource_version, annotations=metadata.annotations)
        return WatchEvent(kind, documents.write(Object(metadata=kept)))
    if kind == "ERROR":
        return WatchEvent(kind, msgspec.json.encode(Gone(_ERROR).status.document()))
    return None


class _OnlyMetadata(msgspec.Struct):
    metadata: msgspec.Raw


def shaped(body: Bytes, form: Form) -> Bytes:
    """An object in the form that the request accepts; the Device API returns whole objects only."""
    if form is not Form.METADATA:
        return body
    metadata = msgspec.json.decode(body, type=_OnlyMetadata).metadata
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":%b}' % bytes(metadata)


def _whole(generation: Generation, message: Any) -> bytes:
    document = codec(generation).read(message)
    if not document.metadata.name:
        raise DecodeError(
            "the server returned a GPU without a name; does it use another wire generation than "
            f"{generation.value.upper()}?"
        )
    return documents.write(document)


def _method(generation: Generation, request: APIRequest) -> str:
    method = _METHODS.get((request.verb, request.subresource), "")
    if method in generation.methods:
        return method
    what = f"{request.verb.value} {RESOURCE.resource}{'/' if request.subresource else ''}{request.subresource}"
    why = f" of generation {generation.value.upper()}, which is read-only" if method else ""
    raise MethodNotSupported(f"the Device API{why} does not support {what}")


_METHODS = {
    (Verb.GET, ""): "GetGpu",
    (Verb.GET, "status"): "GetGpu",  # the response is the whole object in any case
    (Verb.LIST, ""): "ListGpus",
    (Verb.WATCH, ""): "WatchGpus",
    (Verb.CREATE, ""): "CreateGpu",
    (Verb.UPDATE, ""): "UpdateGpu",
    (Verb.UPDATE, "status"): "UpdateGpuStatus",
    (Verb.PATCH, ""): "PatchGpu",
    (Verb.PATCH, "status"): "PatchGpu",
    (Verb.DELETE, ""): "DeleteGpu",
}


def _fill_get(generation: Generation, request: APIRequest, message: Any) -> None:
    check_name(request.name)
    message.name = request.name
    if generation in (Generation.V1, Generation.V2):
        if request.options.resource_version not in ("", "0"):
            raise options.not_carried(
                generation, "resource_version of a get", "omit it: the response is the newest object"
            )
        return
    message.opts.SetInParent()  # a server of V3 may require it
    if request.options.resource_version:
        message.opts.resource_version = request.options.resource_version


def _fill_list(generation: Generation, request: APIRequest, message: Any) -> None:
    options.check(generation, request)
    options.fill(generation, request, message)


def _fill_written(generation: Generation, request: APIRequest, message: Any) -> None:
    _check_write(request)
    document = _document(request)
    if request.name not in ("", document.metadata.name):
        raise BadRequest(
            f"the name of the object ({document.metadata.name}) does not match the name on the request ({request.name})"
        )
    codec(generation).write(document, message.gpu)
    message.opts.SetInParent()


def _document(request: APIRequest) -> Object:
    try:
        document = documents.read(request.body)
    except DecodeError as error:
        raise BadRequest(str(error)) from None
    metadata = document.metadata
    if (document.api_version, document.kind) != (KIND.api_version, KIND.kind):
        raise BadRequest(
            f"the object is a {document.kind} of {document.api_version}, not a {KIND.kind} of {KIND.api_version}"
        )
    if not metadata.name:
        raise BadRequest("metadata.name is required: the Device API does not support generateName")
    if metadata.finalizers or metadata.owner_references:
        raise BadRequest(
            "the Device API does not support metadata.finalizers and metadata.ownerReferences: remove them"
        )
    return document


def _fill_delete(_: Generation, request: APIRequest, message: Any) -> None:
    wanted = request.delete
    _no_dry_run(wanted.dry_run)
    if wanted.grace_period_seconds is not None or wanted.propagation_policy:
        raise BadRequest(
            "the Device API deletes immediately: it supports neither gracePeriodSeconds nor propagationPolicy"
        )
    check_name(request.name)
    message.name = request.name
    message.opts.SetInParent()
    if wanted.uid:
        message.opts.preconditions.uid = wanted.uid
    if wanted.resource_version:
        message.opts.preconditions.resource_version = wanted.resource_version


def _fill_patch(_: Generation, request: APIRequest, message: Any) -> None:
    _check_write(request)
    check_name(request.name)
    message.name = request.name
    message.patch_type = request.content_type or PatchType.MERGE.value
    message.data = request.body
    message.opts.SetInParent()
    if request.subresource:
        message.subresources.append(request.subresource)


def _check_write(request: APIRequest) -> None:
    _no_dry_run(request.write.dry_run)
    if request.write.field_validation == "Strict":
        raise BadRequest(
            "the Device API does not support fieldValidation Strict: its messages cannot carry unknown fields, "
            "which are dropped. Use Warn or Ignore"
        )


def _no_dry_run(wanted: bool) -> None:
    if wanted:
        raise BadRequest("the Device API does not support dry runs: the request would be executed")


_FILLERS: dict[Verb, Callable[[Generation, APIRequest, Any], None]] = {
    Verb.GET: _fill_get,
    Verb.LIST: _fill_list,
    Verb.WATCH: _fill_list,
    Verb.CREATE: _fill_written,
    Verb.UPDATE: _fill_written,
    Verb.PATCH: _fill_patch,
    Verb.DELETE: _fill_delete,
}
