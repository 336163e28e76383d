"""Objects as they are stored: compact JSON that begins with apiVersion, kind and metadata, without a resource version.

The resource version is the storage's revision and is put in when the bytes are read, by a splice: nothing is decoded.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from pilotage.errors import RequestTooLarge
from pilotage.schema.structural import DefaultsTooLargeError
from pilotage.server.events import completed_event, converted_event
from pilotage.server.served import Served
from pilotage.storage.interface import Entry

Document = dict[str, Any]

_METADATA = b'"metadata":{'
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class _OnlyMetadata(msgspec.Struct):
    metadata: msgspec.Raw


class _DeletionMetadata(msgspec.Struct, rename="camel"):
    deletion_timestamp: str = ""


class _Deletion(msgspec.Struct):
    metadata: _DeletionMetadata


def encode(document: Document) -> bytes:
    """The bytes to store."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "resourceVersion"}
    head = {"apiVersion": document["apiVersion"], "kind": document["kind"], "metadata": metadata}
    return _encode(head | {key: value for key, value in document.items() if key not in head})


def decode(data: bytes) -> Document:
    """A private document of stored or stamped bytes."""
    document: Document = _decode(data)
    return document


def stamp(value: bytes, revision: int) -> bytes:
    """Stored bytes with their resource version."""
    at = value.index(_METADATA) + len(_METADATA)
    return b'%b"resourceVersion":"%d",%b' % (value[:at], revision, value[at:])


def reread(value: bytes, served: Served, revision: int = 0) -> bytes:
    """Bytes that have just been written as a reader sees them; without a revision they were not really written."""
    if served.stored is not served:
        value = encode(converted(decode(value), served))
    return stamp(value, revision) if revision else value


def current(entry: Entry, served: Served) -> bool:
    """Whether the stored bytes are what a reader of `served` sees: its version, written under its schema."""
    fits = entry.value.startswith(served.head)
    return fits and not (served.custom and entry.revision < served.definition_revision)


def view(entry: Entry, served: Served, revision: int = 0) -> bytes:
    """An entry as a reader of `served` sees it: at that version, by that schema, with its resource version."""
    value = entry.value if current(entry, served) else encode(converted(decode(entry.value), served))
    return stamp(value, revision or entry.revision)


def converted(document: Document, served: Served) -> Document:
    """A stored document as `served` shows it: fitted to the schema of its own version, then turned to this one."""
    origin = served.versions.get(document["apiVersion"], served.stored)
    with suppress(DefaultsTooLargeError):  # a schema that came later asks for more than there is room: as many as fit
        _fit(document, origin)
    return document if origin is served else _turned(document, served)


def storable(document: Document, served: Served) -> Document:
    """A document of `served` in the form that is stored."""
    stored = served.stored
    if stored is served:
        return document
    turned = _turned(decode(_encode(document)), stored)  # a copy: the caller's own stays as it is
    try:
        _fit(turned, stored)
    except DefaultsTooLargeError as error:
        raise RequestTooLarge(f"Request entity too large: {error}") from None
    return turned


def _fit(document: Document, served: Served) -> None:
    document["apiVersion"] = served.gvk.api_version
    if served.schema is not None:
        served.schema.prune(document)
        served.schema.default(document)


def _turned(document: Document, served: Served) -> Document:
    if served.stored.group_resource == ("", "events"):
        document = converted_event(document, served.gvk.group)
    document["apiVersion"] = served.gvk.api_version
    if served.schema is not None:
        served.schema.prune(document)
    return completed_event(document) if served.gvk.group == "events.k8s.io" else document


def terminating(value: bytes) -> bool:
    """Whether stored bytes are of an object that is being deleted."""
    return (
        b'"deletionTimestamp"' in value and msgspec.json.decode(value, type=_Deletion).metadata.deletion_timestamp != ""
    )


def metadata_only(data: bytes) -> bytes:
    """The PartialObjectMetadata of an object; the metadata is copied as it stands."""
    metadata = msgspec.json.decode(data, type=_OnlyMetadata).metadata
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":%b}' % bytes(metadata)


def same(one: Document, other: Document) -> bool:
    """Whether two documents say the same; unlike `==`, true is not 1."""
    return one == other and _encode_sorted(one) == _encode_sorted(other)
