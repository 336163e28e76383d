"""What surrounds a message: the envelope with its kind, and the frames of a watch."""

from __future__ import annotations

from typing import NamedTuple

from pilotage.errors import DecodeError
from pilotage.meta.protobuf.messages import Message
from pilotage.meta.protobuf.values import SCALARS

PREFIX = b"k8s\0"
"""How every message begins. The last byte names the form of the envelope; there is only this one."""

_TYPE_META = Message("TypeMeta", [(1, "apiVersion", "", "string"), (2, "kind", "", "string")], SCALARS.__getitem__)
_UNKNOWN = Message(
    "Unknown",
    [
        (1, "typeMeta", "", "TypeMeta"),
        (2, "raw", "p", "raw"),
        (3, "contentEncoding", "", "string"),
        (4, "contentType", "", "string"),
    ],
    lambda _: _TYPE_META,
)
_RAW_EXTENSION = Message("RawExtension", [(1, "raw", "p", "raw")], SCALARS.__getitem__)
_WATCH_EVENT = Message(
    "WatchEvent", [(1, "type", "", "string"), (2, "object", "", "RawExtension")], lambda _: _RAW_EXTENSION
)


class Enveloped(NamedTuple):
    """A message with the kind that its envelope names, each part of which may be empty."""

    api_version: str
    kind: str
    content: bytes


def wrap(api_version: str, kind: str, content: bytes) -> bytes:
    """A message in its envelope."""
    type_meta = {"apiVersion": api_version, "kind": kind}
    return PREFIX + _UNKNOWN.content({"typeMeta": type_meta, "raw": content})


def unwrap(data: bytes) -> Enveloped:
    """Take a message out of its envelope. Raises DecodeError."""
    if not data:
        raise DecodeError("empty data")
    if not data.startswith(PREFIX):
        expected = " ".join(map(str, PREFIX))
        raise DecodeError(f"provided data does not appear to be a protobuf message, expected prefix [{expected}]")
    if len(data) == len(PREFIX):
        raise DecodeError("empty body")
    envelope = _UNKNOWN.read(data, len(PREFIX), len(data), 0)
    kind = envelope.get("typeMeta", {})
    return Enveloped(kind.get("apiVersion", ""), kind.get("kind", ""), envelope.get("raw", b""))


def frame(event: str, enveloped: bytes) -> bytes:
    """One event of a watch: four bytes of length, then the event with its object."""
    content = _WATCH_EVENT.content({"type": event, "object": {"raw": enveloped}})
    return len(content).to_bytes(4, "big") + content
