"""Decodes objects, remembers the bytes that they were decoded from, and encodes them without losing unknown fields."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from pilotage.errors import DecodeError, Invalid, InvalidDefinition
from pilotage.meta.differences.difference import carry_parts
from pilotage.meta.models import (
    FieldShape,
    ManagedFieldsEntry,
    Model,
    ObjectMeta,
    Origin,
    OwnerReference,
    Resource,
    omit,
    shapes,
)
from pilotage.meta.redaction import metadata_repr, reason_of
from pilotage.meta.scalars.hooks import ENCODE_ERRORS, Documented, dec_hook, enc_hook

R = TypeVar("R", bound=Resource)
M = TypeVar("M", bound=Model)
T = TypeVar("T")

Bytes = bytes | memoryview
"""JSON of one object. A memoryview where it is a slice of a larger answer."""


class Header(Model, frozen=True, gc=False):
    """The part of an object's metadata that storing, caching and selecting it needs."""

    name: str = omit("")
    namespace: str = omit("")
    uid: str = omit("")
    resource_version: str = omit("")
    generation: int = omit(0)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []

    def __repr__(self) -> str:
        return metadata_repr(self, self.annotations)


class _Metadata(Model):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class _RawMetadata(Model, gc=False):
    managed_fields: msgspec.Raw = msgspec.Raw()


class _RawEntries(Model, gc=False):
    metadata: _RawMetadata = msgspec.field(default_factory=_RawMetadata)


class Envelope(Model, frozen=True, gc=False):
    """What every document has, whatever its kind: apiVersion, kind and the header of its metadata."""

    api_version: str = omit("")
    kind: str = omit("")
    metadata: Header = msgspec.field(default_factory=Header)


_DECODERS: dict[type[Model], msgspec.json.Decoder[Any]] = {}
_PREFIXES: dict[type[Resource], bytes] = {}
_ENCODER = msgspec.json.Encoder(enc_hook=enc_hook)
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_RAW_ENTRIES = msgspec.json.Decoder(_RawEntries)
_MANAGED_FIELDS = b'"managedFields":'
_ORIGIN = "_origin"
_remember: Callable[[Resource, bytes], None] = getattr(Origin, _ORIGIN).__set__  # works on frozen objects, too
_MAKING = threading.Lock()


def decode(kind: type[R], data: Bytes) -> R:
    """Read an object of `kind`; it remembers the bytes.

    A `memoryview` is copied: it is a slice of a list or of a receive buffer, and must not keep all of that alive.
    """
    data = data if type(data) is bytes else bytes(data)
    made = _decoded(kind, data)
    _remember(made, data)
    return made


def encode(obj: Resource | Documented) -> bytes:
    """The whole object as JSON: apiVersion and kind first, then metadata, then the rest."""
    if not isinstance(obj, Resource):
        return _ENCODER.encode(obj.document)
    return _with_prefix(type(obj), obj)


def _with_prefix(kind: type[Resource], rest: Resource | dict[str, Any]) -> bytes:
    return b"".join((prefix_of(kind), memoryview(_ENCODER.encode(rest))[1:]))


def document_of(obj: Resource | Documented) -> dict[str, Any]:
    """The object as a new plain document (of an `Unstructured`: its own document)."""
    if not isinstance(obj, Resource):
        return obj.document
    gvk = obj.__resource__.gvk
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, **_builtins(obj)}


def origin_of(obj: object) -> bytes | None:
    """The bytes that `obj` was read from, if it was read."""
    return getattr(obj, _ORIGIN, None)


def with_origin(obj: R, data: bytes) -> R:
    """Set `data` as the bytes that `obj` was decoded from. Returns the same object."""
    _remember(obj, data)
    return obj


def copy_of(obj: T) -> T:
    """A deep copy that remembers the same origin."""
    made = copy.deepcopy(obj)
    origin = origin_of(obj)
    if origin is not None and isinstance(made, Resource):
        _remember(made, origin)
    return made


