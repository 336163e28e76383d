"""Protobuf of the built-in kinds and of the API's own: each message's table is compiled when it is first used."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.protobuf import envelope
from pilotage.meta.protobuf.envelope import Enveloped
from pilotage.meta.protobuf.messages import Message, Row
from pilotage.meta.protobuf.special import special
from pilotage.meta.protobuf.values import SCALARS, ProtobufType
from pilotage.meta.text import limits
from pilotage.types import builtin

__all__ = ["decode", "encode", "has_message", "unwrap", "zero"]

_META = "k8s.io.apimachinery.pkg.apis.meta.v1."
_ZEROS = {
    "k8s.io.apimachinery.pkg.api.resource.Quantity": "0",
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": 0,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": None,
    f"{_META}Time": None,
    f"{_META}MicroTime": None,
}
_API_KINDS = frozenset(
    (
        "APIGroup",
        "APIGroupList",
        "APIResourceList",
        "APIVersions",
        "DeleteOptions",
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
        "Status",
    )
)
"""The kinds of the API itself: they have the same message in every group."""
_DISCOVERY = {"APIGroupDiscoveryList": "k8s.io.api.apidiscovery.v2.APIGroupDiscoveryList"}


def has_message(gvk: GroupVersionKind) -> bool:
    """Whether a kind can be encoded as protobuf. Custom resources cannot."""
    return _name(gvk.api_version, gvk.kind) in _tables()


def encode(document: Document) -> bytes:
    """A document of a built-in kind in its envelope. Raises TypeError or ValueError where a value has a wrong type."""
    api_version, kind = document.get("apiVersion", ""), document["kind"]
    return envelope.wrap(api_version, kind, _message(_name(api_version, kind)).content(document))


def unwrap(data: bytes, expected: GroupVersionKind) -> Enveloped:
    """The message in a body; a kind that its envelope does not name is the expected one. Raises DecodeError."""
    limits.check_size(len(data), limits.DEFAULT)
    api_version, kind, content = envelope.unwrap(data)
    return Enveloped(api_version or expected.api_version, kind or expected.kind, content)


def decode(message: Enveloped) -> Document:
    """The document of a message; only apiVersion and kind where the kind is not built in. Raises DecodeError."""
    document: Document = {"apiVersion": message.api_version, "kind": message.kind}
    name = _name(message.api_version, message.kind)
    if name in _tables():
        _message(name).read_into(document, message.content, 0, len(message.content), 1)
        limits.check_depth(document, limits.DEFAULT)
    return document


def zero(gvk: GroupVersionKind) -> Document:
    """Go's JSON of an empty object of a built-in kind: the fields that are never omitted."""
    return _zero(_name(gvk.api_version, gvk.kind))


def _zero(name: str) -> Document:
    document: Document = {}
    for _, key, flags, kind in msgspec.json.decode(_tables()[name], type=list[Row]):
        if kind in SCALARS or set(flags) & {"p", "r", "m"}:
            if not set(flags) & {"o", "z"}:
                nothing = kind == "bytes" or set(flags) & {"p", "r", "m"}
                document[key] = None if nothing else SCALARS[kind].empty
        elif not key:
            document |= _zero(kind)
        elif kind in _ZEROS:
            if "z" not in flags:
                document[key] = _ZEROS[kind]
        else:
            document[key] = _zero(kind)
    return document


def _name(api_version: str, kind: str) -> str:
    """The name of the message of a kind; empty if the kind is not built in."""
    if kind in _API_KINDS:
        return _META + kind
    if kind in _DISCOVERY:
        return _DISCOVERY[kind]
    try:
        definition = builtin.definition_name(GroupVersionKind.of(api_version, kind))
    except ValueError:
        return ""
    return "k8s.io." + definition.removeprefix("io.k8s.").replace("-", "_") if definition else ""


def _message(name: str) -> Message:
    found = _value(name)
    if not isinstance(found, Message):
        raise KeyError(f"{name} is not an object")
    return found


@cache
def _value(name: str) -> ProtobufType:
    rows = msgspec.json.decode(_tables()[name], type=list[Row])
    return special(name, rows, _value) or Message(name, rows, _value)


@cache
def _tables() -> dict[str, Any]:
    data = (Path(__file__).parent / "data" / "messages.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
