"""One side of an HTTP/2 connection, as far as gRPC needs it, without I/O.

It has two goals: a frame from an attacker must cost very little, and a message to one of many watchers must cost one
call of `write`. No state is kept for a closed stream.
"""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hpack import Decoder, HPACKError, OversizedHeaderListError

from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode, Setting
from pilotage.grpc.http2.guard import AbuseKind, Guard
from pilotage.grpc.http2.stream import Stream

Fields = list[tuple[bytes, bytes]]
S = TypeVar("S", bound=Stream)

# The first bit of a stream id is reserved and must be ignored (RFC 9113, 4.1).
_ID = 0x7FFFFFFF
_SMALL = 128  # bytes: few whole requests are smaller, so many smaller DATA frames are an attack
_CONTINUATIONS = 8  # frames after HEADERS: without a bound a header block never ends (CVE-2024-27316)
_SETTINGS_PER_FRAME = 64
# What is processed in one turn of the loop, by whether this side is the client. A client trusts its server. A server
# must return to its other clients: 64 frames, or one header block, take about 0.1 ms.
_BLOCKS_PER_TURN = {True: 64, False: 1}
_FRAMES_PER_TURN = {True: 4096, False: 64}
# A header block that begins with three or more changes of the table size. RFC 7541 needs two at most; each costs a byte
# to send and an eviction of the table to process.
_RESIZES = re.compile(rb"(?:[\x20-\x3e]|\x3f[\x80-\xff]*[\x00-\x7f]){3}")
_LARGEST_FRAME = 65536  # sent even if the peer allows larger ones: a large frame delays the other streams


class ProtocolViolation(Exception):
    """The peer violated the protocol: the connection must be closed with this code."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits that this side announces to its peer."""

    streams: int = 0
    """Streams that the peer may have open; 0: it may open none."""
    window_bytes: int = 1 << 20
    """The flow-control window of each stream and of the connection."""
    header_bytes: int = 16384


