"""Messages: tables of fields, compiled when they are first used, that turn wire bytes to documents and back.

The document is what Go's JSON of the same object is, without the nulls; the bytes are those that Go writes. So a field
that is not a pointer is always written, and one that is empty is left out of the document where JSON leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pilotage.errors import DecodeError
from pilotage.meta.documents import Document
from pilotage.meta.protobuf import wire
from pilotage.meta.protobuf.values import SCALARS, ProtobufType, ScalarType
from pilotage.meta.text.limits import DEFAULT

Row = tuple[int, str, str, str]
"""The number of a field, its JSON name, its flags and its type.

The name is empty where the fields of a message are fields of its parent in JSON. Flags: `r` repeated, `m` a map from
strings, `p` a pointer, `o` left out of JSON when empty, `z` left out of JSON when it is the zero value of its type.
"""
Resolve = Callable[[str], ProtobufType]
"""Finds a type by the name of its message."""


class Message:
    """A message type. Reads into a document, and writes one."""

    wire = wire.LENGTH

    def __init__(self, name: str, rows: Sequence[Row], resolve: Resolve) -> None:
        self.name = name
        self._rows = rows
        self._resolve = resolve

    @cached_property
    def _fields(self) -> dict[int, _Field]:
        return {row[0]: self._field(row) for row in sorted(self._rows)}

    def _field(self, row: Row) -> _Field:
        value = SCALARS.get(row[3]) or self._resolve(row[3])
        if "m" in row[2]:
            return _Map(row, value)
        if "r" in row[2]:
            return _List(row, value)
        return _Field(row, value) if row[1] else _Inline(row, value)

    @cached_property
    def _zero(self) -> bytes:
        return self.write({})

    def zero(self) -> bytes:
        return self._zero

    def read(self, data: bytes, at: int, end: int, depth: int) -> Any:
        document: Document = {}
        self.read_into(document, data, at, end, depth)
        return document

    def read_into(self, document: Document, data: bytes, at: int, end: int, depth: int) -> None:
        """Read fields into a document that may have some: of a field that comes again, the last value counts."""
        if depth > DEFAULT.depth:
            raise DecodeError(f"the document is nested deeper than {DEFAULT.depth} levels")
        fields = self._fields
        while at < end:
            tag = data[at]
            if tag < 0x80:
                at += 1
            else:
                tag, at = wire.read_varint(data, at, end)
            kind, field = tag & 7, fields.get(tag >> 3)
            if field is None:
                at = wire.skip(data, at, end, kind, tag >> 3)
                continue
            if kind == wire.LENGTH:
                at, stop = wire.read_length(data, at, end)
            else:
                stop = wire.skip(data, at, end, kind, tag >> 3)
            if kind == field.wire:
                field.read_into(document, data, at, stop, depth)
            elif kind == wire.LENGTH and isinstance(field, _List):
                field.read_packed(document, data, at, stop, depth)
            else:
                raise DecodeError(f"proto: wrong wireType = {kind} for field {field.name or self.name}")
            at = stop

    def write(self, value: Any) -> bytes:
        return wire.delimited(self.content(value))

    def content(self, document: Mapping[str, Any]) -> bytes:
        """The fields of a document, in the order of their numbers."""
        out = bytearray()
        for field in self._fields.values():
            field.write(out, document)
        return bytes(out)


class _Field:
    """A field with one value."""

    def __init__(self, row: Row, value: ProtobufType) -> None:
        number, self.name, flags, _ = row
        self.value = value
        self.wire = value.wire
        self.tag = wire.write_varint(number << 3 | value.wire)
        self._pointer = "p" in flags
        # Go's JSON never leaves a struct out for being empty, unless it is asked to with `omitzero`.
        drops = "oz" if isinstance(value, ScalarType) else "z"
        self._omits = not self._pointer and any(flag in flags for flag in drops)

    @cached_property
    def _absent(self) -> bytes:
        # Of what is absent, Go writes the zero value, unless it is a pointer or a slice of bytes.
        return b"" if self._pointer or self.value is SCALARS["bytes"] else self.tag + self.value.zero()

    def read_into(self, document: Document, data: bytes, at: int, end: int, depth: int) -> None:
        value = self.value
        if isinstance(value, Message) and isinstance(known := document.get(self.name), dict):
            value.read_into(known, data, at, end, depth + 1)
            return
        found = value.read(data, at, end, depth + 1)
        if found is None or (self._omits and not found):
            document.pop(self.name, None)
        else:
            document[self.name] = found

    def write(self, out: bytearray, document: Mapping[str, Any]) -> None:
        found = document.get(self.name)
        if found is None:
            out += self._absent
        else:
            out += self.tag
            out += self.value.write(found)


class _Inline(_Field):
    """A message whose fields are the parent's in JSON."""

    def read_into(self, document: Document, data: bytes, at: int, end: int, depth: int) -> None:
        if not isinstance(self.value, Message):
            raise TypeError(f"{self.value} cannot be inlined")
        self.value.read_into(document, data, at, end, depth + 1)

    def write(self, out: bytearray, document: Mapping[str, Any]) -> None:
        out += self.tag
        out += self.value.write(document)


class _List(_Field):
    def read_into(self, document: Document, data: bytes, at: int, end: int, depth: int) -> None:
        document.setdefault(self.name, []).append(self.value.read(data, at, end, depth + 2))

    def read_packed(self, document: Document, data: bytes, at: int, end: int, depth: int) -> None:
        """Numbers may also come in one piece."""
        if self.wire == wire.LENGTH:
            raise DecodeError(f"proto: wrong wireType for field {self.name}")
        while at < end:
            stop = wire.skip(data, at, end, self.wire, 1)
            self.read_into(document, data, at, stop, depth)
            at = stop

    def write(self, out: bytearray, document: Mapping[str, Any]) -> None:
        write, tag = self.value.write, self.tag
        for item in document.get(self.name) or ():
            out += tag
            out += write(item)


class _Map(_Field):
    """A map from strings: on the wire a list of entries, which Go writes in the order of the keys."""

    def __init__(self, row: Row, value: ProtobufType) -> None:
        super().__init__(row, value)
        self.wire = wire.LENGTH
        self.tag = wire.write_varint(row[0] << 3 | wire.LENGTH)
        self._key = SCALARS["string"]
        self._entry = Message(self.name, (), lambda _: value)
        self._entry._fields = {1: _Field((1, "key", "", ""), self._key), 2: _Field((2, "value", "", ""), value)}

    def read_into(self, document: Document, data: bytes, at: int, end: int, depth: int) -> None:
        entry = self._entry.read(data, at, end, depth + 1)
        if "value" not in entry:
            zero = self.value.zero()
            start = wire.read_length(zero, 0, len(zero))[0] if self.value.wire == wire.LENGTH else 0
            entry["value"] = self.value.read(zero, start, len(zero), depth + 2)
        document.setdefault(self.name, {})[entry.get("key", "")] = entry["value"]

    def write(self, out: bytearray, document: Mapping[str, Any]) -> None:
        found = document.get(self.name)
        if found:
            for key in sorted(found, key=lambda text: text.encode(errors="replace")):
                out += self.tag
                out += self._entry.write({"key": key, "value": found[key]})
