"""Objects as they are stored: compact JSON that begins with apiVersion, kind and metadata, without a resource version.

The resource version is the storage's revision and is put in when the bytes are read, by a splice: nothing is decoded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, overload

import msgspec

from pilotage.codec import verbatim
from pilotage.errors import UNREADABLE, ApiError, RequestTooLarge, Status, StorageBroken
from pilotage.meta.documents import Document
from pilotage.storage.interface import Entry

if TYPE_CHECKING:
    from pilotage.meta.fields.sets import FieldSet
    from pilotage.server.resources import ResourceInfo

T = TypeVar("T")

_METADATA = b'"metadata":{'
_NOT_STORED = ("resourceVersion", "selfLink")
_HEAD: Document = {"apiVersion": "", "kind": "", "metadata": {}}
"""The fields that come first, in this order."""
_decoder: msgspec.json.Decoder[Document] = msgspec.json.Decoder()
_encode = msgspec.json.Encoder().encode
_MAX_SHARED = 1024
_shared: dict[int, tuple[FieldSet, msgspec.Raw]] = {}
"""Field sets that many new objects have, with their bytes, by their `id`: as long as they are here, it is unique."""


class DroppedVersion(ApiError):
    """A custom resource is stored in a version that its definition no longer has."""

    def __init__(self, version: str) -> None:
        super().__init__(f"request to convert CR from an invalid group/version: {version}")


class UnreadableObject(ApiError):
    """A stored object is damaged: it can only be deleted."""

    def __init__(self, key: str, problem: str) -> None:
        self.problem = problem
        _, _, group, resource, name = key.split("/", 4)
        subject = resource if group == "core" else f"{resource}.{group}"
        message = (
            f'{subject} "{name}" cannot be read from the storage: {problem}. Delete it, or restore it from a backup'
        )
        super().__init__(status=Status(500, UNREADABLE, message))


class _OnlyMetadata(msgspec.Struct):
    metadata: msgspec.Raw


class _DeletionMetadata(msgspec.Struct, rename="camel"):
    deletion_timestamp: str = ""


class _Deletion(msgspec.Struct):
    metadata: _DeletionMetadata


def encode(document: Document) -> bytes:
    """The bytes to store."""
    if paths := verbatim.paths_of(document["apiVersion"], document["kind"]):
        document = verbatim.with_texts(document, paths)
    stored = _HEAD | document
    metadata = stored["metadata"] = dict(document["metadata"])
    metadata.pop("resourceVersion", None)
    metadata.pop("selfLink", None)
    entries = metadata.get("managedFields")
    if entries and len(entries) == 1 and (shared := _shared.get(id(entries[0].get("fieldsV1")))) is not None:
        metadata["managedFields"] = [entries[0] | {"fieldsV1": shared[1]}]
    return compact(stored)


def compact(document: Document) -> bytes:
    """The bytes to store for a document that is in its stored form, in its order."""
    # Copied, because the encoder leaves the unused part of its buffer with them: a sixth more to keep in memory.
    return bytes(memoryview(_encode(document)))


def share_fields(fields: FieldSet) -> None:
    """Remember the bytes of a field set that many new objects have. From now on it is not changed."""
    if len(_shared) >= _MAX_SHARED:
        _shared.clear()
    _shared[id(fields)] = fields, msgspec.Raw(_encode(fields))


def to_json(document: Document | list[Document]) -> bytes:
    """The bytes of a document that is not stored, or of a part of one."""
    return _encode(document)


def decode(data: bytes) -> Document:
    """A private document from stored or stamped bytes. Raises StorageBroken if they are not a document."""
    return decode_as(_decoder, data)


def decode_as(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    """The result of a decoder for stored bytes. Raises StorageBroken if they are not a document."""
    try:
        return decoder.decode(data)
    except msgspec.DecodeError as error:
        raise _unreadable(data, error) from error


def _unreadable(data: bytes, error: Exception) -> StorageBroken:
    try:
        check_decrypted(data)
    except StorageBroken as encrypted:
        return encrypted
    return StorageBroken(f"a stored object is not JSON ({error}): check the storage with `pilotage store check URL`")


def check_decrypted(data: bytes) -> None:
    """Raises StorageBroken for bytes that are still encrypted."""
    from pilotage.storage.encryption import MARK

    if data.startswith(MARK):
        name = data[len(MARK) :].partition(b":")[0].decode(errors="replace")
        raise StorageBroken(f"the object is encrypted with the key {name!r}: give the keys (--encryption-keys)")


def private(document: Document) -> Document:
    """A copy of a document that shares nothing with it."""
    return decode(_encode(document))


def internal(data: bytes, info: ResourceInfo) -> Document:
    """A private document of the bytes of an object, in the form that strategies work on."""
    document, codec = decode(data), info.codec
    if codec is not None:
        entries = document["metadata"].pop("managedFields", None)  # written by this server, in the form of both
        if paths := verbatim.paths_of(document["apiVersion"], document["kind"]):
            verbatim.keep_texts(document, paths, data)
        document = codec.decode_stored(document)
        if entries:
            document["metadata"]["managedFields"] = entries
    return document


def stamp(value: bytes, revision: int) -> bytes:
    """Stored bytes with their resource version."""
    return value.replace(_METADATA, b'"metadata":{"resourceVersion":"%d",' % revision, 1)


def unstored(value: bytes, metadata: Document, fields: Sequence[str] = _NOT_STORED) -> bytes:
    """The bytes that a dry run would have stored, with the metadata fields that are sent but never stored."""
    sent = {key: metadata[key] for key in fields if metadata.get(key)}
    if not sent:
        return value
    at = value.index(_METADATA) + len(_METADATA)
    return b"%b%b,%b" % (value[:at], _encode(sent)[1:-1], value[at:])


def reread(value: bytes, info: ResourceInfo, revision: int = 0) -> bytes:
    """Bytes that have just been written, as a reader sees them; without a revision it was a dry run."""
    if info.stored is not info:
        value = encode(converted(decode(value), info))
    return stamp(value, revision) if revision else value


def current(entry: Entry, info: ResourceInfo) -> bool:
    """Whether the stored bytes are what a reader of `info` sees: its version, written under its schema."""
    fits = entry.value.startswith(info.head)
    return fits and not (info.custom and entry.revision < info.definition_revision)


def as_read(entry: Entry, info: ResourceInfo, revision: int = 0) -> bytes:
    """An entry as a reader of `info` sees it: at that version, by that schema, with its resource version."""
    value = entry.value if current(entry, info) else encode(converted(decode(entry.value), info))
    return stamp(value, revision or entry.revision)


class EntriesAsRead(Sequence[bytes]):
    """Entries as a reader sees them, if their stored bytes are current. Bytes are made on access: a list in process may
    have many objects of which few are read.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> EntriesAsRead: ...
    def __getitem__(self, index: int | slice) -> bytes | EntriesAsRead:
        if isinstance(index, slice):
            return EntriesAsRead(self._entries[index])
        entry = self._entries[index]
        return stamp(entry.value, entry.revision)

    def __iter__(self) -> Iterator[bytes]:
        return (stamp(entry.value, entry.revision) for entry in self._entries)

    def __eq__(self, other: object) -> bool:  # pages are compared by their values
        return isinstance(other, EntriesAsRead | list) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # as a list


