"""Chunked bodies: the same however the stream is cut, and refused where they are not strictly well-formed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.http.bodies import ChunkedBody
from pilotage.http.heads import Refusal


def decoded(wire: bytes, cuts: list[int], body: ChunkedBody) -> bytes:
    pieces: list[bytes] = []
    places = [0, *sorted(cut % (len(wire) + 1) for cut in cuts), len(wire)]
    sizes = [body.feed(wire[start:end], pieces) for start, end in pairwise(places)]
    assert sum(sizes) == body.size == sum(map(len, pieces))
    return b"".join(pieces)


@given(
    st.lists(st.binary(min_size=1, max_size=40), max_size=5),
    st.lists(st.integers(0, 1000), max_size=12),
    st.sampled_from([b"\r\n", b"Digest: x\r\nOther: y\r\n\r\n"]),
)
def test_a_response_is_the_same_however_it_is_cut(chunks: list[bytes], cuts: list[int], end: bytes) -> None:
    body = ChunkedBody()
    wire = b"".join(b"%x;extension=1\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n" + end
    assert decoded(wire, cuts, body) == b"".join(chunks)
    assert body.done


@given(st.lists(st.integers(0, 1000), max_size=12))
def test_bytes_after_a_request_are_kept_for_the_next_one(cuts: list[int]) -> None:
    body = ChunkedBody(is_request=True)
    pieces: list[bytes] = []
    wire, after = b"5\r\nhello\r\n0\r\n\r\n", b"GET / HTTP/1.1\r\n"
    places = [0, *sorted(cut % len(wire) for cut in cuts), len(wire)]
    for start, end in pairwise(places):
        assert not body.done
        body.feed(wire[start:end] + (after if end == len(wire) else b""), pieces)
    assert (b"".join(pieces), body.rest) == (b"hello", after)


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (b"5\nhello\r\n0\r\n\r\n", "size line is malformed"),
        (b"0x5\r\nhello\r\n", "size line is malformed"),
        (b"-5\r\n", "size line is malformed"),
        (b"1_0\r\n", "size line is malformed"),
        (b" 5\r\n", "size line is malformed"),
        (b"123456789\r\n", "size line is malformed"),
        (b"5;" + b"x" * 300, "too long"),
        (b"5\r\nhello!\r\n", "does not end where its size says"),
        (b"5\r\nhello\n", "does not end where its size says"),
        (b"0\r\n" + b"T: x\r\n" * 2000, "trailers after a chunked body are longer"),
        (b"0\r\n\r\nHTTP/1.1 200 OK", "bytes after the last chunk"),
    ],
)
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_a_malformed_response_is_refused_however_it_is_cut(wire: bytes, reason: str, step: int) -> None:
    with pytest.raises(Refusal, match=reason):
        decoded(wire, [*range(0, len(wire), step)], ChunkedBody())


def test_trailers_of_a_request_are_refused() -> None:
    with pytest.raises(Refusal, match="trailers"):
        ChunkedBody(is_request=True).feed(b"0\r\nHost: other\r\n\r\n", [])


def test_a_chunk_over_the_limit_is_refused_before_its_bytes_come() -> None:
    body = ChunkedBody(8)
    assert body.feed(b"8\r\n12345678\r\n", []) == 8
    with pytest.raises(Refusal, match="larger than 8 bytes"):
        body.feed(b"1\r\n", [])