def updated(obj: Resource | Documented, origin: bytes | None = None) -> bytes:
    """The bytes to write for a changed object: those that it was decoded from, with the changes.

    `origin` replaces the bytes that `obj` remembers. Without either, the whole object is encoded. Raises Invalid for a
    value that JSON does not have.
    """
    try:
        data = _updated(obj, origin)
    except ENCODE_ERRORS:
        _refuse_unwritable(obj)
        raise
    if b"null" in data:  # what the encoder writes for NaN and infinity
        from pilotage.meta.scalars.unwritable import may_have_infinite_number

        if may_have_infinite_number(obj):
            _refuse_unwritable(obj)
    return data


def _refuse_unwritable(obj: Resource | Documented) -> None:
    from pilotage.meta.scalars.unwritable import unwritable  # few programs need it

    if causes := tuple(unwritable(obj)):
        if isinstance(obj, Resource):
            gvk, name = obj.__resource__.gvk, obj.metadata.name
            raise Invalid.of_kind(gvk.group, gvk.kind, name, causes)
        document, metadata = obj.document, obj.document.get("metadata")
        group, name = str(document.get("apiVersion")).rpartition("/")[0], (metadata or {}).get("name") or ""
        raise Invalid.of_kind(group, str(document.get("kind")), str(name), causes)


def _updated(obj: Resource | Documented, origin: bytes | None) -> bytes:
    source = origin if origin is not None else origin_of(obj)
    if source is None or not isinstance(obj, Resource):
        return encode(obj)
    kind = type(obj)
    if obj.metadata.managed_fields and (rest := _without_managed_fields(obj.metadata, source)) is not None:
        # A server keeps managed fields that a write leaves out. They may be half of the object: not worth comparing.
        source = rest
        obj = msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, managed_fields=[]))
    read_as = _decoded(kind, source)
    base, before, after = map(_PARTS.decode, (source, _ENCODER.encode(read_as), _ENCODER.encode(obj)))
    carried = carry_parts(base, before, after, kind)
    for name in ("apiVersion", "kind"):  # the class's values are written: an item of a list has no such fields
        carried.pop(name, None)
    return _with_prefix(kind, {"metadata": {}} | carried)


def _without_managed_fields(metadata: ObjectMeta, source: bytes) -> bytes | None:
    """The bytes of an object without its managed fields; None if they differ from those in `metadata`.

    They are compared and cut out as bytes, so those that a server wrote in another form are never the same.
    """
    start = source.find(_MANAGED_FIELDS)
    text = _MANAGED_FIELDS + _ENCODER.encode(metadata.managed_fields)
    end = start + len(text)
    if not source.startswith(text, start) or source.find(_MANAGED_FIELDS, end) >= 0:
        return None
    try:
        entries = _RAW_ENTRIES.decode(source).metadata.managed_fields
    except msgspec.DecodeError:
        return None
    if len(entries) != len(text) - len(_MANAGED_FIELDS):  # managed fields of an object inside this one
        return None
    if source[end : end + 1] == b",":
        return source[:start] + source[end + 1 :]
    return source[:start].removesuffix(b",") + source[end:]


def header(data: Bytes) -> Header:
    """The header of an object, without reading the rest of it."""
    return envelope(data).metadata


def envelope(data: Bytes) -> Envelope:
    """The apiVersion, kind and header of an object, without reading the rest of it."""
    return _decoded(Envelope, data)


def metadata_in(data: Bytes) -> ObjectMeta:
    """The typed metadata of an object, without reading the rest of it."""
    return _decoded(_Metadata, data if type(data) is bytes else bytes(data)).metadata


def metadata_of(document: Any) -> ObjectMeta:
    """Typed metadata from its document."""
    try:
        return msgspec.convert(_normalized(document or {}, ObjectMeta), ObjectMeta, dec_hook=dec_hook)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _refusal("metadata", document, error, document) from error


def read(data: Bytes) -> dict[str, Any]:
    """An object's bytes as a plain document; DecodeError if they are not a JSON object."""
    try:
        return _OBJECT.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = reason_of(error)
    # Raised outside of the handler, because the original error may contain the whole object, which may be a Secret.
    raise DecodeError(f"an object cannot be read: {reason}; it must be a JSON object")


