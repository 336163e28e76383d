"""The scalar types of fields: their encoding on the wire, and the value in the document."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pilotage.errors import DecodeError
from pilotage.meta.protobuf import wire

_DOUBLE = struct.Struct("<d")
_ESCAPED = re.compile("[\udc80-\udcff]")
_INTEGRAL = 1e21
"""Go writes whole numbers below this without an exponent or a fraction."""


class ProtobufType(Protocol):
    """A type of field: a scalar, or a message."""

    @property
    def wire(self) -> int:
        """The wire type."""

    def read(self, data: bytes, at: int, end: int, depth: int) -> Any:
        """The value in `data[at:end]`: the content of a length-delimited field, or a whole number."""

    def write(self, value: Any) -> bytes:
        """The encoded value, without its tag. Raises TypeError, ValueError or AttributeError for a wrong type."""

    def zero(self) -> bytes:
        """What Go writes for a field that is not a pointer and not set."""


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A type that is not a message."""

    wire: int
    decode: Callable[[bytes], Any]
    """From the content, or, of a varint, from its bytes."""
    write: Callable[[Any], bytes]
    empty: Any

    def read(self, data: bytes, at: int, end: int, depth: int) -> Any:
        return self.decode(data[at:end])

    def zero(self) -> bytes:
        return self.write(self.empty)


def text(raw: bytes) -> str:
    """A string; each byte that is not UTF-8 becomes U+FFFD, as it does in the JSON that Go makes of it."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _ESCAPED.sub("\ufffd", raw.decode(errors="surrogateescape"))


def _number(bits: int) -> Callable[[bytes], int]:
    def decode(raw: bytes) -> int:
        value = raw[0]
        if value > 0x7F:
            value, _ = wire.read_varint(raw, 0, len(raw))
        return wire.signed(value, bits)

    return decode


def _write_integer(value: Any) -> bytes:
    if value.__class__ is not int:
        if not isinstance(value, float) or not value.is_integer():
            raise TypeError(f"an integer is needed, not {value!r:.100}")
        value = int(value)  # JSON does not tell 1.0 from 1
    return wire.write_varint(value)


def _boolean(raw: bytes) -> bool:
    return any(byte & 0x7F for byte in raw)


def _write_boolean(value: Any) -> bytes:
    if not isinstance(value, bool):
        raise TypeError(f"true or false is needed, not {value!r:.100}")
    return b"\x01" if value else b"\x00"


def _double(raw: bytes) -> float | int:
    value: float = _DOUBLE.unpack(raw)[0]
    if value != value or value in (float("inf"), float("-inf")):
        raise DecodeError(f"json: unsupported value: {value}")
    return int(value) if value.is_integer() and abs(value) < _INTEGRAL else value


def _write_text(value: Any) -> bytes:
    return wire.delimited(value.encode(errors="replace"))


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _write_base64(value: Any) -> bytes:
    try:
        return wire.delimited(base64.b64decode(value, validate=True))
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from None


# By the names of protobuf's types; `raw` is bytes that are not base64 in the document.
SCALARS: dict[str, ScalarType] = {
    "string": ScalarType(wire.LENGTH, text, _write_text, ""),
    "bytes": ScalarType(wire.LENGTH, _base64, _write_base64, ""),
    "raw": ScalarType(wire.LENGTH, bytes, wire.delimited, b""),
    "int32": ScalarType(wire.VARINT, _number(32), _write_integer, 0),
    "int64": ScalarType(wire.VARINT, _number(64), _write_integer, 0),
    "bool": ScalarType(wire.VARINT, _boolean, _write_boolean, False),
    "double": ScalarType(wire.FIXED64, _double, _DOUBLE.pack, 0.0),
}
