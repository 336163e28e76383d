"""Base64 as Go's decoder reads it. The offsets are those that `encoding/base64` of Go 1.26 reports."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.codec.scalars import decode_base64


@given(st.binary(max_size=60), st.integers(1, 20))
def test_line_breaks_do_not_matter(data: bytes, width: int) -> None:
    text = base64.b64encode(data).decode()
    lines = [text[start : start + width] for start in range(0, len(text), width)]
    assert decode_base64("\r\n".join(lines) + "\n") == data


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("!!", 0),
        ("a b!", 1),
        ("eA", 0),
        ("eHh4eA", 4),
        ("eA\n", 1),
        ("====", 0),
        ("A===", 1),
        ("AA=", 3),
        ("AA=\n", 4),
        ("AA=A", 2),
        ("AA==A", 4),
        ("AAA=\nA", 5),
        ("AAAA=", 4),
        ("é", 0),
    ],
)
def test_an_error_names_the_byte_and_not_the_text(text: str, at: int) -> None:
    with pytest.raises(ValueError, match=f"^illegal base64 data at input byte {at}$"):
        decode_base64(text)
