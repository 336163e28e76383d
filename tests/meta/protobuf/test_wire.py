from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import DecodeError
from pilotage.meta.protobuf import wire


@given(st.integers(-(2**63), 2**64 - 1))
def test_a_varint_is_read_as_it_was_written(number: int) -> None:
    data = wire.write_varint(number)
    assert wire.read_varint(data + b"more", 0, len(data)) == (number % 2**64, len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9])
def test_a_varint_without_its_end_is_an_error(data: bytes) -> None:
    with pytest.raises(DecodeError, match="unexpected EOF"):
        wire.read_varint(data, 0, len(data))


@pytest.mark.parametrize("data", [b"\xff" * 10 + b"\x01", b"\xff" * 9 + b"\x7f", b"\x80" * 100])
def test_a_varint_of_more_than_64_bits_is_an_error(data: bytes) -> None:
    with pytest.raises(DecodeError, match="integer overflow"):
        wire.read_varint(data, 0, len(data))


@pytest.mark.parametrize("data", [b"", b"\x05abcd", b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x10"])
def test_a_length_beyond_the_end_is_an_error(data: bytes) -> None:
    with pytest.raises(DecodeError, match="unexpected EOF"):
        wire.read_length(data, 0, len(data))


def test_groups_within_groups_are_skipped_without_recursion() -> None:
    data = b"\x0b" * 100_000 + b"\x0c" * 100_001
    assert wire.skip(data, 0, len(data), wire.START_GROUP, 1) == len(data)


@pytest.mark.parametrize(
    ("kind", "number", "data", "message"),
    [
        (wire.VARINT, 0, b"\x01", "illegal tag 0"),
        (7, 1, b"\x01", "illegal wireType 7"),
        (wire.END_GROUP, 1, b"", "unexpected end of group"),
        (wire.START_GROUP, 1, b"\x0b\x0b", "unexpected EOF"),
        (wire.FIXED64, 1, b"1234567", "unexpected EOF"),
        (wire.FIXED32, 1, b"123", "unexpected EOF"),
    ],
)
def test_what_is_no_field_is_an_error(kind: int, number: int, data: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        wire.skip(data, 0, len(data), kind, number)


def test_numbers_are_cut_to_their_type_as_in_go() -> None:
    assert wire.signed(2**64 - 1, 32) == -1
    assert wire.signed(2**32 + 5, 32) == 5
    assert wire.signed(2**31, 32) == -(2**31)
    assert wire.signed(2**63, 64) == -(2**63)