def _decoded(kind: type[M], data: Bytes) -> M:
    decoder = _DECODERS.get(kind) or _decoder(kind)
    try:
        made: M = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # decoding it again below raises the error
    else:
        return made
    return _tolerantly(kind, data)


def _tolerantly(kind: type[M], data: Bytes) -> M:
    """Decode again, more slowly and tolerantly: other writers may write `null` or omit required lists."""
    document = read(data)
    try:
        return msgspec.convert(_normalized(document, kind), kind, dec_hook=dec_hook)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _refusal(_name(kind), document.get("metadata"), error, document) from error


def _normalized(document: Any, model: type[Model]) -> Any:
    """A copy of `document` in which `model` can decode absent and null fields; values of wrong types are not changed.

    `null` is dropped where it is not a value of the field, an absent list or map that is required becomes an empty one,
    and a whole number written as `1.0` is a whole number.
    """
    if not isinstance(document, dict):
        return document
    made = dict(document)
    for name, shape in shapes(model).items():
        value = made.get(name)
        if value is not None:
            made[name] = _normalized_value(value, shape)
        elif name not in made or not shape.nullable:
            made.pop(name, None)
            if shape.required and shape.container:
                made[name] = [] if shape.container == "list" else {}
    if model is ManagedFieldsEntry and "fieldsV1" in made:
        made["fieldsV1"] = msgspec.Raw(msgspec.json.encode(made["fieldsV1"]))
    return made


def _normalized_value(value: Any, shape: FieldShape) -> Any:
    if shape.model is None:
        return int(value) if isinstance(value, float) and value.is_integer() else value
    model = shape.model
    if shape.container == "list" and isinstance(value, list):
        return [_normalized(item, model) for item in value]
    if shape.container == "map" and isinstance(value, dict):
        return {key: _normalized(item, model) for key, item in value.items()}
    return _normalized(value, model) if not shape.container else value


def _decoder(kind: type[Model]) -> msgspec.json.Decoder[Any]:
    """The decoder of a class, made by one thread at a time.

    msgspec stores what it knows of a class, and of the classes of its fields, on these classes, and marks them as known
    before it has stored everything: a second thread that decodes meanwhile crashes the interpreter.
    """
    try:
        with _MAKING:
            found = _DECODERS.get(kind)
            if found is None:
                found = _DECODERS[kind] = msgspec.json.Decoder(kind, dec_hook=dec_hook)
            return found
    except NameError as error:
        raise InvalidDefinition(
            f"{kind.__module__}.{kind.__qualname__}: a type hint cannot be read ({error}); "
            "define or import that name in the class's module, not inside a function"
        ) from error


def prefix_of(kind: type[Resource]) -> bytes:
    """What the bytes of all objects of a class begin with: apiVersion and kind."""
    found = _PREFIXES.get(kind)
    if found is None:
        gvk = kind.__resource__.gvk
        head = msgspec.json.encode({"apiVersion": gvk.api_version, "kind": gvk.kind})
        found = _PREFIXES[kind] = head[:-1] + b","
    return found


def _builtins(obj: Model) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(obj, enc_hook=enc_hook)
    return made


def _name(kind: type[Model]) -> str:
    return kind.__resource__.gvk.kind if issubclass(kind, Resource) else "the metadata of an object"


def _refusal(what: str, metadata: Any, error: Exception, document: Any) -> DecodeError:
    reason, _, place = str(error).partition(" - at `$")
    path = place.rstrip("`")
    if "[...]" in path:
        from pilotage.meta.paths import with_keys  # few errors need it

        path = with_keys(path, document, reason)
    identity = metadata if isinstance(metadata, dict) else {}
    names = [name for key in ("namespace", "name") if isinstance(name := identity.get(key), str) and name]
    subject = " ".join([what, "/".join(names)]) if names else what
    where = f" at {path}" if path else ""
    return DecodeError(
        f"{subject} cannot be read: {reason}{where}; fix the object, or change the class to allow this", path=path
    )


_decoder(Envelope)
_decoder(_Metadata)  # here, because metadata is also read without a decoder
