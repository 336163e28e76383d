"""The wire format of protobuf: varints, tags and the lengths of fields. A field that exceeds the data raises
DecodeError."""

from __future__ import annotations

from pilotage.errors import DecodeError

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
MAX_FIELD = 2**29
_MAX_VARINT = 10
_MASK = 2**64 - 1


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, and where it ends."""
    value = shift = 0
    for position in range(at, min(end, at + _MAX_VARINT)):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _MASK:
                break
            return value, position + 1
        shift += 7
    raise truncated() if end - at < _MAX_VARINT else DecodeError("proto: integer overflow")


def write_varint(value: int) -> bytes:
    """A number of up to 64 bits; a negative one as its two's complement."""
    value &= _MASK
    if value < 0x80:
        return _SMALL[value]
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


_SMALL = [bytes((value,)) for value in range(0x80)]


def read_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where the content of a length-delimited field begins and ends."""
    if at >= end:
        raise truncated()
    size = data[at]
    if size < 0x80:
        at += 1
    else:
        size, at = read_varint(data, at, end)
    if size > end - at:
        raise truncated()
    return at, at + size


def skip(data: bytes, at: int, end: int, wire: int, number: int) -> int:
    """Where an unknown field ends. Nested groups are counted, without recursion."""
    if not 0 < number < MAX_FIELD:
        raise DecodeError(f"proto: illegal tag {number} (wire type {wire})")
    depth = 0
    while True:
        if wire == VARINT:
            _, at = read_varint(data, at, end)
        elif wire == FIXED64:
            at += 8
        elif wire == LENGTH:
            _, at = read_length(data, at, end)
        elif wire == START_GROUP:
            depth += 1
        elif wire == END_GROUP:
            if depth == 0:
                raise DecodeError("proto: unexpected end of group")
            depth -= 1
        elif wire == FIXED32:
            at += 4
        else:
            raise DecodeError(f"proto: illegal wireType {wire}")
        if at > end:
            raise truncated()
        if depth == 0:
            return at
        tag, at = read_varint(data, at, end)
        wire = tag & 7


def signed(value: int, bits: int) -> int:
    """The low bits of an unsigned number as a signed one, as Go converts it."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def delimited(data: bytes) -> bytes:
    """Content with its length before it."""
    return write_varint(len(data)) + data


def truncated() -> DecodeError:
    return DecodeError("unexpected EOF")
