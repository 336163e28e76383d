"""The rules of HTTP/2: the engine keeps them and enforces them; checked with h2, an independent implementation."""

from __future__ import annotations

import struct
from contextlib import suppress
from unittest import mock

import h2.config
import h2.connection
import h2.events
import pytest
from h2.settings import SettingCodes
from hypothesis import example, given
from hypothesis import strategies as st

from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.engine import Bounds, Engine, Fields, ProtocolViolation
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.http2.guard import Abuse, AbuseKind, Guard
from pilotage.grpc.http2.stream import Stream

BLOCK = frames.block([(":method", "POST"), (":scheme", "http"), (":path", "/a/B"), (":authority", "x")])
HELLO = frames.PREFACE + frames.settings({})


class Recorded(Stream):
    def __init__(self, engine: Recorder, stream_id: int) -> None:
        super().__init__(engine, stream_id)
        self.reads = True
        self.data = b""
        self.trailers: Fields | None = None
        self.was_reset: ErrorCode | None = None

    def receive_headers(self, fields: Fields, ended: bool) -> None:
        self.trailers, self.peer_ended = fields, ended

    def receive_data(self, payload: bytes, ended: bool) -> None:
        self.data += payload
        self.peer_ended = ended
        if self.reads:
            self.update_window()

    def receive_reset(self, code: ErrorCode) -> None:
        self.was_reset = code


class Recorder(Engine[Recorded]):
    """An engine that records its callbacks."""

    def __init__(self, bounds: Bounds | None = None, *, guarded: bool = True, client: bool = False) -> None:
        guard = Guard(lambda: 0.0) if guarded else None
        super().__init__(client=client, bounds=bounds or Bounds(streams=100), guard=guard)
        self.sent = bytearray()
        self.write = self.sent.extend
        self.heads: dict[int, Fields] = {}
        self.left: tuple[int, ErrorCode, str] | None = None

    def settings_received(self) -> None: ...

    def ping_received(self) -> None: ...

    def stream_opened(self, stream_id: int, fields: Fields, ended: bool) -> None:
        self.heads[stream_id] = fields
        self.streams[stream_id] = Recorded(self, stream_id)
        self.streams[stream_id].peer_ended = ended

    def goaway_received(self, last_id: int, code: ErrorCode, text: str) -> None:
        self.left = (last_id, code, text)

    def take_sent(self) -> bytes:
        sent = bytes(self.sent)
        self.sent.clear()
        return sent


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return frames.frame(kind, flags, stream, payload)


OPEN = frame(frames.HEADERS, frames.END_HEADERS, 1, BLOCK)
ENDED = frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, BLOCK)

