from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.http.heads import Refusal
from pilotage.http.limits import HTTPLimits
from pilotage.http.reader import RequestReader


def read_all(pieces: list[bytes], limits: HTTPLimits | None = None) -> list[tuple[str, str, bytes]]:
    reader = RequestReader(limits or HTTPLimits())
    requests = []
    for piece in pieces:
        reader.feed(piece)
        while (raw := reader.take()) is not None:
            requests.append((raw.head.method, raw.head.target, raw.body))
    assert reader.buffered == 0
    assert reader.held == 0
    return requests


def chunked(body: bytes, sizes: list[int]) -> bytes:
    wire = b""
    for size in sizes:
        piece, body = body[:size], body[size:]
        if piece:
            wire += b"%x\r\n%b\r\n" % (len(piece), piece)
    if body:
        wire += b"%X;name=value\r\n%b\r\n" % (len(body), body)
    return wire + b"0\r\n\r\n"


@st.composite
def requests(draw: st.DrawFn) -> tuple[tuple[str, str, bytes], bytes]:
    method = draw(st.sampled_from(["GET", "POST", "PATCH"]))
    target = "/" + draw(st.text("abc/?=&%20", max_size=20))
    body = draw(st.binary(max_size=80))
    head = f"{method} {target} HTTP/1.1\r\nHost: h\r\n"
    if draw(st.booleans()):
        wire = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunked(body, draw(st.lists(st.integers(1, 20))))
    else:
        wire = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    return (method, target, body), wire


@given(st.lists(requests(), max_size=4), st.lists(st.integers(1, 60), max_size=30))
def test_requests_are_the_same_however_the_stream_is_cut(
    sent: list[tuple[tuple[str, str, bytes], bytes]], cuts: list[int]
) -> None:
    stream = b"".join(wire for _, wire in sent)
    pieces = []
    for cut in cuts:
        pieces.append(stream[:cut])
        stream = stream[cut:]
    assert read_all([*pieces, stream]) == [request for request, _ in sent]


@given(st.binary(max_size=200))
def test_any_bytes_are_requests_or_refused(noise: bytes) -> None:
    reader = RequestReader(HTTPLimits())
    reader.feed(noise)
    status = 400
    try:
        assert reader.take() is None
    except Refusal as refusal:
        status = refusal.status
    assert 400 <= status <= 599


HEAD = "POST /p HTTP/1.1\r\nHost: h\r\n"


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize(("size", "accepted"), [(99, True), (100, True), (101, False)])
def test_a_body_is_accepted_up_to_its_limit(framing: str, size: int, accepted: bool) -> None:
    body = b"x" * size
    if framing == "length":
        wire = f"{HEAD}Content-Length: {size}\r\n\r\n".encode() + body
    else:
        wire = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode() + chunked(body, [60])
    if accepted:
        assert read_all([wire], HTTPLimits(body_bytes=100)) == [("POST", "/p", body)]
    else:
        with pytest.raises(Refusal) as refused:
            read_all([wire], HTTPLimits(body_bytes=100))
        assert refused.value.status == 413


@pytest.mark.parametrize(("extra", "accepted"), [(-1, True), (0, True), (1, False)])
def test_a_target_is_accepted_up_to_its_limit(extra: int, accepted: bool) -> None:
    wire = b"GET /" + b"a" * (99 + extra) + b" HTTP/1.1\r\nHost: h\r\n\r\n"
    if accepted:
        assert len(read_all([wire], HTTPLimits(target_bytes=100))) == 1
    else:
        with pytest.raises(Refusal) as refused:
            read_all([wire], HTTPLimits(target_bytes=100))
        assert refused.value.status == 414


@pytest.mark.parametrize(("extra", "accepted"), [(-1, True), (0, True), (1, False)])
@pytest.mark.parametrize("whole", [True, False])
def test_a_head_is_accepted_up_to_its_limit(extra: int, accepted: bool, whole: bool) -> None:
    start = b"GET / HTTP/1.1\r\nHost: h\r\nX: "
    wire = start + b"a" * (1000 + extra - len(start) - 4) + b"\r\n\r\n"
    pieces = [wire] if whole else [wire[i : i + 7] for i in range(0, len(wire), 7)]
    if accepted:
        assert len(read_all(pieces, HTTPLimits(header_bytes=1000))) == 1
    else:
        with pytest.raises(Refusal) as refused:
            read_all(pieces, HTTPLimits(header_bytes=1000))
        assert refused.value.status == 431


@pytest.mark.parametrize(("count", "accepted"), [(9, True), (10, True), (11, False)])
def test_header_lines_are_accepted_up_to_their_number(count: int, accepted: bool) -> None:
    wire = b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X: y\r\n" * (count - 1) + b"\r\n"
    if accepted:
        assert len(read_all([wire], HTTPLimits(header_count=10))) == 1
    else:
        with pytest.raises(Refusal) as refused:
            read_all([wire], HTTPLimits(header_count=10))
        assert refused.value.status == 431


def test_a_declared_length_over_the_limit_is_refused_before_the_body_comes() -> None:
    reader = RequestReader(HTTPLimits(body_bytes=100))
    reader.feed(f"{HEAD}Content-Length: 101\r\n\r\n".encode())
    with pytest.raises(Refusal) as refused:
        reader.take()
    assert refused.value.status == 413


def test_continue_is_asked_for_once_and_only_if_the_body_has_not_begun() -> None:
    head = f"{HEAD}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n".encode()
    reader = RequestReader(HTTPLimits())
    reader.feed(head)
    assert reader.take() is None
    assert [reader.wants_continue(), reader.wants_continue()] == [True, False]
    reader = RequestReader(HTTPLimits())
    reader.feed(head + b"he")
    assert reader.take() is None
    assert not reader.wants_continue()


def test_what_a_body_holds_is_counted_in_both_framings() -> None:
    reader = RequestReader(HTTPLimits())
    reader.feed(f"{HEAD}Content-Length: 50\r\n\r\n".encode() + b"x" * 20)
    reader.take()
    assert reader.held == 20
    reader = RequestReader(HTTPLimits())
    reader.feed(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode() + b"32\r\n" + b"x" * 20)
    reader.take()
    assert reader.held == 20
