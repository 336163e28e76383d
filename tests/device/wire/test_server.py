"""Handlers of the services."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pilotage.device.wire.client import encode_request
from pilotage.device.wire.generation import Generation
from pilotage.device.wire.server import decode_request
from pilotage.errors import BadRequest, MethodNotSupported, UnsupportedMediaType
from pilotage.rest import ListOptions, PatchType, Verb

from .samples import decoded, encoded, gpu, request, text

V6 = Generation.V6
NAME = text(1, text(1, "gpu-0"))


@pytest.mark.parametrize("generation", [Generation.V1, Generation.V2, Generation.V3])
def test_a_read_only_generation_has_no_writes(generation: Generation) -> None:
    with pytest.raises(MethodNotSupported, match="has no method CreateGpu"):
        decode_request(generation, "CreateGpu", text(1, NAME))


def test_an_unknown_method_is_not_supported() -> None:
    with pytest.raises(MethodNotSupported, match="has no method ReplaceGpu"):
        decode_request(V6, "ReplaceGpu", b"")


@pytest.mark.parametrize(
    ("method", "message", "problem"),
    [
        ("GetGpu", b"", "must not be empty"),
        ("GetGpu", text(1, ".."), "may not be '..'"),
        ("GetGpu", text(1, "a/b"), "may not contain '/'"),
        ("GetGpu", text(1, "a\x00b"), "must be printable"),
        ("GetGpu", text(1, "a" * 254), "no more than 253"),
        ("GetGpu", text(1, "gpu-0") + text(2, "n" * 254), "no more than 253"),
        ("GetGpu", text(1, "gpu-0") + text(2, "kube-system"), "cluster-scoped"),
        ("GetGpu", text(1, b"\xff"), "as GetGpuRequest"),
        ("CreateGpu", b"", "contains no gpu"),
        ("UpdateGpu", text(1, text(2, text(1, "GPU-0"))), "has no metadata"),
        ("CreateGpu", text(1, text(1, b"")), "must not be empty"),
        ("CreateGpu", text(1, text(1, text(1, "../gpu"))), "may not contain '/'"),
        ("CreateGpu", text(1, text(1, text(1, "gpu-0") + text(3, "other"))), "cluster-scoped"),
        ("UpdateGpuStatus", text(1, NAME), "no status"),
        ("DeleteGpu", b"", "must not be empty"),
        ("DeleteGpu", text(1, "gpu-0") + text(2, "n" * 254), "no more than 253"),
        ("PatchGpu", text(3, PatchType.MERGE.value), "must not be empty"),
        ("PatchGpu", text(1, "gpu-0") + text(3, PatchType.MERGE.value) + text(6, "scale"), "unknown subresource"),
    ],
)
def test_a_bad_request_is_refused(method: str, message: bytes, problem: str) -> None:
    with pytest.raises(BadRequest) as raised:
        decode_request(V6, method, message)
    assert problem in str(raised.value)


@pytest.mark.parametrize("kind", ["", PatchType.APPLY.value, "application/json"])
def test_a_patch_of_a_type_that_is_not_known_is_refused(kind: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="unsupported patch type"):
        decode_request(V6, "PatchGpu", text(1, "gpu-0") + text(3, kind))


def test_the_default_namespace_means_none() -> None:
    found = decode_request(V6, "CreateGpu", text(1, text(1, text(1, "gpu-0") + text(3, "default"))))
    assert decoded(found.body)["metadata"] == {"name": "gpu-0"}
    assert decode_request(V6, "GetGpu", text(1, "gpu-0") + text(2, "default")).namespace == ""


def test_an_upper_case_uuid_may_be_a_name() -> None:
    assert decode_request(V6, "GetGpu", text(1, "GPU-0A")).name == "GPU-0A"


def test_what_a_write_does_not_hold_is_not_made_up() -> None:
    found = decoded(decode_request(V6, "CreateGpu", text(1, NAME)).body)
    assert found == {"apiVersion": "device.nvidia.com/v1alpha1", "kind": "GPU", "metadata": {"name": "gpu-0"}}


def test_options_come_from_the_call_metadata() -> None:
    metadata = {
        "label-selector": "a=b",
        "allow-watch-bookmarks": "true",
        "send-initial-events": "true",
        "user-agent": "x/1",
    }
    found = decode_request(V6, "WatchGpus", b"", metadata)
    assert found.user_agent == "x/1"
    assert found.options == ListOptions(
        label_selector="a=b",
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
        send_initial_events=True,
    )
    assert decode_request(V6, "ListGpus", b"", metadata).options == ListOptions(label_selector="a=b")


def test_a_match_that_the_message_names_stays() -> None:
    found = decode_request(V6, "WatchGpus", text(2, text(2, "Exact")), {"send-initial-events": "true"})
    assert found.options.resource_version_match == "Exact"


def test_call_metadata_that_are_neither_true_nor_false_are_refused() -> None:
    with pytest.raises(BadRequest, match="allow-watch-bookmarks must be true or false, not 'yes'"):
        decode_request(V6, "WatchGpus", b"", {"allow-watch-bookmarks": "yes"})


@pytest.mark.parametrize("limit", ["-1", "many", "9" * 30])
def test_a_limit_that_is_no_number_is_refused(limit: str) -> None:
    with pytest.raises(BadRequest, match="limit must be a number of 0 or more"):
        decode_request(V6, "ListGpus", b"", {"limit": limit})


def test_the_newest_generation_ignores_call_metadata_for_which_it_has_fields() -> None:
    found = decode_request(Generation.V8, "WatchGpus", b"", {"label-selector": "a=b"})
    assert found.options == ListOptions()


def test_no_timeout_is_not_a_timeout_of_nothing() -> None:
    assert decode_request(V6, "WatchGpus", text(2, b"")).options.timeout_seconds is None
    assert decode_request(V6, "WatchGpus", text(2, b"\x18\x00")).options.timeout_seconds == 0


@given(
    generation=st.sampled_from(list(Generation)),
    method=st.sampled_from(V6.methods),
    message=st.binary(max_size=64),
)
def test_whatever_a_client_sends_is_read_or_refused(generation: Generation, method: str, message: bytes) -> None:
    with contextlib.suppress(BadRequest, MethodNotSupported, UnsupportedMediaType):
        assert decode_request(generation, method, message).namespace == ""


_versions = st.from_regex(r"[0-9]{0,19}", fullmatch=True)
_selectors = st.sampled_from(["", "a=b", "a in (b,c),!d"])


@given(
    generation=st.sampled_from([Generation.V6, Generation.V8]),
    verb=st.sampled_from([Verb.LIST, Verb.WATCH]),
    options=st.builds(
        ListOptions,
        label_selector=_selectors,
        field_selector=st.sampled_from(["", "metadata.name=a", "spec.uuid!=b"]),
        limit=st.just(0) | st.integers(1, 2**53),
        continue_token=st.sampled_from(["", "dG9rZW4"]),
        resource_version=_versions,
        resource_version_match=st.just("NotOlderThan"),
        timeout_seconds=st.none() | st.integers(0, 2**63 - 1),
        allow_watch_bookmarks=st.booleans(),
        send_initial_events=st.none() | st.booleans(),
    ),
)
def test_options_come_back_as_they_were_sent(generation: Generation, verb: Verb, options: ListOptions) -> None:
    asked = request(verb, options=options)
    call = encode_request(generation, asked)
    found = decode_request(generation, call.method, call.message, call.metadata)
    if verb is Verb.LIST:  # a list has neither bookmarks nor initial events
        carried = replace(options, allow_watch_bookmarks=False, send_initial_events=None)
    else:  # and a watch has no pages
        carried = replace(options, limit=0, continue_token="")
    assert found == replace(asked, options=carried)


def test_a_name_in_a_write_is_the_name_of_the_request() -> None:
    call = encode_request(V6, request(Verb.UPDATE, name="gpu-0", body=encoded(gpu())))
    assert decode_request(V6, call.method, call.message).name == "gpu-0"


@given(
    generation=st.sampled_from([Generation.V6, Generation.V8]),
    place=st.integers(0, 200),
    damage=st.binary(min_size=1, max_size=3),
)
def test_a_damaged_write_is_read_or_refused(generation: Generation, place: int, damage: bytes) -> None:
    status = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}
    body = encoded(gpu({"uid": "u", "labels": {"a": "b"}}, status=status))
    message = encode_request(generation, request(Verb.UPDATE, name="gpu-0", body=body)).message
    with contextlib.suppress(BadRequest):
        decode_request(generation, "UpdateGpuStatus", message[:place] + damage + message[place + 1 :])
