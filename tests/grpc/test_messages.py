"""Messages are decoded whole, however their bytes were split."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.grpc.messages import Assembler
from pilotage.grpc.rpc import Code, RPCError, frame


@given(st.lists(st.binary(max_size=50), max_size=10), st.lists(st.integers(0, 600), max_size=20))
def test_any_cut_of_the_bytes_gives_the_same_messages(messages: list[bytes], cuts: list[int]) -> None:
    data = b"".join(map(frame, messages))
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    assembler = Assembler(50)
    found: list[bytes] = []
    for start, stop in pairwise(places):
        found += assembler.feed(data[start:stop])
    assert found == messages
    assert assembler.held == 0


@pytest.mark.parametrize("data", [b"\x00\x00\x00\x00\x33", frame(bytes(51)), frame(b"ok") + b"\x00\x00\x00\x00\x33"])
def test_a_message_that_is_too_large_is_refused_as_soon_as_its_length_is_known(data: bytes) -> None:
    with pytest.raises(RPCError, match="51 bytes, the limit is 50") as caught:
        Assembler(50).feed(data)
    assert caught.value.code is Code.RESOURCE_EXHAUSTED


def test_a_compressed_message_is_refused() -> None:
    with pytest.raises(RPCError, match="identity") as caught:
        Assembler(50).feed(b"\x01\x00\x00\x00\x00")
    assert caught.value.code is Code.UNIMPLEMENTED
