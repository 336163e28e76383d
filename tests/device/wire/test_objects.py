"""Objects to messages and back: no field of a generation is lost."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.v1alpha1 import GPU
from pilotage.device.wire.client import decode_event, decode_page, decode_response, encode_request
from pilotage.device.wire.generation import Generation
from pilotage.device.wire.server import decode_request, encode_event, encode_page, encode_response
from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.rest import Page, Verb, WatchEvent, WatchEventType

from .samples import decoded, documents, encoded, gpu, request

READY = {"type": "Ready", "status": "True", "reason": "", "message": ""}
everywhere = pytest.mark.parametrize("generation", list(Generation))


@everywhere
@given(data=st.data())
def test_an_object_comes_back_as_it_was(generation: Generation, data: st.DataObject) -> None:
    document = data.draw(documents(generation))
    wire = encode_response(generation, "GetGpu", encoded(document))
    assert decoded(decode_response(generation, "GetGpu", wire).body) == document


@everywhere
@given(data=st.data())
def test_a_page_comes_back_as_it_was(generation: Generation, data: st.DataObject) -> None:
    found = data.draw(st.lists(documents(generation), max_size=5))
    page = decode_page(generation, encode_page(generation, Page([encoded(item) for item in found], "9")))
    assert [decoded(item) for item in page.items] == found


@everywhere
@given(data=st.data(), kind=st.sampled_from(["ADDED", "MODIFIED", "DELETED"]))
def test_an_event_comes_back_as_it_was(generation: Generation, data: st.DataObject, kind: WatchEventType) -> None:
    document = data.draw(documents(generation))
    event = decode_event(generation, encode_event(generation, WatchEvent(kind, encoded(document))))
    assert event is not None
    assert (event.type, decoded(event.object)) == (kind, document)


@pytest.mark.parametrize("generation", [Generation.V6, Generation.V8])
@given(data=st.data())
def test_a_write_arrives_as_it_was_sent(generation: Generation, data: st.DataObject) -> None:
    document = data.draw(documents(generation))
    name = document["metadata"]["name"]
    call = encode_request(generation, request(Verb.UPDATE, name=name, subresource="status", body=encoded(document)))
    assert decoded(decode_request(generation, call.method, call.message).body) == document


@given(document=documents(Generation.V2))
def test_objects_of_v2_v3_and_v6_can_be_read_as_each_other(document: dict[str, Any]) -> None:
    family = (Generation.V2, Generation.V3, Generation.V6)
    wires = {encode_response(generation, "GetGpu", encoded(document)) for generation in family}
    assert len(wires) == 1
    for generation in family:
        assert decoded(decode_response(generation, "GetGpu", wires.copy().pop()).body) == document


def test_an_old_client_passes_over_what_it_does_not_know() -> None:
    wire = encode_response(Generation.V6, "GetGpu", encoded(gpu({"uid": "u", "labels": {"a": "b"}})))
    assert decoded(decode_response(Generation.V2, "GetGpu", wire).body) == gpu()


def test_the_typed_object_can_be_made_of_what_comes_back() -> None:
    condition = {"type": "Ready", "status": "True", "reason": "DriverReady", "message": "", "provider": "fake"}
    document = gpu({"resourceVersion": "7"}, status={"conditions": [condition], "recommendedAction": None})
    body = decode_response(Generation.V6, "GetGpu", encode_response(Generation.V6, "GetGpu", encoded(document))).body
    found = objects.decode(GPU, body)
    assert (found.metadata.name, found.spec.uuid, found.status.conditions[0].status) == ("gpu-0", "GPU-0", "True")
    assert found.status.recommended_action is None


def test_a_null_where_the_json_may_have_one_is_as_good_as_nothing() -> None:
    document = gpu({"labels": None, "creationTimestamp": None}, status={"conditions": None})
    for generation in Generation:
        wire = encode_response(generation, "GetGpu", encoded(document))
        assert decoded(decode_response(generation, "GetGpu", wire).body) == gpu()
    assert (
        encode_response(Generation.V6, "GetGpu", encoded(gpu(spec=None, status=None)))
        == b"\x0a\x09\x0a\x07\x0a\x05gpu-0"
    )


@pytest.mark.parametrize(
    "value",
    [
        "2016-12-31T23:59:60Z",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        7,
    ],
)
def test_a_stored_time_that_the_wire_cannot_say_does_not_spoil_the_list(value: object) -> None:
    odd = READY | {"lastTransitionTime": value}
    bodies = [encoded(gpu(status={"conditions": [odd]})), encoded(gpu({"name": "gpu-1"}))]
    page = decode_page(Generation.V6, encode_page(Generation.V6, Page(bodies, "9")))
    assert [decoded(item)["metadata"]["name"] for item in page.items] == ["gpu-0", "gpu-1"]
    assert decoded(page.items[0])["status"]["conditions"] == [READY]


@pytest.mark.parametrize("value", ["2026-01-02T03:04:05,5Z", "2026-01-02 03:04:05Z", "2026-01-02T04:04:05.9+01:00"])
def test_a_stored_time_in_an_odd_form_is_understood(value: str) -> None:
    stored = gpu(status={"conditions": [READY | {"lastTransitionTime": value}]})
    body = decode_response(Generation.V6, "GetGpu", encode_response(Generation.V6, "GetGpu", encoded(stored))).body
    assert decoded(body)["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(("value", "expected"), [("5.0", 5), ("1e30", None), ("0.5", None)])
def test_a_stored_generation_in_an_odd_form_does_not_spoil_the_object(value: str, expected: int | None) -> None:
    body = encoded(gpu(status={"conditions": [READY | {"observedGeneration": 77}]})).replace(
        b":77", f":{value}".encode()
    )
    wire = encode_response(Generation.V8, "GetGpu", body)
    condition = decoded(decode_response(Generation.V8, "GetGpu", wire).body)["status"]["conditions"][0]
    assert condition.get("observedGeneration") == expected


@pytest.mark.parametrize("body", [b"", b"[]", b'{"metadata":7}', b'{"status":7}', b'{"status":{"conditions":[7]}}'])
def test_what_is_no_object_cannot_be_sent(body: bytes) -> None:
    with pytest.raises(DecodeError, match="not the JSON of a GPU"):
        encode_response(Generation.V6, "GetGpu", body)


def test_labels_come_in_the_order_of_their_keys() -> None:
    keys = [f"key-{number}" for number in range(20)]
    random.Random(7).shuffle(keys)
    wire = encode_response(Generation.V6, "GetGpu", encoded(gpu({"labels": dict.fromkeys(keys, "x")})))
    labels = decoded(decode_response(Generation.V6, "GetGpu", wire).body)["metadata"]["labels"]
    assert list(labels) == sorted(keys)
