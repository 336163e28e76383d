"""Objects without a class: `Unstructured`, a mapping over the document; `PartialObjectMetadata`, the metadata alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import msgspec

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.differences.difference import carry
from pilotage.meta.documents import canonical
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta, Resource
from pilotage.meta.scalars.hooks import enc_hook
from pilotage.meta.values import Value


class Unstructured(MutableMapping[str, Any]):
    """An object as its document: `obj["spec"]["size"]`, with typed `metadata` beside it.

    The document given is used, not copied. The typed metadata and `obj["metadata"]` are two views of the same data: a
    change of one is visible in the other at its next read, and fields of the metadata that the class `ObjectMeta` does
    not know are kept.
    """

    __hash__ = None  # type: ignore[assignment]  # it changes, and it is compared by value

    def __init__(self, document: Mapping[str, Any] | None = None) -> None:
        self._data: bytes | None = None
        self._content: dict[str, Any] = document if isinstance(document, dict) else dict(document or {})
        self._metadata: _TypedMetadata | None = None

    @classmethod
    def from_bytes(cls, data: objects.Bytes) -> Unstructured:
        """An object that keeps its bytes and decodes them on first access."""
        made = cls()
        made._data = data if isinstance(data, bytes) else bytes(data)
        return made

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Unstructured:
        """An object inside another one, as the codec reads it."""
        return cls(document)

    def to_bytes(self) -> bytes:
        """The object as JSON: the bytes that it was made from, if it was not accessed."""
        return self._data if self._data is not None else msgspec.json.encode(self.document, enc_hook=enc_hook)

    @property
    def document(self) -> dict[str, Any]:
        """The whole document, with what was changed in the typed metadata. Changing it changes the object."""
        content = self._read()
        if self._metadata is not None:
            self._metadata.write(content)
        return content

    @property
    def header(self) -> objects.Header:
        """Name, labels and the like; does not read the rest of the bytes."""
        return self._envelope().metadata

    @property
    def api_version(self) -> str:
        return self._type("apiVersion")

    @property
    def kind(self) -> str:
        return self._type("kind")

    @property
    def gvk(self) -> GroupVersionKind:
        """The group, version and kind of the object. DecodeError if apiVersion or kind is missing or invalid."""
        try:
            return GroupVersionKind.of(self.api_version, self.kind)
        except ValueError as error:
            raise DecodeError(f"{error}: apiVersion must be VERSION or GROUP/VERSION", path=".apiVersion") from error

    @property
    def metadata(self) -> ObjectMeta:
        """The metadata, typed; changes to it are changes to the document."""
        content = self._read()
        if self._metadata is None:
            self._metadata = _TypedMetadata(content)
        self._metadata.write(content)
        self._metadata.read(content)
        return self._metadata.typed

    @metadata.setter
    def metadata(self, value: ObjectMeta) -> None:
        content = self._read()
        if self._metadata is None:
            self._metadata = _TypedMetadata(content)
        self._metadata.typed = value  # the next access to the document applies the difference

    def nested(self, *path: str | int, default: Any = None) -> Any:
        """The value at a path of keys and indexes; `default` if it is absent or null. TypeError if a value on the way
        is neither an object nor a list.
        """
        value: Any = self._visible(path)
        for depth, step in enumerate(path):
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int):
                value = value[step] if -len(value) <= step < len(value) else None
            elif value is not None:
                raise _wrong_way(path, depth, value)
        return default if value is None else value

    def set_nested(self, value: Any, *path: str | int) -> None:
        """Set the value at a path; missing objects on the way are created."""
        parent, last = self._parent(path, make=True)
        parent[last] = value

    def remove_nested(self, *path: str | int) -> None:
        """Remove the value at a path, if it exists."""
        parent, last = self._parent(path, make=False)
        if isinstance(parent, dict):
            parent.pop(last, None)
        elif isinstance(parent, list) and isinstance(last, int) and -len(parent) <= last < len(parent):
            del parent[last]

    def __getitem__(self, key: str) -> Any:
        return self._visible((key,))[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._visible((key,))[key] = value

    def __delitem__(self, key: str) -> None:
        del self._visible((key,))[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document)

    def __len__(self) -> int:
        return len(self.document)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Unstructured):
            return self.document == other.document
        return self.document == other if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        try:
            found = self._envelope()
        except (DecodeError, TypeError, NotImplementedError) as error:  # a debugger must be able to show anything
            return f"<Unstructured: {error}>"
        name = "/".join(part for part in (found.metadata.namespace, found.metadata.name) if part)
        return f"<Unstructured {found.api_version or '?'} {found.kind or '?'} {name or '(no name)'}>"

    def _envelope(self) -> objects.Envelope:
        if self._data is not None:
            return objects.envelope(self._data)
        document = self.document
        part = {key: document[key] for key in ("apiVersion", "kind", "metadata") if key in document}
        return objects.envelope(msgspec.json.encode(part, enc_hook=enc_hook))

    def _read(self) -> dict[str, Any]:
        if self._data is not None:
            self._content, self._data = objects.read(self._data), None
        return self._content

    def _visible(self, path: tuple[str | int, ...]) -> dict[str, Any]:
        """The document, synchronized with the typed metadata if the path begins with `metadata`."""
        return self.document if not path or path[0] == "metadata" else self._read()

    def _type(self, key: str) -> str:
        if self._data is not None:
            found = objects.envelope(self._data)
            value: Any = found.kind if key == "kind" else found.api_version
        else:
            value = self._content.get(key)
        if not isinstance(value, str) or not value:
            problem = "is missing" if value in (None, "") else f"is {value!r}, not a string"
            raise DecodeError(
                f"this is not a Kubernetes object: {key} {problem}; give it apiVersion and kind", path=f".{key}"
            )
        return value

    def _parent(self, path: tuple[str | int, ...], *, make: bool) -> tuple[Any, Any]:
        if not path:
            raise TypeError("a path needs at least one key")
        value: Any = self._visible(path)
        for depth, step in enumerate(path[:-1]):
            inside = value.get(step) if isinstance(value, dict) else _item(path, depth, value)
            if inside is None:
                if not make:
                    return None, path[-1]
                inside = value[step] = {}
            value = inside
        if not isinstance(value, dict) and not (isinstance(value, list) and isinstance(path[-1], int)):
            raise _wrong_way(path, len(path) - 1, value)
        return value, path[-1]


class _TypedMetadata:
    """The typed view of a document's metadata, and the state in which both last agreed."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.typed = objects.metadata_of(content.get("metadata"))
        self._known = _known(self.typed)
        self._raw = canonical(content.get("metadata"))

    def write(self, content: dict[str, Any]) -> None:
        """Apply the changes of the typed view to the document; if both changed a field, the view wins."""
        now = _known(self.typed)
        if now != self._known:
            raw = content.get("metadata")
            content["metadata"] = carry(raw, self._known, now, ObjectMeta) if isinstance(raw, dict) else now
            self._known = now

    def read(self, content: dict[str, Any]) -> None:
        """Apply the changes of the document to the typed view. DecodeError if it is not metadata any more."""
        raw_now = canonical(content.get("metadata"))
        if raw_now == self._raw:
            return
        fresh = objects.metadata_of(content.get("metadata"))
        for name in ObjectMeta.__struct_fields__:
            value = getattr(fresh, name)
            if getattr(self.typed, name) != value:
                setattr(self.typed, name, value)
        self._known, self._raw = _known(self.typed), raw_now