class Engine(ABC, Generic[S]):
    """The state of a connection. Bytes go to `write`; a subclass implements the callbacks."""

    def __init__(self, *, client: bool, bounds: Bounds, guard: Guard | None = None) -> None:
        self.write: Callable[[bytes], object] = discard
        self.paused = False
        """Whether the transport's buffer is full: nothing more is written for now."""
        self.streams: dict[int, S] = {}
        self.blocked: set[Stream] = set()
        """Streams that wait for a window or for the transport."""
        self.queued_bytes = 0
        """Bytes of messages that wait for the same."""
        self.window = frames.DEFAULT_WINDOW
        """The peer's window of the connection: bytes that may still be sent on all streams."""
        self.initial_window = frames.DEFAULT_WINDOW
        self.frame_bytes = frames.DEFAULT_FRAME_BYTES
        # Without a limit until the peer announces one (RFC 9113, 6.5.2).
        self.peer_streams = 1 << 31
        self.last_id = 0
        """The last stream that the peer opened."""
        self.next_id = 1
        """The id of the next stream of a client; a server opens none."""
        self.sent_frames = 0
        """DATA frames and header blocks of responses."""
        self.small_frames = 0
        """The part of them that is small because the peer updates its window in small steps."""
        self.block_weight = 1
        """The cost of decoding the last header block: 1 for an ordinary one."""
        self.bounds = bounds
        self.half_window = bounds.window_bytes // 2
        self.guard = guard
        self._client = client
        self._expected = b"" if client else frames.PREFACE
        self._settings_received = False
        self._unread = 0  # received bytes of DATA for which the window of the connection was not updated yet
        self._rest = b""  # received bytes that are not processed yet: a part of a frame, or the work of the next turn
        self._partial: _Partial | None = None
        self._blocks = 0  # header blocks decoded in this turn
        self._max_blocks = _BLOCKS_PER_TURN[client]
        self._max_frames = _FRAMES_PER_TURN[client]
        self._last_stray = 0  # the last closed stream for which a reset was sent
        self._earned: dict[AbuseKind, int] = {}  # the sent frames for which frames of a kind were granted already
        self._table_update = frames.NO_TABLE  # sent with the first header block
        self._decoder = Decoder(max_header_list_size=bounds.header_bytes)
        self._receivers: dict[int, Callable[[int, int, bytes], None]] = {
            frames.HEADERS: self._receive_headers,
            frames.PRIORITY: self._receive_priority,
            frames.RST_STREAM: self._receive_reset,
            frames.SETTINGS: self._receive_settings,
            frames.PUSH_PROMISE: self._receive_push,
            frames.PING: self._receive_ping,
            frames.GOAWAY: self._receive_goaway,
            frames.WINDOW_UPDATE: self._receive_window_update,
            frames.CONTINUATION: self._receive_stray_continuation,
        }

    # Callbacks.

    @abstractmethod
    def settings_received(self) -> None:
        """The first SETTINGS of the peer were received: it speaks HTTP/2."""

    @abstractmethod
    def stream_opened(self, stream_id: int, fields: Fields, ended: bool) -> None:
        """The peer opened a stream."""

    @abstractmethod
    def ping_received(self) -> None:
        """A PING was received and has been acknowledged."""

    @abstractmethod
    def goaway_received(self, last_id: int, code: ErrorCode, text: str) -> None:
        """GOAWAY was received: the peer accepts no more streams and has not processed any after `last_id`."""

    def may_queue(self, size: int) -> bool:
        """Whether `size` more bytes may wait to be sent."""
        return True

    # Sending.

    def send_preface(self) -> None:
        """Send the limits of this side. Must be called first."""
        values = {Setting.INITIAL_WINDOW_SIZE: self.bounds.window_bytes}
        values[Setting.MAX_HEADER_LIST_SIZE] = self.bounds.header_bytes
        if self._client:
            values[Setting.ENABLE_PUSH] = 0
        else:
            values[Setting.MAX_CONCURRENT_STREAMS] = self.bounds.streams
        # SETTINGS changes the windows of streams only; the window of the connection grows by WINDOW_UPDATE (RFC 9113,
        # 6.9.2).
        more = self.bounds.window_bytes - frames.DEFAULT_WINDOW
        greeting = (frames.PREFACE if self._client else b"") + frames.settings(values)
        self.write(greeting + (frames.window_update(0, more) if more > 0 else b""))

    def encode_headers(self, stream_id: int, block: bytes, *, end: bool = False) -> bytes:
        """The frames of a header block. Write them before the next call: HPACK depends on the order."""
        block, self._table_update = self._table_update + block, b""
        self.sent_frames += 1
        return frames.headers(stream_id, block, end=end)

    def send(self, data: bytes) -> None:
        """Write a response of this side to a frame; skipped while the transport closes, where many may follow."""
        self.write(data)

    def forget(self, stream: Stream) -> None:
        """Remove a closed stream."""
        self.streams.pop(stream.id, None)
        self.blocked.discard(stream)

    def unblock(self) -> None:
        """Send what waits, as far as the windows and the transport allow."""
        for stream in list(self.blocked):
            if self.window <= 0 or self.paused:
                return
            stream.pump()

    # Receiving.

    def defer(self, data: bytes) -> None:
        """Keep received bytes for the next turn."""
        self._rest += data

    def receive(self, data: bytes) -> bool:
        """Process received bytes. False if some are left for the next turn (`receive(b"")`), after other connections.

        Raises ProtocolViolation and Abuse; the connection cannot be used after that.
        """
        if self._rest:
            data = self._rest + data
        if self._expected:
            data = self._receive_preface(data)
        start, end = 0, len(data)
        self._blocks = 0
        done = True
        unpack = frames.HEAD.unpack_from
        for _ in range(self._max_frames):
            if end - start < frames.HEAD_BYTES:
                break
            high, low, kind, flags, stream_id = unpack(data, start)
            size = high << 8 | low
            # Checked before the payload is there: this side announces no larger frames, so it never buffers more than
            # this.
            if size > frames.DEFAULT_FRAME_BYTES:
                raise ProtocolViolation(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            stop = start + frames.HEAD_BYTES + size
            if stop > end:
                break
            # What follows waits with it: frames, and header blocks above all, must be processed in order.
            if kind == frames.HEADERS and self._blocks >= self._max_blocks:
                done = False
                break
            payload = data[start + frames.HEAD_BYTES : stop]
            start = stop
            # The most frequent frame, without the dispatch and the checks that it does not need.
            if kind == frames.DATA and self._settings_received and self._partial is None:
                self._receive_data(flags, stream_id & _ID, payload)
            else:
                self._take(kind, flags, stream_id & _ID, payload)
        else:
            done = start == end
        self._rest = data[start:]
        return done

    def _receive_preface(self, data: bytes) -> bytes:
        expected = self._expected
        if data[: len(expected)] != expected[: len(data)]:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "not an HTTP/2 preface; connect with a gRPC client")
        self._expected = expected[len(data) :]
        return data[len(expected) :]

    def _take(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if not self._settings_received and not self._may_begin(kind, flags):
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS")
        if self._partial is not None:
            self._receive_continuation(kind, flags, stream_id, payload)
        elif (receiver := self._receivers.get(kind)) is not None:
            receiver(flags, stream_id, payload)
        else:
            self._count(AbuseKind.OTHER)

    def _may_begin(self, kind: int, flags: int) -> bool:
        """The first frame is SETTINGS; a server that refuses the connection may send GOAWAY instead."""
        return (kind == frames.SETTINGS and not flags & frames.ACK) or (self._client and kind == frames.GOAWAY)

    def _receive_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        # With its padding, which counts for flow control (RFC 9113, 6.1).
        size = len(payload)
        # When it arrives, not when it is read: one slow stream must not close the window of the connection for the
        # others. Memory is limited by the windows of the streams.
        self._unread += size
        if self._unread >= self.half_window:  # not for every frame: each update costs a write here and a read there
            self.write(frames.window_update(0, self._unread))
            self._unread = 0
        if flags & frames.PADDED:
            payload = _unpadded(payload)
        if len(payload) < _SMALL and not flags & frames.END_STREAM:
            self._count(AbuseKind.SMALL_DATA if payload else AbuseKind.EMPTY_DATA)
        stream = self.streams.get(stream_id)
        if stream is None:
            self._receive_stray_data(stream_id)
            return
        if stream.peer_ended:
            raise ProtocolViolation(ErrorCode.STREAM_CLOSED, f"DATA after the end of stream {stream_id}")
        stream.unread += size
        if stream.unread > self.bounds.window_bytes:
            raise ProtocolViolation(ErrorCode.FLOW_CONTROL_ERROR, f"stream {stream_id} exceeds its window")
        stream.receive_data(payload, bool(flags & frames.END_STREAM))

    def _receive_stray_data(self, stream_id: int) -> None:
        """DATA on a closed stream. A client receives some after it cancelled a call. A server resets the stream.

        One reset for each stream, and none to a client that does not read: resets must not fill the memory.
        """
        self._check_closed_stream(stream_id)
        if not self._client and stream_id != self._last_stray and not self.paused:
            self._last_stray = stream_id
            self.send(frames.reset(stream_id, ErrorCode.STREAM_CLOSED))

    def _receive_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id == 0:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "HEADERS on stream 0")
        if flags & frames.PADDED:
            payload = _unpadded(payload)
        if flags & frames.PRIORITISED:
            if len(payload) < 5:
                raise ProtocolViolation(ErrorCode.FRAME_SIZE_ERROR, "HEADERS too short for their priority")
            # RFC 9113 (5.3.2) has deprecated priorities, but clients still send them.
            payload = payload[5:]
        if flags & frames.END_HEADERS:
            self._receive_block(stream_id, payload, bool(flags & frames.END_STREAM))
        else:
            self._partial = _Partial(stream_id, bytearray(payload), bool(flags & frames.END_STREAM))

    def _receive_continuation(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        partial = self._partial
        assert partial is not None
        if kind != frames.CONTINUATION or stream_id != partial.stream_id:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "a header block is interrupted by another frame")
        partial.block += payload
        partial.frames += 1
        if partial.frames > _CONTINUATIONS or len(partial.block) > self.bounds.header_bytes:
            raise ProtocolViolation(ErrorCode.ENHANCE_YOUR_CALM, "the header block is too long")
        if flags & frames.END_HEADERS:
            self._partial = None
            self._receive_block(stream_id, bytes(partial.block), partial.ended)

    def _receive_stray_continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "CONTINUATION without HEADERS")

    def _receive_block(self, stream_id: int, block: bytes, ended: bool) -> None:
        self._blocks += 1
        fields = self._decode(block)  # also for a closed stream: HPACK's table must stay in step with the peer's
        stream = self.streams.get(stream_id)
        if stream is not None:
            if stream.peer_ended:
                raise ProtocolViolation(ErrorCode.STREAM_CLOSED, f"HEADERS after the end of stream {stream_id}")
            stream.receive_headers(fields, ended)
        # Streams of a client are odd and rise (RFC 9113, 5.1.1); those that it skipped count as closed.
        elif not self._client and stream_id % 2 and stream_id > self.last_id:
            self.last_id = stream_id
            self.stream_opened(stream_id, fields, ended)
        else:
            self._check_closed_stream(stream_id)
            if not self._client:  # a client receives the rest of calls that it has cancelled
                raise ProtocolViolation(ErrorCode.STREAM_CLOSED, f"HEADERS on stream {stream_id}, which is closed")

    def _decode(self, block: bytes) -> Fields:
        if _RESIZES.match(block):
            raise ProtocolViolation(ErrorCode.COMPRESSION_ERROR, "too many updates of the header table size")
        if len(block) > self.bounds.header_bytes:  # before decoding, which takes time in proportion
            raise _oversized(self.bounds)
        try:
            fields = [(name, value) for name, value in self._decoder.decode(block, raw=True)]
        except OversizedHeaderListError as error:
            raise _oversized(self.bounds) from error
        except HPACKError as error:
            raise ProtocolViolation(ErrorCode.COMPRESSION_ERROR, "the header block cannot be decoded") from error
        self.block_weight = 1 + len(block) // 2048 + len(fields) // 32
        return fields

    def _receive_priority(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 5:
            raise ProtocolViolation(ErrorCode.FRAME_SIZE_ERROR, "PRIORITY has a wrong length")
        if stream_id == 0:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "PRIORITY on stream 0")
        self._count(AbuseKind.OTHER)

    def _receive_reset(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ProtocolViolation(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM has a wrong length")
        self._count(AbuseKind.RESET)
        stream = self.streams.get(stream_id)
        if stream is None:
            self._check_closed_stream(stream_id)
            return
        self.forget(stream)
        stream.receive_reset(ErrorCode.read(int.from_bytes(payload, "big")))

    def _receive_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "SETTINGS on a stream")
        if len(payload) % 6 or (flags & frames.ACK and payload):
            raise ProtocolViolation(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS has a wrong length")
        if len(payload) > 6 * _SETTINGS_PER_FRAME:
            raise ProtocolViolation(ErrorCode.ENHANCE_YOUR_CALM, "too many settings in one frame")
        # Before ACK returns: a flood of acknowledgements costs as much as one of settings.
        self._count(AbuseKind.SETTINGS, 1 + len(payload) // 6)
        if flags & frames.ACK:
            return
        for key, value in struct.iter_unpack(">HL", payload):
            self._set(key, value)
        # After all values are applied: the acknowledgement means that they are in effect (RFC 9113, 6.5.3).
        self.send(frames.frame(frames.SETTINGS, frames.ACK, 0))
        if not self._settings_received:
            self._settings_received = True
            self.settings_received()
        self.unblock()

    def _set(self, key: int, value: int) -> None:
        # HEADER_TABLE_SIZE has no effect, because this side uses no table; unknown settings must be ignored (6.5.2).
        if key == Setting.INITIAL_WINDOW_SIZE:
            if value > frames.LARGEST_WINDOW:
                raise ProtocolViolation(ErrorCode.FLOW_CONTROL_ERROR, "the initial window is too large")
            change = value - self.initial_window  # may be negative, and a window too: RFC 9113, 6.9.2
            self.initial_window = value
            for stream in self.streams.values():
                stream.window += change
                if stream.window > frames.LARGEST_WINDOW:
                    raise ProtocolViolation(
                        ErrorCode.FLOW_CONTROL_ERROR, f"the window of stream {stream.id} is too large"
                    )
        elif key == Setting.MAX_FRAME_SIZE:
            if not frames.DEFAULT_FRAME_BYTES <= value < 1 << 24:
                raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "MAX_FRAME_SIZE is out of range")
            self.frame_bytes = min(value, _LARGEST_FRAME)
        elif key == Setting.MAX_CONCURRENT_STREAMS:
            self.peer_streams = value
        elif key == Setting.ENABLE_PUSH and value > (0 if self._client else 1):
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "ENABLE_PUSH is neither 0 nor 1, or is set by a server")

    def _receive_push(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "PUSH_PROMISE, although push is disabled")

    def _receive_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 8:
            raise ProtocolViolation(ErrorCode.FRAME_SIZE_ERROR, "PING has a wrong length")
        if stream_id:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
        self._count_answer(AbuseKind.PING)
        if not flags & frames.ACK:
            self.send(frames.frame(frames.PING, frames.ACK, 0, payload))
            self.ping_received()

    def _receive_goaway(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) < 8:
            raise ProtocolViolation(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY has a wrong length")
        if stream_id:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "GOAWAY on a stream")
        self._count(AbuseKind.OTHER)
        last_id, code = struct.unpack_from(">LL", payload)
        self.goaway_received(last_id & _ID, ErrorCode.read(code), payload[8:264].decode("utf-8", "replace"))

    def _receive_window_update(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ProtocolViolation(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE has a wrong length")
        self._count_answer(AbuseKind.WINDOW_UPDATE)
        increment = int.from_bytes(payload, "big") & _ID
        if stream_id == 0:
            was_shut = self.window <= 0
            self.window = _widened(self.window, increment)
            if was_shut:  # else no stream waits for this window
                self.unblock()
        elif (stream := self.streams.get(stream_id)) is not None:
            # On a stream an error of the stream, on stream 0 one of the connection (RFC 9113, 6.9.1).
            if increment and stream.window + increment > frames.LARGEST_WINDOW:
                self._count(AbuseKind.RESET)  # it costs the server as much as a reset by the client (rapid reset)
                stream.reset(ErrorCode.FLOW_CONTROL_ERROR)
                stream.receive_reset(ErrorCode.FLOW_CONTROL_ERROR)
                return
            stream.window = _widened(stream.window, increment)
            if stream in self.blocked:
                stream.pump()
        else:
            self._check_closed_stream(stream_id)

    def _count_answer(self, kind: AbuseKind) -> None:
        """Count a frame that may be the reaction to a frame of this side.

        A client that receives much sends up to two window updates for each frame, of the stream and of the connection,
        and one or two pings (gRPC clients measure the delay with them). So each frame sent earns two of either kind.
        """
        guard = self.guard
        if guard is None:
            return
        if guard.exhausted(kind):
            sent = self.sent_frames - self.small_frames
            guard.grant(kind, 2 * (sent - self._earned.get(kind, 0)))
            self._earned[kind] = sent
        guard.count(kind)

    def _check_closed_stream(self, stream_id: int) -> None:
        """A frame on a closed stream may have crossed its end. One on a stream that was never opened is a violation."""
        last = self.next_id - 2 if self._client else self.last_id
        if stream_id % 2 == 0 or stream_id > last:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, f"a frame on stream {stream_id}, which was never opened")

    def _count(self, kind: AbuseKind, number: int = 1) -> None:
        if self.guard is not None:
            self.guard.count(kind, number)


@dataclass(slots=True)
class _Partial:
    """A header block that CONTINUATION frames will complete."""

    stream_id: int
    block: bytearray
    ended: bool
    frames: int = 0


def _oversized(bounds: Bounds) -> ProtocolViolation:
    return ProtocolViolation(ErrorCode.ENHANCE_YOUR_CALM, f"the headers are larger than {bounds.header_bytes} bytes")


def _unpadded(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "the padding is longer than the frame")
    return payload[1 : len(payload) - payload[0]]


def _widened(window: int, increment: int) -> int:
    if increment == 0:
        raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE by zero")
    if window + increment > frames.LARGEST_WINDOW:
        raise ProtocolViolation(ErrorCode.FLOW_CONTROL_ERROR, "the window is too large")
    return window + increment


def discard(data: bytes) -> None:
    """The `write` of a connection that is not open."""
