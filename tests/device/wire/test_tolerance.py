"""A server of V6 and clients of V2 and V3: a resource version is never taken for a namespace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.device.wire.client import encode_request
from pilotage.device.wire.generation import Generation
from pilotage.device.wire.server import decode_request
from pilotage.errors import BadRequest
from pilotage.rest import ListOptions, Verb

from .samples import request, text

OLDER = [Generation.V2, Generation.V3]
COLLECTIONS = [Verb.LIST, Verb.WATCH]
versions = st.from_regex(r"[0-9]{1,40}", fullmatch=True)


@pytest.mark.covers("D13")
@pytest.mark.parametrize("generation", [Generation.V1, *OLDER])
@pytest.mark.parametrize("verb", COLLECTIONS)
def test_an_old_request_without_a_version_asks_for_everything(generation: Generation, verb: Verb) -> None:
    call = encode_request(generation, request(verb))
    assert decode_request(Generation.V6, call.method, call.message) == request(verb)


@pytest.mark.covers("D13")
@given(generation=st.sampled_from(OLDER), verb=st.sampled_from(COLLECTIONS), version=versions)
def test_an_old_request_with_a_version_keeps_it(generation: Generation, verb: Verb, version: str) -> None:
    asked = request(verb, options=ListOptions(resource_version=version))
    call = encode_request(generation, asked)
    assert decode_request(Generation.V6, call.method, call.message) == asked


@given(version=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_options_of_v3_keep_any_version(version: str) -> None:
    asked = request(Verb.GET, name="gpu-0", options=ListOptions(resource_version=version))
    call = encode_request(Generation.V3, asked)
    assert decode_request(Generation.V6, call.method, call.message) == asked
    listed = request(Verb.LIST, options=ListOptions(resource_version=version))
    assert decode_request(Generation.V6, "ListGpus", encode_request(Generation.V3, listed).message) == listed


def test_a_version_longer_than_a_byte_can_count_makes_options_that_are_no_text() -> None:
    message = text(1, text(1, "1" * 200))
    assert decode_request(Generation.V6, "ListGpus", message).options.resource_version == "1" * 200


def test_a_version_in_the_options_of_v6_comes_before_one_in_the_place_of_the_namespace() -> None:
    found = decode_request(Generation.V6, "WatchGpus", text(1, "7") + text(2, text(1, "9")))
    assert found.options.resource_version == "9"


@pytest.mark.parametrize("method", ["ListGpus", "WatchGpus"])
@pytest.mark.parametrize("namespace", ["kube-system", "7a", "-7", "\u0667", " 7"])
def test_a_namespace_is_refused_aloud(method: str, namespace: str) -> None:
    with pytest.raises(BadRequest, match="cluster-scoped"):
        decode_request(Generation.V6, method, text(1, namespace))


@pytest.mark.parametrize(("method", "field"), [("ListGpus", 1), ("WatchGpus", 1), ("GetGpu", 2)])
def test_the_namespace_in_the_options_of_v3_is_checked(method: str, field: int) -> None:
    name = text(1, "gpu-0") if method == "GetGpu" else b""
    with pytest.raises(BadRequest, match="cluster-scoped"):
        decode_request(Generation.V6, method, name + text(field, text(1, "7") + text(2, "kube-system")))
    with pytest.raises(BadRequest, match="cluster-scoped"):
        decode_request(Generation.V6, method, name + text(field, text(2, "kube-system")))
    found = decode_request(Generation.V6, method, name + text(field, text(1, "7") + text(2, "default")))
    assert found.options.resource_version == "7"


@pytest.mark.parametrize("namespace", [b"\x0a\x7f", b"\x0a\xff", b"\x12\x05a", b"\xff\xfe"])
def test_what_is_neither_options_nor_text_is_refused(namespace: bytes) -> None:
    with pytest.raises(BadRequest):
        decode_request(Generation.V6, "ListGpus", text(1, namespace))


@pytest.mark.parametrize("generation", [Generation.V3, Generation.V8])
def test_namespaces_are_refused_by_other_generations_too(generation: Generation) -> None:
    message = text(1, text(2, "other")) if generation is Generation.V3 else text(1, "other")
    with pytest.raises(BadRequest, match="cluster-scoped"):
        decode_request(generation, "ListGpus", message)


def test_a_get_of_v2_has_a_name_alone() -> None:
    call = encode_request(Generation.V2, request(Verb.GET, name="gpu-0"))
    assert decode_request(Generation.V6, call.method, call.message) == request(Verb.GET, name="gpu-0")