def all_as_read(entries: Sequence[Entry], info: ResourceInfo) -> Sequence[bytes]:
    """Entries as a reader of `info` sees them."""
    if all(current(entry, info) for entry in entries):
        return EntriesAsRead(entries)
    return [as_read(entry, info) for entry in entries]


def converted(document: Document, info: ResourceInfo) -> Document:
    """A stored document in the version of `info`: adapted to the schema of its own version, then converted."""
    origin = _origin(document, info)
    if origin.codec is not None and info.codec is not None:
        document = origin.codec.decode_stored(document)
        document = info.strategy.convert(document) | {"apiVersion": info.gvk.api_version, "kind": info.gvk.kind}
        info.codec.encode(document)
        return document
    _apply_schema_leniently(document, origin)
    return document if origin is info else _convert_and_prune(document, info)


def at_origin(value: bytes, info: ResourceInfo) -> Document:
    """The document of stored bytes of a custom resource, at the version that it was stored at."""
    document = decode(value)
    _apply_schema_leniently(document, _origin(document, info))
    return document


def check_versions(entries: Sequence[Entry], info: ResourceInfo) -> None:
    """Raises DroppedVersion if an object is stored in a version that its definition no longer has."""
    if not info.custom:
        return
    heads = info.heads
    for entry in entries:
        if not entry.value.startswith(heads):
            _origin(decode(entry.value), info)


