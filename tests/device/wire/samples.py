"""GPUs as JSON, and bytes put together from field numbers without protobuf."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from pilotage.device.wire.generation import RESOURCE, Generation
from pilotage.rest import APIRequest, Verb

LENGTH_DELIMITED = 2
VARINT = 0


def text(number: int, value: str | bytes) -> bytes:
    """A field whose value has a length: a string, bytes or a message."""
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    """A field with an integer."""
    return varint(field << 3 | VARINT) + varint(value)


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def gpu(metadata: dict[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    """The document of gpu-0."""
    return {
        "apiVersion": "device.nvidia.com/v1alpha1",
        "kind": "GPU",
        "metadata": {"name": "gpu-0"} | (metadata or {}),
        "spec": {"uuid": "GPU-0"},
        "status": {"conditions": []},
    } | parts


def encoded(document: Any) -> bytes:
    return msgspec.json.encode(document)


def decoded(body: bytes | memoryview) -> Any:
    return msgspec.json.decode(body)


def request(verb: Verb, **parts: Any) -> APIRequest:
    return APIRequest(verb, RESOURCE, **parts)


_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
_times = (
    st.datetimes()
    .map(lambda time: time.replace(microsecond=0).isoformat() + "Z")
    .filter(lambda time: time != "0001-01-01T00:00:00Z")
)
_positive = st.integers(1, 2**63 - 1)
_maps = st.dictionaries(_texts, _texts, min_size=1, max_size=3)


def _some(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def documents(generation: Generation) -> st.SearchStrategy[dict[str, Any]]:
    """GPUs with the fields that a generation has."""
    metadata: dict[str, Any] = {}
    if generation is not Generation.V1:
        metadata["resourceVersion"] = st.from_regex(r"[1-9][0-9]{0,18}", fullmatch=True)
    if generation in (Generation.V6, Generation.V8):
        metadata |= {"uid": _names, "generation": _positive, "creationTimestamp": _times}
        metadata |= {"labels": _maps, "annotations": _maps}
    condition = dict.fromkeys(("type", "status", "reason", "message"), _texts)
    extra: dict[str, Any] = {"lastTransitionTime": _times}
    if generation is Generation.V8:
        extra["observedGeneration"] = _positive
    status = _some(
        {"conditions": st.lists(_some(condition, extra), max_size=4)},
        {"recommendedAction": _texts.filter(bool)},
    )
    return st.fixed_dictionaries(
        {
            "apiVersion": st.just("device.nvidia.com/v1alpha1"),
            "kind": st.just("GPU"),
            "metadata": _some({"name": _names}, metadata),
            "spec": st.fixed_dictionaries({"uuid": _texts}),
            "status": status,
        }
    )
