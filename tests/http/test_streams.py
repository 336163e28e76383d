from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import DecodeError
from pilotage.http.streams import LineCutter


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=12), st.data())
def test_lines_are_the_same_however_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"a line that was cut"
    pieces = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        pieces.append(stream[:size])
        stream = stream[size:]
    cutter = LineCutter(1000)
    assert [line for piece in pieces for line in cutter.cut([piece])] == [line for line in lines if line]


@pytest.mark.parametrize(
    "pieces", [[b"12345678901\n"], [b"123456", b"78901"], [b"a\n12345678901\nb\n"], [b"x\n12345678901"]]
)
def test_a_line_over_the_limit_is_refused(pieces: list[bytes]) -> None:
    with pytest.raises(DecodeError, match="longer than 10 bytes"):
        LineCutter(10).cut(pieces)


def test_a_line_of_many_tiny_pieces_comes_whole() -> None:
    cutter = LineCutter(100_000)
    for _ in range(50_000):
        assert cutter.cut([b"x"]) == []
    assert cutter.cut([b"\n"]) == [b"x" * 50_000]
