"""Clients of the services."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.wire.client import decode_event, decode_page, decode_response, encode_request, shaped
from pilotage.device.wire.generation import Generation
from pilotage.device.wire.server import encode_response
from pilotage.errors import ApiError, BadRequest, DecodeError, MethodNotSupported, NotFound, Status, from_status
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest import APIRequest, DeleteOptions, Form, ListOptions, PatchType, Verb, WriteOptions

from .samples import decoded, encoded, gpu, request, text

V6 = Generation.V6
READ_ONLY = [Generation.V1, Generation.V2, Generation.V3]
PATCH = request(Verb.PATCH, name="gpu-0", body=b"{}", content_type=PatchType.JSON.value)
WRITES = [
    request(Verb.CREATE, body=encoded(gpu())),
    request(Verb.UPDATE, name="gpu-0", body=encoded(gpu())),
    request(Verb.UPDATE, name="gpu-0", subresource="status", body=encoded(gpu())),
    request(Verb.DELETE, name="gpu-0"),
    PATCH,
]


@pytest.mark.parametrize("generation", READ_ONLY)
@pytest.mark.parametrize("write", WRITES, ids=[f"{write.verb.value}{write.subresource}" for write in WRITES])
def test_a_write_with_an_old_generation_is_refused_with_the_reason(generation: Generation, write: APIRequest) -> None:
    with pytest.raises(MethodNotSupported, match=f"generation {generation.upper()}, which is read-only"):
        encode_request(generation, write)


@pytest.mark.parametrize(
    "asked", [request(Verb.DELETE_COLLECTION), request(Verb.UPDATE, name="a", subresource="scale", body=b"{}")]
)
def test_what_no_generation_has_is_not_supported(asked: APIRequest) -> None:
    with pytest.raises(MethodNotSupported, match="does not support"):
        encode_request(V6, asked)


def test_another_resource_is_not_found() -> None:
    with pytest.raises(NotFound, match=r"serves gpus\.device\.nvidia\.com, not pods"):
        encode_request(V6, APIRequest(Verb.LIST, GroupVersionResource("", "v1", "pods")))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            request(Verb.LIST, options=ListOptions(field_selector="spec.uuid=ü")),
            "field-selector must be printable ASCII",
        ),
        (request(Verb.LIST, options=ListOptions(label_selector="a" * 5000)), "label-selector has 5000 characters"),
        (request(Verb.LIST, options=ListOptions(continue_token="t\n")), "continue must be printable ASCII"),
        (request(Verb.LIST, options=ListOptions(label_selector="a=ü")), "printable ASCII"),
        (request(Verb.CREATE, body=encoded(gpu()), write=WriteOptions(dry_run=True)), "does not support dry runs"),
        (request(Verb.PATCH, name="a", body=b"{}", write=WriteOptions(dry_run=True)), "does not support dry runs"),
        (request(Verb.DELETE, name="a", delete=DeleteOptions(dry_run=True)), "does not support dry runs"),
        (request(Verb.DELETE, name="a", delete=DeleteOptions(grace_period_seconds=0)), "deletes immediately"),
        (request(Verb.DELETE, name="a", delete=DeleteOptions(propagation_policy="Orphan")), "deletes immediately"),
        (request(Verb.CREATE, body=b"{"), "not the JSON of a GPU"),
        (request(Verb.CREATE, body=encoded(gpu(spec={"uuid": 7}))), "not the JSON of a GPU"),
        (request(Verb.CREATE, body=encoded(gpu({"generation": 2**63}))), "not the JSON of a GPU"),
        (request(Verb.CREATE, body=encoded(gpu({"name": "", "generateName": "a-"}))), "does not support generateName"),
        (request(Verb.CREATE, body=encoded(gpu(kind="Pod"))), "not a GPU"),
        (request(Verb.CREATE, body=encoded(gpu({"finalizers": ["a/b"]}))), "does not support metadata.finalizers"),
        (request(Verb.GET), "must not be empty"),
        (request(Verb.DELETE, name="a/b"), "may not contain '/'"),
        (request(Verb.GET, name="\udc80"), "must be printable"),
        (request(Verb.WATCH, options=ListOptions(resource_version="\udc80")), "cannot carry this request"),
        (request(Verb.WATCH, options=ListOptions(timeout_seconds=2**63)), "cannot carry this request"),
        (request(Verb.UPDATE, name="gpu-1", body=encoded(gpu())), "does not match"),
    ],
)
def test_options_that_the_wire_cannot_carry_are_refused_before_sending(asked: APIRequest, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        encode_request(V6, asked)


def test_a_list_of_an_exact_version_needs_a_generation_that_has_it() -> None:
    exact = request(Verb.LIST, options=ListOptions(resource_version="7", resource_version_match="Exact"))
    for generation in READ_ONLY:
        with pytest.raises(BadRequest, match=f"{generation.value.upper()} cannot carry resource_version_match"):
            encode_request(generation, exact)
    assert b"Exact" in encode_request(V6, exact).message


@pytest.mark.parametrize("generation", list(Generation))
def test_field_selector_limit_and_token_are_call_metadata_in_every_generation(generation: Generation) -> None:
    options = ListOptions(field_selector="metadata.name=a", limit=5, continue_token="t")
    call = encode_request(generation, request(Verb.LIST, options=options))
    assert call.metadata == {"field-selector": "metadata.name=a", "limit": "5", "continue": "t"}
    assert call.message == encode_request(generation, request(Verb.LIST)).message
    watch = encode_request(generation, request(Verb.WATCH, options=options))
    assert watch.metadata == {"field-selector": "metadata.name=a"}  # a watch has no pages


def test_options_without_a_field_go_as_call_metadata() -> None:
    options = ListOptions(label_selector="a in (b,c)", allow_watch_bookmarks=True, send_initial_events=False)
    call = encode_request(V6, request(Verb.WATCH, options=options))
    assert call.metadata == {
        "label-selector": "a in (b,c)",
        "allow-watch-bookmarks": "true",
        "send-initial-events": "false",
    }
    assert encode_request(V6, request(Verb.LIST, options=options)).metadata == {"label-selector": "a in (b,c)"}


def test_the_newest_generation_has_fields_for_all_options() -> None:
    options = ListOptions(label_selector="a=b", allow_watch_bookmarks=True, send_initial_events=True)
    assert encode_request(Generation.V8, request(Verb.WATCH, options=options)).metadata == {}


def test_get_of_the_status_is_get() -> None:
    assert encode_request(V6, request(Verb.GET, name="a", subresource="status")).method == "GetGpu"


@pytest.mark.parametrize("generation", list(Generation))
def test_an_answer_without_a_list_is_an_empty_page(generation: Generation) -> None:
    page = decode_page(generation, b"")
    assert (list(page.items), page.resource_version) == ([], "")


@pytest.mark.parametrize(
    ("generation", "wire"),
    [(V6, text(1, text(1, "gpu-0"))), (Generation.V8, text(2, text(1, "gpu-0"))), (Generation.V1, text(1, "gpu-0"))],
)
def test_absent_parts_of_an_object_have_zero_values(generation: Generation, wire: bytes) -> None:
    assert decoded(decode_response(generation, "GetGpu", text(1, wire)).body) == gpu(
        spec={"uuid": ""}, status={"conditions": []}
    )


def test_conditions_have_their_texts_even_if_empty() -> None:
    wire = text(1, text(1, "gpu-0")) + text(3, text(1, text(1, "Ready")))
    conditions = decoded(decode_response(V6, "GetGpu", text(1, wire)).body)["status"]["conditions"]
    assert conditions == [{"type": "Ready", "status": "", "reason": "", "message": ""}]


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (b"\x08\x01\x10\xff\x93\xeb\xdc\x03", "1970-01-01T00:00:01Z"),  # 999999999 nanoseconds are cut off
        (b"", "1970-01-01T00:00:00Z"),
        (b"\x08\x80\x92\xb8\xc3\x98\xfe\xff\xff\xff\x01", None),  # Go's zero time
    ],
)
def test_times_are_in_whole_seconds_and_the_zero_time_is_none(timestamp: bytes, expected: str | None) -> None:
    wire = text(1, text(1, "gpu-0")) + text(3, text(1, text(1, "Ready") + text(3, timestamp)))
    condition = decoded(decode_response(V6, "GetGpu", text(1, wire)).body)["status"]["conditions"][0]
    assert condition.get("lastTransitionTime") == expected


def test_a_time_that_there_is_not_cannot_be_read() -> None:
    far = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
    with pytest.raises(DecodeError, match="not a valid time"):
        decode_response(V6, "CreateGpu", text(1, text(1, "gpu-0")) + text(3, text(1, text(3, far))))


@pytest.mark.parametrize("kind", ["", "RESYNC", "added"])
def test_an_event_of_an_unknown_type_is_passed_over(kind: str) -> None:
    assert decode_event(V6, text(1, kind) + text(2, b"")) is None


def test_a_bookmark_without_a_version_is_passed_over() -> None:
    assert decode_event(V6, text(1, "BOOKMARK")) is None
    assert decode_event(Generation.V1, text(1, "BOOKMARK") + text(2, text(1, "a"))) is None


@pytest.mark.parametrize("rest", [b"", text(2, text(1, text(1, "gpu-0")))])
def test_an_error_event_asks_to_list_again(rest: bytes) -> None:
    event = decode_event(V6, text(1, "ERROR") + rest)
    assert event is not None
    error: ApiError = from_status(Status.from_document(decoded(event.object)))
    assert (event.type, error.code, error.reason) == ("ERROR", 410, "Expired")


def test_an_event_without_its_object_cannot_be_read() -> None:
    with pytest.raises(DecodeError, match="ADDED contains no GPU"):
        decode_event(V6, text(1, "ADDED"))


def test_an_answer_without_its_object_cannot_be_read() -> None:
    with pytest.raises(DecodeError, match="contains no GPU"):
        decode_response(V6, "GetGpu", b"")


def test_an_object_without_a_name_cannot_be_read() -> None:
    with pytest.raises(DecodeError, match="without a name; does it use another wire generation"):
        decode_page(V6, text(1, text(2, text(2, text(1, "GPU-0")))))


@pytest.mark.parametrize(
    ("one", "other"),
    [(Generation.V8, V6), (V6, Generation.V8), (Generation.V1, V6), (Generation.V8, Generation.V2)],
)
def test_an_object_of_another_generation_is_not_taken_for_something_else(one: Generation, other: Generation) -> None:
    wire = encode_response(one, "GetGpu", encoded(gpu({"resourceVersion": "7"})))
    with pytest.raises(DecodeError, match="another wire generation"):
        decode_response(other, "GetGpu", wire)


def test_the_metadata_alone_can_be_had_of_a_whole_object() -> None:
    body = encoded(gpu({"uid": "u"}))
    assert shaped(body, Form.OBJECT) == body
    assert decoded(shaped(body, Form.METADATA)) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "gpu-0", "uid": "u"},
    }


def test_what_the_server_keeps_for_itself_is_not_sent() -> None:
    condition = {"type": "Ready", "status": "True", "reason": "", "message": "", "provider": "nvml"}
    status: dict[str, Any] = {"conditions": [condition], "providers": {"nvml": {"heartbeat": "x"}}}
    wire = encode_response(V6, "GetGpu", encoded(gpu(status=status)))
    assert b"nvml" not in wire
    condition.pop("provider")
    assert decoded(decode_response(V6, "GetGpu", wire).body)["status"] == {"conditions": [condition]}


@given(generation=st.sampled_from(list(Generation)), message=st.binary(max_size=64))
def test_whatever_a_server_sends_is_read_or_refused(generation: Generation, message: bytes) -> None:
    for read in (
        lambda: decode_page(generation, message),
        lambda: decode_event(generation, message),
        lambda: decode_response(generation, "GetGpu", message),
        lambda: decode_response(generation, "CreateGpu", message),
    ):
        with contextlib.suppress(DecodeError):
            read()
