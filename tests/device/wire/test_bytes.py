"""The wire itself: bytes written out from the field numbers, not by protobuf."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.device.wire.client import decode_event, decode_page, decode_response, encode_request
from pilotage.device.wire.generation import Generation
from pilotage.device.wire.providerservice import (
    Acknowledged,
    Heartbeat,
    Registered,
    RegisterGPU,
    Unregistered,
    UnregisterGPU,
    Updated,
    UpdateGPUCondition,
    UpdateGPUStatus,
)
from pilotage.device.wire.server import decode_request, encode_event, encode_page, encode_response
from pilotage.rest import APIRequest, DeleteOptions, ListOptions, Page, PatchType, Verb, WatchEvent, WatchEventType

from .samples import decoded, encoded, gpu, number, request, text

V1, V2, V3, V6, V8 = Generation.V1, Generation.V2, Generation.V3, Generation.V6, Generation.V8

# 2026-01-02T03:04:05Z is 1767323045 seconds after 1970.
TIME = b"\x08\xa5\xeb\xdc\xca\x06"
SECONDS = "2026-01-02T03:04:05Z"
READY = {"type": "Ready", "status": "True", "reason": "DriverReady", "message": "up", "lastTransitionTime": SECONDS}

V6_CONDITION = (
    b"\x0a\x05Ready"  # type 1
    b"\x12\x04True"  # status 2
    b"\x1a\x06"
    + TIME  # last_transition_time 3
    + b"\x22\x0bDriverReady"  # reason 4
    b"\x2a\x02up"  # message 5
)
V8_CONDITION = (
    b"\x0a\x05Ready"  # type 1
    b"\x12\x04True"  # status 2
    b"\x18\x07"  # observed_generation 3
    b"\x22\x06"
    + TIME  # last_transition_time 4
    + b"\x2a\x0bDriverReady"  # reason 5
    b"\x32\x02up"  # message 6
)
V6_STATUS = b"\x0a\x26" + V6_CONDITION + b"\x12\x0fCOMPONENT_RESET"  # conditions 1, recommended_action 2
V8_STATUS = b"\x0a\x28" + V8_CONDITION + b"\x12\x0fCOMPONENT_RESET"
SPEC = b"\x0a\x05GPU-0"  # uuid 1
V2_METADATA = b"\x0a\x05gpu-0\x12\x017"  # name 1, resource_version 2
V6_METADATA = (
    b"\x0a\x05gpu-0"  # name 1
    b"\x12\x017"  # resource_version 2
    b"\x22\x03u-1"  # uid 4
    b"\x28\x02"  # generation 5
    b"\x32\x06"
    + TIME  # creation_timestamp 6
    + b"\x3a\x06\x0a\x01a\x12\x01b"  # labels 7: key 1, value 2
    b"\x42\x06\x0a\x01c\x12\x01d"  # annotations 8
)
V8_TYPE = b"\x0a\x03GPU\x12\x1adevice.nvidia.com/v1alpha1"  # kind 1, api_version 2

V1_GPU = text(1, "gpu-0") + text(2, SPEC) + text(3, V6_STATUS)
V2_GPU = text(1, V2_METADATA) + text(2, SPEC) + text(3, V6_STATUS)
V6_GPU = text(1, V6_METADATA) + text(2, SPEC) + text(3, V6_STATUS)
V8_GPU = text(1, V8_TYPE) + text(2, V6_METADATA) + text(3, SPEC) + text(4, V8_STATUS)

STATUS = {"conditions": [READY], "recommendedAction": "COMPONENT_RESET"}
METADATA = {
    "uid": "u-1",
    "resourceVersion": "7",
    "generation": 2,
    "creationTimestamp": SECONDS,
    "labels": {"a": "b"},
    "annotations": {"c": "d"},
}
OBJECTS: list[tuple[Generation, bytes, dict[str, Any]]] = [
    (V1, V1_GPU, gpu(status=STATUS)),
    (V2, V2_GPU, gpu({"resourceVersion": "7"}, status=STATUS)),
    (V3, V2_GPU, gpu({"resourceVersion": "7"}, status=STATUS)),
    (V6, V6_GPU, gpu(METADATA, status=STATUS)),
    (V8, V8_GPU, gpu(METADATA, status=STATUS | {"conditions": [READY | {"observedGeneration": 7}]})),
]
objects = pytest.mark.parametrize(("generation", "wire", "document"), OBJECTS, ids=[str(row[0]) for row in OBJECTS])
LISTS = {
    V1: lambda item: text(1, item),
    V2: lambda item: text(1, text(1, "9")) + text(2, item),
    V3: lambda item: text(1, text(1, "9")) + text(2, item),
    V6: lambda item: text(1, text(1, "9")) + text(2, item),
    V8: lambda item: (
        text(1, text(1, "GPUList") + text(2, "device.nvidia.com/v1alpha1")) + text(2, text(1, "9")) + text(3, item)
    ),
}


@objects
def test_a_gpu_got(generation: Generation, wire: bytes, document: dict[str, Any]) -> None:
    answer = text(1, wire)
    assert encode_response(generation, "GetGpu", encoded(document)) == answer
    assert decoded(decode_response(generation, "GetGpu", answer).body) == document


@objects
def test_a_list(generation: Generation, wire: bytes, document: dict[str, Any]) -> None:
    answer = text(1, LISTS[generation](wire))
    version = "" if generation is V1 else "9"
    assert encode_page(generation, Page([encoded(document)], "9")) == answer
    page = decode_page(generation, answer)
    assert (page.resource_version, [decoded(item) for item in page.items]) == (version, [document])


@objects
@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_an_event(generation: Generation, wire: bytes, document: dict[str, Any], kind: WatchEventType) -> None:
    message = text(1, kind) + text(2, wire)
    assert encode_event(generation, WatchEvent(kind, encoded(document))) == message
    event = decode_event(generation, message)
    assert event is not None
    assert (event.type, decoded(event.object)) == (kind, document)


@pytest.mark.parametrize(
    ("generation", "body"),
    [
        (V2, text(1, b"\x12\x019")),
        (V6, text(1, b"\x12\x019" + b"\x42\x21\x0a\x19k8s.io/initial-events-end\x12\x04true")),
        (V8, text(1, V8_TYPE) + text(2, b"\x12\x019" + b"\x42\x21\x0a\x19k8s.io/initial-events-end\x12\x04true")),
    ],
)
def test_a_bookmark(generation: Generation, body: bytes) -> None:
    metadata: dict[str, Any] = {"resourceVersion": "9"}
    if generation is not V2:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    document = {"apiVersion": "device.nvidia.com/v1alpha1", "kind": "GPU", "metadata": metadata}
    message = text(1, "BOOKMARK") + text(2, body)
    assert encode_event(generation, WatchEvent("BOOKMARK", encoded(document))) == message
    event = decode_event(generation, message)
    assert event is not None
    assert decoded(event.object) == document


def test_an_error_event_holds_no_object() -> None:
    assert encode_event(V6, WatchEvent("ERROR", b'{"kind":"Status","code":410}')) == b"\x0a\x05ERROR"


@pytest.mark.parametrize("generation", [V6, V8])
@pytest.mark.parametrize("method", ["CreateGpu", "UpdateGpu", "UpdateGpuStatus", "PatchGpu"])
def test_what_was_written_comes_back_bare(generation: Generation, method: str) -> None:
    wire, document = next((row[1], row[2]) for row in OBJECTS if row[0] is generation)
    assert encode_response(generation, method, encoded(document)) == wire
    assert decoded(decode_response(generation, method, wire).body) == document


def test_a_deletion_answers_with_nothing() -> None:
    assert encode_response(V6, "DeleteGpu", b'{"kind":"Status","status":"Success"}') == b""
    assert decoded(decode_response(V6, "DeleteGpu", b"").body)["status"] == "Success"


VERSION = ListOptions(resource_version="7")
MATCHED = ListOptions(resource_version="7", resource_version_match="NotOlderThan", timeout_seconds=300)
EVERYTHING = ListOptions(
    label_selector="a=b",
    resource_version="7",
    resource_version_match="NotOlderThan",
    timeout_seconds=300,
    allow_watch_bookmarks=True,
    send_initial_events=True,
)
LIST, WATCH = request(Verb.LIST, options=VERSION), request(Verb.WATCH, options=VERSION)
DELETE = request(Verb.DELETE, name="gpu-0", delete=DeleteOptions(uid="u-1", resource_version="7"))
PATCH = request(Verb.PATCH, name="gpu-0", subresource="status", body=b"{}", content_type=PatchType.MERGE.value)
V6_LIST_OPTIONS = b"\x0a\x017" + b"\x12\x0cNotOlderThan" + b"\x18\xac\x02"  # version 1, match 2, timeout 3
V8_LIST_OPTIONS = (
    b"\x0a\x03a=b"  # label_selector 1
    b"\x10\x01"  # watch 2
    b"\x18\x01"  # allow_watch_bookmarks 3
    b"\x20\x01"  # send_initial_events 4
    b"\x2a\x017"  # resource_version 5
    b"\x32\x0cNotOlderThan"  # resource_version_match 6
    b"\x38\xac\x02"  # timeout_seconds 7
)
PATCHED = text(1, "gpu-0") + text(3, "application/merge-patch+json") + text(4, b"{}") + text(5, b"") + text(6, "status")
NAMED = request(Verb.GET, name="gpu-0", options=VERSION)
REQUESTS: list[tuple[Generation, APIRequest, str, bytes]] = [
    (V1, request(Verb.GET, name="gpu-0"), "GetGpu", b"\x0a\x05gpu-0"),
    (V1, request(Verb.LIST), "ListGpus", b""),
    (V1, request(Verb.WATCH), "WatchGpus", b""),
    (V2, request(Verb.GET, name="gpu-0"), "GetGpu", b"\x0a\x05gpu-0"),
    (V2, LIST, "ListGpus", b"\x0a\x017"),
    (V2, WATCH, "WatchGpus", b"\x0a\x017"),
    (V3, NAMED, "GetGpu", b"\x0a\x05gpu-0" + b"\x12\x03\x0a\x017"),
    (V3, LIST, "ListGpus", b"\x0a\x03\x0a\x017"),
    (V3, request(Verb.WATCH), "WatchGpus", b"\x0a\x00"),
    (V6, NAMED, "GetGpu", b"\x0a\x05gpu-0" + b"\x1a\x03\x0a\x017" + b"\x12\x00"),
    (V6, request(Verb.LIST, options=MATCHED), "ListGpus", b"\x12\x14" + V6_LIST_OPTIONS + b"\x0a\x00"),
    (V6, request(Verb.WATCH, options=MATCHED), "WatchGpus", b"\x12\x14" + V6_LIST_OPTIONS + b"\x0a\x00"),
    (V6, DELETE, "DeleteGpu", b"\x0a\x05gpu-0" + b"\x1a\x0a" + b"\x0a\x08" + b"\x0a\x03u-1" + b"\x12\x017"),
    (V6, PATCH, "PatchGpu", PATCHED),
    (V8, NAMED, "GetGpu", b"\x0a\x05gpu-0" + b"\x1a\x03\x0a\x017"),
    (V8, request(Verb.WATCH, options=EVERYTHING), "WatchGpus", text(2, V8_LIST_OPTIONS)),
    (V8, DELETE, "DeleteGpu", b"\x0a\x05gpu-0" + b"\x1a\x0a" + b"\x0a\x08" + b"\x0a\x03u-1" + b"\x12\x017"),
    (V8, PATCH, "PatchGpu", PATCHED),
]


@pytest.mark.parametrize(
    ("generation", "asked", "method", "wire"), REQUESTS, ids=[f"{row[0]}-{row[2]}" for row in REQUESTS]
)
def test_a_request(generation: Generation, asked: APIRequest, method: str, wire: bytes) -> None:
    call = encode_request(generation, asked)
    assert (call.method, call.message, call.metadata) == (method, wire, {})
    assert decode_request(generation, method, wire) == asked


@pytest.mark.parametrize(("generation", "wire"), [(V6, V6_GPU), (V8, V8_GPU)])
@pytest.mark.parametrize(
    ("verb", "subresource", "method"),
    [(Verb.CREATE, "", "CreateGpu"), (Verb.UPDATE, "", "UpdateGpu"), (Verb.UPDATE, "status", "UpdateGpuStatus")],
)
def test_a_write(generation: Generation, wire: bytes, verb: Verb, subresource: str, method: str) -> None:
    document = next(row[2] for row in OBJECTS if row[0] is generation)
    name = "" if verb is Verb.CREATE else "gpu-0"
    asked = request(verb, name=name, subresource=subresource, body=encoded(document))
    call = encode_request(generation, asked)
    assert (call.method, call.message) == (method, text(1, wire) + text(2, b""))  # gpu 1, opts 2
    found = decode_request(generation, method, text(1, wire))
    assert (found.verb, found.name, found.subresource) == (verb, name, subresource)
    assert decoded(found.body) == document


def test_the_messages_of_providers() -> None:
    status, condition = {"conditions": [READY], "recommendedAction": "COMPONENT_RESET"}, READY
    rows: list[tuple[Any, bytes]] = [
        (
            RegisterGPU("gpu-0", "GPU-0", "p", status),
            text(1, "gpu-0") + text(2, SPEC) + text(3, "p") + text(4, V6_STATUS),
        ),
        (RegisterGPU("gpu-0", "GPU-0", "p"), text(1, "gpu-0") + text(2, SPEC) + text(3, "p")),
        (Registered(True, 300), b"\x08\x01" + b"\x10\xac\x02"),
        (UnregisterGPU("gpu-0"), b"\x0a\x05gpu-0"),
        (Unregistered(True), b"\x08\x01"),
        (UpdateGPUStatus("gpu-0", status, "p"), text(1, "gpu-0") + text(2, V6_STATUS) + text(3, "p")),
        (UpdateGPUCondition("gpu-0", condition, "p"), text(1, "gpu-0") + text(2, V6_CONDITION) + text(3, "p")),
        (Updated(300), number(1, 300)),
        (Heartbeat("p", ("gpu-0", "gpu-1")), text(1, "p") + text(2, "gpu-0") + text(2, "gpu-1")),
        (Acknowledged(), b"\x08\x01"),
    ]
    for message, wire in rows:
        assert message.encode() == wire
        assert type(message).decode(wire) == message