def _origin(document: Document, info: ResourceInfo) -> ResourceInfo:
    origin = info.versions.get(document["apiVersion"])
    if origin is None and info.custom and info.versions:  # a read without a server does not know them, and needs one
        raise DroppedVersion(document["apiVersion"])
    return origin or info.stored


def _apply_schema_leniently(document: Document, info: ResourceInfo) -> None:
    from pilotage.schema.structural import DefaultsTooLargeError

    with suppress(DefaultsTooLargeError):  # the defaults of a newer schema exceed the size limit: set as many as fit
        _apply_schema(document, info)


def storable(document: Document, info: ResourceInfo) -> Document:
    """A document of `info` in the form that is stored; one of a built-in kind is completed in place."""
    stored = info.stored
    if stored is info:
        if info.codec is not None:
            info.codec.encode(document)
        return document
    if stored.codec is not None:
        document = stored.strategy.convert(decode(_encode(document)))
        document |= {"apiVersion": stored.gvk.api_version, "kind": stored.gvk.kind}
        stored.codec.encode(document)
        return document
    return with_schema_applied(in_version(document, stored), stored)


def with_schema_applied(document: Document, stored: ResourceInfo) -> Document:
    """A document that was converted to the stored version, with its defaults, in place."""
    from pilotage.schema.structural import DefaultsTooLargeError

    try:
        _apply_schema(document, stored)
    except DefaultsTooLargeError as error:
        raise RequestTooLarge(f"Request entity too large: {error}") from None
    return document


def _apply_schema(document: Document, info: ResourceInfo) -> None:
    document["apiVersion"] = info.gvk.api_version
    if info.schema is not None:
        info.schema.prune(document)
        info.schema.default(document)


def in_version(document: Document, info: ResourceInfo) -> Document:
    """A document of another version, converted to this version; the given document is not changed."""
    copy = decode(_encode(document))
    return _convert_and_prune(copy, info) if info.codec is None else converted(copy, info)


def _convert_and_prune(document: Document, info: ResourceInfo) -> Document:
    return prune(unpruned(document, info), info)


def unpruned(document: Document, info: ResourceInfo) -> Document:
    """A document of another version, converted to this version, with unknown fields. The given document may be
    changed."""
    assert info.conversion is None, "a webhook converts: `conversion.Conversions`"
    return info.strategy.convert(document)


def prune(document: Document, info: ResourceInfo) -> Document:
    """A document of this version without the fields that its schema does not know, in place."""
    document["apiVersion"] = info.gvk.api_version
    if info.schema is not None:
        info.schema.prune(document)
    return document


def terminating(value: bytes) -> bool:
    """Whether stored bytes are of an object that is being deleted."""
    return (
        b'"deletionTimestamp"' in value and msgspec.json.decode(value, type=_Deletion).metadata.deletion_timestamp != ""
    )


def metadata_only(data: bytes, version: str = "v1", hidden: Collection[str] = ()) -> bytes:
    """The PartialObjectMetadata of an object; the metadata is copied unchanged, without `hidden` annotations."""
    metadata = bytes(msgspec.json.decode(data, type=_OnlyMetadata).metadata)
    if hidden:
        shown = decode(metadata)
        kept = {key: value for key, value in (shown.pop("annotations", None) or {}).items() if key not in hidden}
        metadata = to_json(shown | ({"annotations": kept} if kept else {}))
    head = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/'
    return b'%b%b","metadata":%b}' % (head, version.encode(), metadata)