def _known(metadata: ObjectMeta) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(metadata, enc_hook=enc_hook)
    return made


def _item(path: tuple[str | int, ...], depth: int, value: Any) -> Any:
    step = path[depth]
    if not isinstance(value, list) or not isinstance(step, int):
        raise _wrong_way(path, depth, value)
    return value[step]


def _wrong_way(path: tuple[str | int, ...], depth: int, value: Any) -> TypeError:
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[:depth]) or "."
    return TypeError(f"{where} is of type {type(value).__name__}, so there is no {path[depth]!r} in it")


class PartialObjectMetadata:
    """The metadata of an object, without the rest. `gvk` is the kind of the object."""

    __hash__ = None  # type: ignore[assignment]  # its metadata may change

    def __init__(self, gvk: GroupVersionKind, metadata: ObjectMeta | None = None) -> None:
        self.gvk = gvk
        self.metadata = ObjectMeta() if metadata is None else metadata

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartialObjectMetadata):
            return NotImplemented
        return (self.gvk, self.metadata) == (other.gvk, other.metadata)

    def __repr__(self) -> str:
        return f"PartialObjectMetadata(gvk={self.gvk!r}, metadata={self.metadata!r})"

    @classmethod
    def from_bytes(cls, gvk: GroupVersionKind, data: objects.Bytes) -> PartialObjectMetadata:
        """Read the metadata of any object of the kind, or of the PartialObjectMetadata that a server returns for it."""
        return cls(gvk, objects.metadata_in(data))

    @property
    def api_version(self) -> str:
        return self.gvk.api_version

    @property
    def kind(self) -> str:
        return self.gvk.kind

    @property
    def document(self) -> dict[str, Any]:
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": _known(self.metadata)}


class MetadataOnly(Value, frozen=True):
    """Can be passed wherever a class can, for objects of type `PartialObjectMetadata`."""

    gvk: GroupVersionKind

    @property
    def object_type(self) -> type[PartialObjectMetadata]:
        """The type of the objects that a call with this kind returns."""
        return PartialObjectMetadata


def metadata_only(kind: type[Resource] | GroupVersionKind) -> MetadataOnly:
    """Select only the metadata of a kind: `client.list(metadata_only(Pod))`."""
    return MetadataOnly(kind if isinstance(kind, GroupVersionKind) else kind.__resource__.gvk)
