"""Protobuf messages written out by hand, from the numbers of their fields."""

from __future__ import annotations


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(at: int, value: int) -> bytes:
    """An integer field."""
    return varint(at << 3) + varint(value & (2**64 - 1))


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def meta(name: bytes = b"gpu-0", *more: bytes) -> bytes:
    return field(1, field(1, name) + b"".join(more))


def written(*parts: bytes) -> bytes:
    """A request that holds a GPU."""
    return field(1, b"".join(parts))