WRONG = {
    "no preface": (b"GET / HTTP/1.1\r\n\r\n", ErrorCode.PROTOCOL_ERROR),
    "no settings first": (frames.PREFACE + OPEN, ErrorCode.PROTOCOL_ERROR),
    "an acknowledgement first": (frames.PREFACE + frame(frames.SETTINGS, frames.ACK), ErrorCode.PROTOCOL_ERROR),
    "a frame too large": (HELLO + b"\x00\x40\x01\x00\x00\x00\x00\x00\x01", ErrorCode.FRAME_SIZE_ERROR),
    "headers on stream 0": (HELLO + frame(frames.HEADERS, 4, 0, BLOCK), ErrorCode.PROTOCOL_ERROR),
    "headers on a server's stream": (HELLO + frame(frames.HEADERS, 4, 2, BLOCK), ErrorCode.PROTOCOL_ERROR),
    "a stream with a number from before": (HELLO + frame(1, 5, 5, BLOCK) + frame(1, 5, 3, BLOCK), 5),
    "a push that is neither": (HELLO + frame(4, 0, 0, struct.pack(">HL", 2, 2)), ErrorCode.PROTOCOL_ERROR),
    "a priority on stream 0": (HELLO + frame(frames.PRIORITY, 0, 0, bytes(5)), ErrorCode.PROTOCOL_ERROR),
    "an interrupted header block": (HELLO + frame(frames.HEADERS, 0, 1, BLOCK) + frame(frames.DATA, 0, 1), 1),
    "a continuation elsewhere": (HELLO + frame(frames.HEADERS, 0, 1, BLOCK) + frame(frames.CONTINUATION, 4, 3), 1),
    "a continuation of nothing": (HELLO + frame(frames.CONTINUATION, 4, 1), ErrorCode.PROTOCOL_ERROR),
    "headers that do not decode": (HELLO + frame(frames.HEADERS, 4, 1, b"\xff\xff"), ErrorCode.COMPRESSION_ERROR),
    "a name in a table that is empty": (HELLO + frame(frames.HEADERS, 4, 1, b"\xfe"), ErrorCode.COMPRESSION_ERROR),
    "headers too short for a priority": (HELLO + frame(frames.HEADERS, 0x24, 1, b"\x00"), ErrorCode.FRAME_SIZE_ERROR),
    "data on stream 0": (HELLO + frame(frames.DATA, 0, 0, b"x" * 200), ErrorCode.PROTOCOL_ERROR),
    "data on an idle stream": (HELLO + frame(frames.DATA, 0, 1, b"x" * 200), ErrorCode.PROTOCOL_ERROR),
    "data after the end": (HELLO + ENDED + frame(frames.DATA, 0, 1, b"x" * 200), ErrorCode.STREAM_CLOSED),
    "headers after the end": (HELLO + ENDED + OPEN, ErrorCode.STREAM_CLOSED),
    "too much padding": (HELLO + OPEN + frame(frames.DATA, 8, 1, b"\x05abc"), ErrorCode.PROTOCOL_ERROR),
    "a reset of an idle stream": (HELLO + frame(frames.RST_STREAM, 0, 1, bytes(4)), ErrorCode.PROTOCOL_ERROR),
    "a reset of a wrong length": (HELLO + OPEN + frame(frames.RST_STREAM, 0, 1, b""), ErrorCode.FRAME_SIZE_ERROR),
    "settings on a stream": (HELLO + frame(frames.SETTINGS, 0, 1), ErrorCode.PROTOCOL_ERROR),
    "settings of a wrong length": (HELLO + frame(frames.SETTINGS, 0, 0, b"12345"), ErrorCode.FRAME_SIZE_ERROR),
    "an acknowledgement with settings": (HELLO + frame(frames.SETTINGS, 1, 0, bytes(6)), ErrorCode.FRAME_SIZE_ERROR),
    "a window too large": (HELLO + frame(4, 0, 0, struct.pack(">HL", 4, 1 << 31)), ErrorCode.FLOW_CONTROL_ERROR),
    "a frame size too small": (HELLO + frame(4, 0, 0, struct.pack(">HL", 5, 100)), ErrorCode.PROTOCOL_ERROR),
    "many settings at once": (HELLO + frame(4, 0, 0, struct.pack(">HL", 9, 1) * 65), ErrorCode.ENHANCE_YOUR_CALM),
    "a push": (HELLO + frame(frames.PUSH_PROMISE, 4, 1, bytes(4)), ErrorCode.PROTOCOL_ERROR),
    "a ping of a wrong length": (HELLO + frame(frames.PING, 0, 0, b"1"), ErrorCode.FRAME_SIZE_ERROR),
    "a ping on a stream": (HELLO + frame(frames.PING, 0, 1, bytes(8)), ErrorCode.PROTOCOL_ERROR),
    "a goaway of a wrong length": (HELLO + frame(frames.GOAWAY, 0, 0, b"1"), ErrorCode.FRAME_SIZE_ERROR),
    "a goaway on a stream": (HELLO + frame(frames.GOAWAY, 0, 1, bytes(8)), ErrorCode.PROTOCOL_ERROR),
    "an update of nothing": (HELLO + frame(frames.WINDOW_UPDATE, 0, 0, bytes(4)), ErrorCode.PROTOCOL_ERROR),
    "an update of an idle stream": (HELLO + frames.window_update(7, 1), ErrorCode.PROTOCOL_ERROR),
    "a window that overflows": (HELLO + frames.window_update(0, 2**31 - 1), ErrorCode.FLOW_CONTROL_ERROR),
    "an update of a wrong length": (HELLO + frame(frames.WINDOW_UPDATE, 0, 0, b"1"), ErrorCode.FRAME_SIZE_ERROR),
    "a priority of a wrong length": (HELLO + frame(frames.PRIORITY, 0, 1, b"1"), ErrorCode.FRAME_SIZE_ERROR),
    "a window that settings make too large": (
        HELLO + OPEN + frames.window_update(1, 2**31 - 1 - 65535) + frame(4, 0, 0, struct.pack(">HL", 4, 65536)),
        ErrorCode.FLOW_CONTROL_ERROR,
    ),
    "a table resized three times": (HELLO + frame(1, 4, 1, b"\x20\x3f\xe1\x1f\x20" + BLOCK), 9),
    "a table that is nothing but resized": (HELLO + frame(1, 4, 1, b"\x20" * 16000), ErrorCode.COMPRESSION_ERROR),
    "headers without end": (HELLO + frame(1, 0, 1, BLOCK) + frame(9, 0, 1, bytes(16384)), ErrorCode.ENHANCE_YOUR_CALM),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_peer_that_breaks_a_rule_gets_the_code_of_the_rule(what: str) -> None:
    data, code = WRONG[what]
    with pytest.raises(ProtocolViolation) as caught:
        _receive_all(Recorder(), data)
    assert caught.value.code == code


def test_more_data_than_the_window_grants_is_a_violation() -> None:
    engine = Recorder(Bounds(streams=1, window_bytes=20000), guarded=False)
    engine.receive(HELLO + OPEN)
    engine.streams[1].reads = False
    engine.receive(frame(frames.DATA, 0, 1, bytes(16384)))
    with pytest.raises(ProtocolViolation) as caught:
        engine.receive(frame(frames.DATA, 0, 1, bytes(16384)))
    assert caught.value.code is ErrorCode.FLOW_CONTROL_ERROR


def test_frames_on_a_stream_that_is_over_are_let_pass_and_data_is_answered_once() -> None:
    engine = Recorder()
    engine.receive(HELLO + OPEN)
    engine.streams[1].reset()
    engine.take_sent()
    strays = frames.window_update(1, 5) + frames.reset(1, ErrorCode.CANCEL) + frame(0x77, 0, 1, b"unknown")
    engine.receive(frame(frames.DATA, 0, 1, bytes(200)) * 3 + strays)
    assert engine.streams == {}
    assert engine.take_sent() == frames.reset(1, ErrorCode.STREAM_CLOSED)


def test_a_peer_that_does_not_read_gets_no_error_about_its_data() -> None:
    engine = Recorder()
    engine.receive(HELLO + OPEN)
    engine.streams[1].reset()
    engine.take_sent()
    engine.paused = True
    engine.receive(frame(frames.DATA, 0, 1, bytes(200)))
    assert engine.take_sent() == b""


def test_a_client_lets_pass_what_was_on_its_way_when_it_cancelled() -> None:
    engine = Recorder(client=True)
    engine.receive(frames.settings({}))
    engine.next_id = 3
    engine.take_sent()
    engine.receive(frame(frames.DATA, 0, 1, bytes(200)) * 3 + frame(frames.HEADERS, 5, 1, BLOCK))
    assert engine.take_sent() == b""


def test_a_server_may_not_push() -> None:
    with pytest.raises(ProtocolViolation) as caught:
        Recorder(client=True).receive(frame(4, 0, 0, struct.pack(">HL", 2, 1)))
    assert caught.value.code is ErrorCode.PROTOCOL_ERROR


def test_a_table_may_be_resized_twice_at_the_beginning_of_a_block() -> None:
    engine = Recorder()
    engine.receive(HELLO + frame(1, 4, 1, b"\x20\x3f\xe1\x1f" + BLOCK))
    assert len(engine.heads[1]) == 4


@pytest.mark.parametrize("stream", [0, 1])
def test_who_grants_its_window_byte_by_byte_is_cut(stream: int) -> None:
    """Each update allows one byte to be sent, which does not entitle a client to more updates."""
    engine = Recorder()
    engine.receive(HELLO + frame(4, 0, 0, struct.pack(">HL", 4, 0 if stream else 1 << 20)) + OPEN)
    engine.streams[1].queue(bytes(1 << 19))
    with pytest.raises(Abuse):
        _receive_all(engine, frames.window_update(stream, 1) * 1000)


def test_who_makes_the_server_reset_its_streams_is_cut_as_if_it_reset_them() -> None:
    engine = Recorder()
    engine.receive(HELLO)
    calls = (frame(1, 5, stream, BLOCK) + frames.window_update(stream, 2**31 - 1) for stream in range(1, 601, 2))
    with pytest.raises(Abuse) as caught:
        _receive_all(engine, b"".join(calls))
    assert caught.value.kind is AbuseKind.RESET


def test_a_connection_window_that_opens_goes_to_those_who_wait_for_it() -> None:
    engine = Recorder(guarded=False)
    engine.receive(HELLO + frame(4, 0, 0, struct.pack(">HL", 4, 1 << 20)))
    _receive_all(engine, frame(1, 5, 1, BLOCK) + frame(1, 5, 3, BLOCK))
    first, second = engine.streams[1], engine.streams[3]
    first.queue(bytes(65535 + 10))
    assert not second.offer(bytes(10))
    engine.blocked.add(second)
    engine.receive(frames.window_update(0, 15))
    assert engine.window == 5
    assert first.has_room()
    assert engine.queued_bytes == 0
    engine.blocked.add(second)
    second.queue(bytes(10))
    engine.receive(frames.window_update(0, 5))
    assert engine.queued_bytes == 0


def test_a_window_that_overflows_on_a_stream_ends_that_stream_alone() -> None:
    engine = Recorder()
    engine.receive(HELLO + OPEN)
    engine.receive(frame(1, 4, 3, BLOCK))
    one = engine.streams[1]
    engine.receive(frames.window_update(1, 2**31 - 1))
    assert one.was_reset is ErrorCode.FLOW_CONTROL_ERROR
    assert list(engine.streams) == [3]


@given(st.integers(1, 40))
def test_frames_may_come_in_pieces_of_any_size(size: int) -> None:
    data = HELLO + OPEN + frame(frames.DATA, 0, 1, b"abc") + frame(frames.DATA, 9, 1, b"\x03defpad")
    engine = Recorder()
    for start in range(0, len(data), size):
        engine.receive(data[start : start + size])
    assert engine.streams[1].data == b"abcdef"
    assert engine.streams[1].peer_ended


def test_many_header_blocks_are_taken_in_several_turns() -> None:
    engine = Recorder()
    assert _receive_all(engine, HELLO + b"".join(frame(1, 5, stream, BLOCK) for stream in range(1, 41, 2))) == 20
    assert len(engine.streams) == 20


@pytest.mark.parametrize(("count", "turns"), [(1, 1), (63, 1), (64, 2), (200, 4)])
def test_many_frames_are_taken_in_several_turns(count: int, turns: int) -> None:
    """The settings are a frame too."""
    engine = Recorder(guarded=False)
    assert _receive_all(engine, HELLO + frame(6, 0, 0, b"12345678") * count) == turns
    assert engine.take_sent().count(b"12345678") == count


def test_a_header_block_that_is_too_long_is_not_even_decoded() -> None:
    engine = Recorder(Bounds(streams=100, header_bytes=100))
    with mock.patch.object(engine, "_decoder", None), pytest.raises(ProtocolViolation) as caught:
        engine.receive(HELLO + frame(1, 5, 1, bytes(101)))
    assert caught.value.code is ErrorCode.ENHANCE_YOUR_CALM


@given(st.binary(max_size=400), st.booleans())
def test_whatever_comes_is_taken_or_refused(noise: bytes, begun: bool) -> None:
    engine = Recorder()
    with suppress(ProtocolViolation, Abuse):
        engine.receive((HELLO if begun else b"") + noise)


frame_noise = st.builds(
    frame, st.integers(0, 11), st.integers(0, 255), st.sampled_from([0, 1, 2, 3, 5]), st.binary(max_size=40)
)


@given(st.lists(frame_noise, max_size=20))
def test_whatever_frames_come_are_taken_or_refused(noise: list[bytes]) -> None:
    engine = Recorder()
    engine.receive(HELLO + OPEN)
    with suppress(ProtocolViolation, Abuse):
        engine.receive(b"".join(noise))
    assert engine.queued_bytes >= 0


@example(sizes=[5, 1], window=1, largest_frame=16384)
@given(
    sizes=st.lists(st.integers(1, 100_000), min_size=1, max_size=4),
    window=st.integers(5_000, 100_000),
    largest_frame=st.integers(16384, 100_000),
)
def test_h2_gets_every_byte_in_order_whatever_window_it_grants(
    sizes: list[int], window: int, largest_frame: int
) -> None:
    """h2 raises where we send more than it granted, or a frame larger than it takes."""
    engine, client = _pair({4: window, 5: largest_frame})
    stream = engine.streams[1]
    expected, received = b"", b""
    for number, size in enumerate(sizes):
        payload = bytes([number]) * size
        while not stream.offer(payload):
            received += _deliver(engine, client)
        expected += payload
    while received != expected:
        more = _deliver(engine, client)
        assert more, "nothing more comes, and not all has come"
        received += more
    assert engine.queued_bytes == 0
    assert stream.has_room()


@given(st.lists(st.integers(0, 120_000), min_size=1, max_size=5))
def test_h2_may_send_as_much_as_it_likes_within_the_window_we_grant(sizes: list[int]) -> None:
    engine, client = _pair({})
    engine.guard = None
    expected = b""
    for number, size in enumerate(sizes):
        rest = bytes([number]) * size
        expected += rest
        while rest:
            room = min(client.local_flow_control_window(1), client.max_outbound_frame_size)
            assert room > 0, "the window was not given back"
            client.send_data(1, rest[:room])
            rest = rest[room:]
            engine.receive(client.data_to_send())
            client.receive_data(engine.take_sent())
    assert engine.streams[1].data == expected


def _receive_all(engine: Recorder, data: bytes) -> int:
    """In as many turns as it takes; returns their number."""
    turns = 1
    while not engine.receive(data):
        data = b""
        turns += 1
    return turns


def _pair(values: dict[int, int]) -> tuple[Recorder, h2.connection.H2Connection]:
    """Our server's engine and h2's client, with one stream open."""
    engine = Recorder()
    engine.send_preface()
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    client.update_settings({SettingCodes(code): value for code, value in values.items()})
    client.send_headers(1, [(":method", "POST"), (":scheme", "http"), (":path", "/a"), (":authority", "x")])
    engine.receive(client.data_to_send())
    client.receive_data(engine.take_sent())
    engine.receive(client.data_to_send())
    engine.write(engine.encode_headers(1, frames.block([(":status", "200")])))
    client.receive_data(engine.take_sent())
    return engine, client


def _deliver(engine: Recorder, client: h2.connection.H2Connection) -> bytes:
    """What reaches the client; it acknowledges it at once."""
    received = b""
    for event in client.receive_data(engine.take_sent()):
        if isinstance(event, h2.events.DataReceived):
            received += event.data or b""
            client.acknowledge_received_data(event.flow_controlled_length or 0, 1)
    engine.guard = None  # a window of one byte takes an update for every byte
    engine.receive(client.data_to_send())
    return received
