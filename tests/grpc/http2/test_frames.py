"""An independent implementation reads our frames and header blocks."""

from __future__ import annotations

from hpack import Decoder
from hyperframe.frame import ContinuationFrame, Frame, HeadersFrame
from hypothesis import given
from hypothesis import strategies as st

from pilotage.grpc.http2 import frames

names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_.", min_size=1, max_size=300)
values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20000)


@given(st.lists(st.tuples(names, values), max_size=5))
def test_a_header_block_decodes_to_what_was_put_in_and_leaves_no_trace_in_the_table(
    fields: list[tuple[str, str]],
) -> None:
    decoder = Decoder(max_header_list_size=1 << 20)
    decoded = decoder.decode(frames.NO_TABLE + frames.block(fields), raw=True)
    assert [(name.decode(), value.decode()) for name, value in decoded] == fields
    assert len(decoder.header_table.dynamic_entries) == 0


@given(st.integers(0, 9), st.integers(0, 255), st.integers(0, 2**31 - 1), st.binary(max_size=300))
def test_a_frame_has_its_parts_where_they_belong(kind: int, flags: int, stream: int, payload: bytes) -> None:
    made = frames.frame(kind, flags, stream, payload)
    high, low, *rest = frames.HEAD.unpack_from(made)
    assert (high << 8 | low, *rest) == (len(payload), kind, flags, stream)
    assert made[frames.HEAD_BYTES :] == payload


@given(st.integers(0, 60000))
def test_a_long_header_block_is_continued(size: int) -> None:
    rest = memoryview(frames.headers(5, b"x" * size, end=True))
    kinds, block = [], b""
    while rest:
        frame, length = Frame.parse_frame_header(rest[:9])
        frame.parse_body(rest[9 : 9 + length])
        kinds.append((type(frame).__name__, "END_HEADERS" in frame.flags))
        assert isinstance(frame, HeadersFrame | ContinuationFrame)
        block += frame.data
        rest = rest[9 + length :]
    assert block == b"x" * size
    assert kinds[0][0] == "HeadersFrame"
    assert [ends for _, ends in kinds] == [False] * (len(kinds) - 1) + [True]
