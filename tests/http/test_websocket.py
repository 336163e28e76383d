from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.http.heads import Refusal
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve
from pilotage.http.websocket import WebSocket, accept, is_upgrade, message

from . import raw

KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # of RFC 6455
ACCEPTED = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
OFFER = {
    "upgrade": "websocket",
    "connection": "keep-alive, Upgrade",
    "sec-websocket-key": KEY,
    "sec-websocket-version": "13",
    "origin": "http://localhost",
}
GET = b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
CLOSE = b"\x88\x02\x03\xe8"
MASK = b"\x11\x22\x33\x44"


def sent(opcode: int, data: bytes = b"", *, first: int = 0x80) -> bytes:
    """A frame of a client."""
    size = len(data)
    if size < 126:
        length = bytes((0x80 | size,))
    else:
        length = b"\xfe" + struct.pack(">H", size) if size < 65536 else b"\xff" + struct.pack(">Q", size)
    return bytes((first | opcode,)) + length + MASK + bytes(byte ^ MASK[at % 4] for at, byte in enumerate(data))


def headers(**changes: str) -> Headers:
    changed = OFFER | {name.replace("_", "-"): value for name, value in changes.items()}
    return Headers((name, value) for name, value in changed.items() if value)


def test_a_handshake_is_answered_as_in_rfc_6455() -> None:
    assert is_upgrade(headers())
    assert accept(headers(), []) == [("sec-websocket-accept", ACCEPTED)]
    assert accept(headers(), ["a"])[1:] == [("sec-websocket-protocol", "a")]


@pytest.mark.parametrize("changes", [{"upgrade": ""}, {"upgrade": "h2c"}, {"connection": ""}, {"connection": "close"}])
def test_other_requests_ask_for_no_websocket(changes: dict[str, str]) -> None:
    assert not is_upgrade(headers(**changes))


@pytest.mark.parametrize(
    ("changes", "protocols", "status"),
    [
        ({"sec_websocket_version": "12"}, [], 400),
        ({"sec_websocket_version": ""}, [], 400),
        ({"sec_websocket_key": ""}, [], 400),
        ({"origin": ""}, [], 403),
        ({"origin": "null"}, [], 403),
        ({"origin": "http://["}, [], 403),
        ({}, ["a", "b"], 400),
    ],
)
def test_a_handshake_is_refused_as_by_kube_apiserver(
    changes: dict[str, str], protocols: list[str], status: int
) -> None:
    with pytest.raises(Refusal) as refused:
        accept(headers(**changes), protocols)
    assert refused.value.status == status


@pytest.mark.parametrize(
    ("size", "head"),
    [(0, b"\x81\x00"), (125, b"\x81\x7d"), (126, b"\x81\x7e\x00\x7e"), (65536, b"\x81\x7f" + b"\0" * 5)],
)
def test_a_message_is_one_frame(size: int, head: bytes) -> None:
    assert message(b"x" * size).startswith(head)
    assert message(b"x" * size).endswith(b"x" * size)
    assert message(b"", binary=True) == b"\x82\x00"


FRAMES = st.lists(
    st.tuples(st.sampled_from((0, 1, 2, 3, 9, 10, 15)), st.binary(max_size=300), st.sampled_from((0x80, 0, 0xC0)))
)


@given(FRAMES, st.randoms(use_true_random=False))
def test_pings_are_answered_and_all_else_is_discarded_however_it_is_split(
    frames: list[tuple[int, bytes, int]], chance: random.Random
) -> None:
    wire = b"".join(sent(opcode, data, first=first) for opcode, data, first in frames)
    found, socket = b"", WebSocket()
    while wire:
        size = chance.randint(1, 200)
        found += socket.received(wire[:size])
        wire = wire[size:]
    pongs = (data[:125] for opcode, data, _ in frames if opcode == 9)
    assert found == b"".join(b"\x8a" + bytes((len(data),)) + data for data in pongs)
    assert not socket.ended


@given(st.lists(st.binary(min_size=1, max_size=500)))
def test_any_bytes_are_read_without_an_error_and_without_keeping_them(pieces: list[bytes]) -> None:
    socket = WebSocket()
    for piece in pieces:
        before = len(socket.received(piece))
        assert before <= len(piece) + 200
        assert len(socket._rest) < (1 if socket.ended else 2 + 8 + 4 + 125)


@pytest.mark.parametrize(
    ("received", "code"), [(sent(8), 1000), (sent(8, b"\x03\xe9bye"), 1000), (b"\x81\x01x", 1002), (b"\x89\x00", 1002)]
)
def test_a_close_and_a_frame_without_a_mask_end_the_stream(received: bytes, code: int) -> None:
    socket = WebSocket()
    assert socket.received(sent(9, b"a") + received + sent(9, b"b")) == b"\x8a\x01a"
    assert socket.ended
    assert socket.last() == b"\x88\x02" + code.to_bytes(2, "big")


class Streaming:
    """A handler that upgrades each connection, and sends what the test puts into its queue, until None."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def __call__(self, request: HTTPRequest) -> StreamingResponse:
        return StreamingResponse(101, [], self._messages(), endless=True, upgraded=WebSocket())

    async def _messages(self) -> AsyncIterator[bytes]:
        try:
            while (data := await self.queue.get()) is not None:
                yield message(data)
        finally:
            self.closed.set()


async def opened(client: raw.Raw, more: bytes = b"") -> bytes:
    client.send(GET + more)
    return await client.reader.readuntil(b"\r\n\r\n")


async def test_messages_are_sent_and_pings_answered_until_the_stream_ends() -> None:
    handler = Streaming()
    async with serve(handler) as server, raw.connect(server.port) as client:
        head = await opened(client, sent(9, b"early"))
        assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
        assert b"Upgrade: websocket\r\nConnection: Upgrade\r\n" in head
        assert b"Transfer-Encoding" not in head
        assert await client.reader.readexactly(7) == b"\x8a\x05early"
        handler.queue.put_nowait(b"one")
        assert await client.reader.readexactly(5) == b"\x81\x03one"
        client.send(sent(1, b"x" * 100_000) + sent(9, b"late"))
        assert await client.reader.readexactly(6) == b"\x8a\x04late"
        handler.queue.put_nowait(None)
        assert await client.receive() == CLOSE


@pytest.mark.parametrize(("received", "last"), [(sent(8), CLOSE), (b"\x81\x01x", b"\x88\x02\x03\xea")])
async def test_a_stream_that_the_client_ends_is_closed(received: bytes, last: bytes) -> None:
    handler = Streaming()
    async with serve(handler) as server, raw.connect(server.port) as client:
        await opened(client)
        client.send(received)
        assert await client.receive() == last
        await asyncio.wait_for(handler.closed.wait(), raw.GUARD)


async def test_a_server_that_closes_ends_the_stream() -> None:
    handler = Streaming()
    async with AsyncExitStack() as exits:
        server = await exits.enter_async_context(serve(handler))
        async with raw.connect(server.port) as client:
            await opened(client)
            await exits.aclose()
            assert await client.receive() == CLOSE


@pytest.mark.parametrize(
    "response",
    [HTTPResponse(101), StreamingResponse(200, [], Streaming()._messages(), upgraded=WebSocket())],
)
async def test_only_an_upgraded_stream_has_status_101(response: HTTPResponse | StreamingResponse) -> None:
    async def handler(request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        return response

    async with serve(handler) as server, raw.connect(server.port) as client:
        client.send(GET)
        assert raw.statuses(await client.receive()) == [500]
