"""The server side: decodes requests and encodes the responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pilotage.device.wire import documents, options, tolerance
from pilotage.device.wire.documents import Object
from pilotage.device.wire.generation import KIND, RESOURCE, Generation
from pilotage.device.wire.messages import encoded, gpu_message, parsed
from pilotage.device.wire.objects import codec, fill
from pilotage.device.wire.tolerance import check_name, check_namespace
from pilotage.errors import BadRequest, DecodeError, MethodNotSupported, UnsupportedMediaType
from pilotage.meta.protobuf.wire import write_varint
from pilotage.rest.request import APIRequest, DeleteOptions, ListOptions, PatchType, Verb
from pilotage.rest.response import Bytes, Page, WatchEvent

_USER_AGENT = "user-agent"
_GPU_LIST = 1
"""The number of the list in ListGpusResponse, in every generation."""
_KEPT_BYTES = 4096
"""Larger GPUs are not cached, so that the cache stays small."""
_PATCHES = (PatchType.JSON.value, PatchType.MERGE.value, PatchType.STRATEGIC.value)


def decode_request(
    generation: Generation, method: str, message: bytes, metadata: Mapping[str, str] | None = None
) -> APIRequest:
    """The request of a call; `method` is the bare name, and the keys of `metadata` are in lower case.

    A server of V6 also decodes requests of V2 and V3. Raises BadRequest, MethodNotSupported and
    UnsupportedMediaType.
    """
    if method not in generation.methods:
        raise MethodNotSupported(
            f"wire generation {generation.value.upper()} of the Device API has no method {method[:100]}"
        )
    try:
        return _READERS[method](_Call(generation, method, message, metadata or {}))
    except DecodeError as error:
        raise BadRequest(str(error)) from None


def encode_response(generation: Generation, method: str, body: Bytes) -> bytes:
    """Encode the response of any method but ListGpus and WatchGpus."""
    if method == "DeleteGpu":
        return b""
    if method == "GetGpu":
        answer = gpu_message(generation, "GetGpuResponse")()
        fill(generation, body, answer.gpu)
    else:
        answer = gpu_message(generation, "Gpu")()
        fill(generation, body, answer)
    return encoded(answer)


def encode_page(generation: Generation, page: Page) -> bytes:
    """Encode the response of ListGpus. Unchanged GPUs are not encoded again."""
    answer = gpu_message(generation, "ListGpusResponse")()
    found = answer.gpu_list
    found.SetInParent()
    if generation is Generation.V8:
        found.type_meta.kind, found.type_meta.api_version = f"{KIND.kind}List", KIND.api_version
        found.list_meta.resource_version = page.resource_version
    elif generation is not Generation.V1:
        found.metadata.resource_version = page.resource_version
    number = found.DESCRIPTOR.fields_by_name["items"].number
    items = b"".join(_field(number, _item(generation, bytes(body))) for body in page.items)
    return _field(_GPU_LIST, encoded(found) + items)


def _item(generation: Generation, body: bytes) -> bytes:
    return _kept_item(generation, body) if len(body) <= _KEPT_BYTES else _new_item(generation, body)


def _new_item(generation: Generation, body: bytes) -> bytes:
    message = gpu_message(generation, "Gpu")()
    fill(generation, body, message)
    return encoded(message)


_kept_item = lru_cache(maxsize=2048)(_new_item)


def _field(number: int, data: bytes) -> bytes:
    """Bytes as a field of a message: its number, its length, itself."""
    return write_varint(number << 3 | 2) + write_varint(len(data)) + data


def encode_event(generation: Generation, event: WatchEvent) -> bytes:
    """Encode a message of WatchGpus. An ERROR has no field for its Status: the caller ends the stream with an error
    instead."""
    message = gpu_message(generation, "WatchGpusResponse")()
    message.type = event.type
    if event.type != "ERROR":
        fill(generation, event.object, message.object)
    return encoded(message)


class _Call(NamedTuple):
    generation: Generation
    method: str
    message: bytes
    metadata: Mapping[str, str]

    def parsed(self) -> Any:
        return parsed(gpu_message(self.generation, f"{self.method}Request"), self.message)

    def request(self, verb: Verb, **parts: Any) -> APIRequest:
        return APIRequest(verb, RESOURCE, user_agent=self.metadata.get(_USER_AGENT, ""), **parts)


def _read_get(call: _Call) -> APIRequest:
    asked = tolerance.read_get(call.message) if call.generation is Generation.V6 else _plainly_get(call)
    check_name(asked.name)
    check_namespace(asked.namespace)
    return call.request(Verb.GET, name=asked.name, options=asked.options)


def _plainly_get(call: _Call) -> tolerance.Asked:
    found = call.parsed()
    if call.generation in (Generation.V1, Generation.V2):
        return tolerance.Asked(name=found.name)
    namespace = found.opts.namespace if call.generation is Generation.V3 else found.namespace
    return tolerance.Asked(found.name, namespace, ListOptions(resource_version=found.opts.resource_version))


def _read_list(call: _Call) -> APIRequest:
    asked = tolerance.read_list(call.message) if call.generation is Generation.V6 else _plainly_list(call)
    check_namespace(asked.namespace)
    verb = Verb.WATCH if call.method == "WatchGpus" else Verb.LIST
    read = options.completed if call.generation is Generation.V8 else options.from_metadata
    return call.request(verb, options=read(verb, call.metadata, asked.options))


def _plainly_list(call: _Call) -> tolerance.Asked:
    found = call.parsed()
    match call.generation:
        case Generation.V2:
            return tolerance.Asked(options=ListOptions(resource_version=found.resource_version))
        case Generation.V3:
            wanted = ListOptions(resource_version=found.opts.resource_version)
            return tolerance.Asked(namespace=found.opts.namespace, options=wanted)
        case Generation.V8:
            return tolerance.Asked(namespace=found.namespace, options=options.read_newest(found.opts))
    return tolerance.Asked()


def _read_create(call: _Call) -> APIRequest:
    return call.request(Verb.CREATE, body=documents.write(_given(call)))


def _read_update(call: _Call) -> APIRequest:
    document = _given(call)
    return call.request(Verb.UPDATE, name=document.metadata.name, body=documents.write(document))


def _read_update_status(call: _Call) -> APIRequest:
    document = _given(call)
    if not document.status:
        raise BadRequest("the GPU has no status to update: set status")
    body = documents.write(document)
    return call.request(Verb.UPDATE, name=document.metadata.name, subresource="status", body=body)


def _given(call: _Call) -> Object:
    """The GPU of a write, with metadata and a name."""
    found = call.parsed()
    if not found.HasField("gpu"):
        raise BadRequest("the request contains no gpu")
    objects = codec(call.generation)
    if not objects.has_metadata(found.gpu):
        raise BadRequest("the gpu has no metadata")
    document = objects.read_given(found.gpu)
    check_name(document.metadata.name)
    check_namespace(objects.namespace(found.gpu))
    return document


def _read_delete(call: _Call) -> APIRequest:
    found = call.parsed()
    check_name(found.name)
    check_namespace(found.namespace)
    conditions = found.opts.preconditions
    wanted = DeleteOptions(uid=conditions.uid or None, resource_version=conditions.resource_version or None)
    return call.request(Verb.DELETE, name=found.name, delete=wanted)


def _read_patch(call: _Call) -> APIRequest:
    found = call.parsed()
    check_name(found.name)
    check_namespace(found.namespace)
    if found.patch_type not in _PATCHES:
        raise UnsupportedMediaType(
            f"unsupported patch type {found.patch_type[:100]!r}: use one of {', '.join(_PATCHES)}"
        )
    subresources = list(found.subresources)
    if subresources not in ([], ["status"]):
        raise BadRequest(f"unknown subresource {', '.join(subresources)[:100]!r} of a GPU: it has status only")
    subresource = "".join(subresources)
    return call.request(
        Verb.PATCH, name=found.name, subresource=subresource, body=found.data, content_type=found.patch_type
    )


_READERS: dict[str, Callable[[_Call], APIRequest]] = {
    "GetGpu": _read_get,
    "ListGpus": _read_list,
    "WatchGpus": _read_list,
    "CreateGpu": _read_create,
    "UpdateGpu": _read_update,
    "UpdateGpuStatus": _read_update_status,
    "DeleteGpu": _read_delete,
    "PatchGpu": _read_patch,
}
