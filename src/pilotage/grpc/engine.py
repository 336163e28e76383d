"""One side of an HTTP/2 connection, as far as gRPC needs it: frames in, streams told, frames out. Without any I/O.

It is written for two things: that a frame which an attacker sends costs next to nothing, and that a message to one of
many watchers costs one call of `write`. Nothing is kept about a stream that is over.
"""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hpack import Decoder, HPACKError, OversizedHeaderListError

from pilotage.grpc import frames
from pilotage.grpc.frames import ErrorCode, Setting
from pilotage.grpc.guard import Guard, Nuisance
from pilotage.grpc.stream import Stream

Fields = list[tuple[bytes, bytes]]
S = TypeVar("S", bound=Stream)

_ID = 0x7FFFFFFF
_SMALL = 128  # bytes in a DATA frame, under which a whole request would be an exception
_CONTINUATIONS = 8
_SETTINGS_AT_ONCE = 64
_BLOCKS_AT_ONCE = {True: 64, False: 1}  # of a client, which trusts its server; of a server
_FRAMES_AT_ONCE = {True: 4096, False: 64}  # some 0.1 ms, which is what other clients of a server may wait for
_RESIZES = re.compile(rb"(?:[\x20-\x3e]|\x3f[\x80-\xff]*[\x00-\x7f]){3}")
"""How a header block begins that changes the size of the table more often than anybody has to: up to two do."""
_LARGEST_FRAME = 65536  # of those that a peer would take, the largest that we send: others want their turn


class Violation(Exception):
    """The peer broke the rules: the connection is to be ended, with this code."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one side grants the other."""

    streams: int = 0
    """How many it may have open at once; 0: it may open none."""
    window_bytes: int = 1 << 20
    """What it may send ahead, on each stream and on the connection."""
    header_bytes: int = 16384


class Engine(ABC, Generic[S]):
    """The rules of a connection. `write` is where bytes go; who derives from this hears what happens."""

    def __init__(self, *, client: bool, bounds: Bounds, guard: Guard | None = None) -> None:
        self.write: Callable[[bytes], object] = _nowhere
        self.paused = False
        """Whether the bytes that were written have not gone out yet: no more of them for now."""
        self.streams: dict[int, S] = {}
        self.blocked: set[Stream] = set()
        """Streams that wait for room."""
        self.kept = 0
        """Bytes that wait for room."""
        self.window = frames.DEFAULT_WINDOW
        """What may still be sent, on all streams together."""
        self.initial_window = frames.DEFAULT_WINDOW
        self.frame_bytes = frames.DEFAULT_FRAME_BYTES
        self.peer_streams = 1 << 31
        self.last_id = 0
        """The last stream that the peer has opened."""
        self.next_id = 1
        """The next stream that we open, where we are the client: they open all."""
        self.sent_frames = 0
        """DATA frames, and answers' headers."""
        self.scraps = 0
        """Of these, those that are as small as they are because the peer grants so little at a time."""
        self.block_weight = 1
        """What the last header block cost to read: one for an ordinary one."""
        self.received_messages = 0
        self.bounds = bounds
        self.half_window = bounds.window_bytes // 2
        self.guard = guard
        self._client = client
        self._expected = b"" if client else frames.PREFACE
        self._greeted = False
        self._unread = 0
        self._rest = b""
        self._partial: _Partial | None = None
        self._blocks = 0
        self._most_blocks = _BLOCKS_AT_ONCE[client]
        self._most_frames = _FRAMES_AT_ONCE[client]
        self._last_stray = 0
        self._earned: dict[Nuisance, int] = {}
        self._unspoken = frames.NO_TABLE
        self._decoder = Decoder(max_header_list_size=bounds.header_bytes)
        self._takers: dict[int, Callable[[int, int, bytes], None]] = {
            frames.HEADERS: self._take_headers,
            frames.PRIORITY: self._take_priority,
            frames.RST_STREAM: self._take_reset,
            frames.SETTINGS: self._take_settings,
            frames.PUSH_PROMISE: self._take_push,
            frames.PING: self._take_ping,
            frames.GOAWAY: self._take_goaway,
            frames.WINDOW_UPDATE: self._take_window_update,
            frames.CONTINUATION: self._take_stray_continuation,
        }

    # What happens, for who derives from this.

    @abstractmethod
    def greeted(self) -> None:
        """The peer's settings have come: it speaks HTTP/2."""

    @abstractmethod
    def opened(self, stream_id: int, fields: Fields, ended: bool) -> None:
        """The peer opens a stream."""

    @abstractmethod
    def pinged(self) -> None:
        """The peer wants a sign of life; it has been given."""

    @abstractmethod
    def leaving(self, last_id: int, code: ErrorCode, text: str) -> None:
        """The peer takes no more streams, and none after `last_id` has been looked at."""

    def may_keep(self, size: int) -> bool:
        """Whether so much more may wait for room."""
        return True

    # Sending.

    def greet(self) -> None:
        """Say what is granted to the peer. The first thing to be sent."""
        values = {Setting.INITIAL_WINDOW_SIZE: self.bounds.window_bytes}
        values[Setting.MAX_HEADER_LIST_SIZE] = self.bounds.header_bytes
        if self._client:
            values[Setting.ENABLE_PUSH] = 0
        else:
            values[Setting.MAX_CONCURRENT_STREAMS] = self.bounds.streams
        more = self.bounds.window_bytes - frames.DEFAULT_WINDOW
        greeting = (frames.PREFACE if self._client else b"") + frames.settings(values)
        self.write(greeting + (frames.window_update(0, more) if more > 0 else b""))

    def headers(self, stream_id: int, block: bytes, *, end: bool = False) -> bytes:
        """The frames of a header block. They must be written before the next are asked for."""
        block, self._unspoken = self._unspoken + block, b""
        self.sent_frames += 1
        return frames.headers(stream_id, block, end=end)

    def send(self, data: bytes) -> None:
        """Write where many may follow one another: not when it is known that nothing arrives any more."""
        self.write(data)

    def forget(self, stream: Stream) -> None:
        """The stream is over."""
        self.streams.pop(stream.id, None)
        self.blocked.discard(stream)

    def unblock(self) -> None:
        """There may be room: let those who wait try."""
        for stream in list(self.blocked):
            if self.window <= 0 or self.paused:
                return
            stream.pump()

    # Receiving.

    def defer(self, data: bytes) -> None:
        """Keep what came for the next turn."""
        self._rest += data

    def receive(self, data: bytes) -> bool:
        """Take what came. False where some of it is left for the next turn (`receive(b"")`): others shall have theirs.

        Raises Violation and Abuse; then nothing more may be received.
        """
        if self._rest:
            data = self._rest + data
        if self._expected:
            data = self._preface(data)
        start, end = 0, len(data)
        self._blocks = 0
        done = True
        unpack = frames.HEAD.unpack_from
        for _ in range(self._most_frames):
            if end - start < frames.HEAD_BYTES:
                break
            high, low, kind, flags, stream_id = unpack(data, start)
            size = high << 8 | low
            if size > frames.DEFAULT_FRAME_BYTES:
                raise Violation(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            stop = start + frames.HEAD_BYTES + size
            if stop > end:
                break
            if kind == frames.HEADERS and self._blocks >= self._most_blocks:
                done = False
                break
            payload = data[start + frames.HEAD_BYTES : stop]
            start = stop
            if kind == frames.DATA and self._greeted and self._partial is None:
                self._take_data(flags, stream_id & _ID, payload)
            else:
                self._take(kind, flags, stream_id & _ID, payload)
        else:
            done = start == end
        self._rest = data[start:]
        return done

    def _preface(self, data: bytes) -> bytes:
        expected = self._expected
        if data[: len(expected)] != expected[: len(data)]:
            raise Violation(ErrorCode.PROTOCOL_ERROR, "this is not HTTP/2: speak gRPC")
        self._expected = expected[len(data) :]
        return data[len(expected) :]

    def _take(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if not self._greeted and not self._may_begin(kind, flags):
            raise Violation(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS")
        if self._partial is not None:
            self._take_continuation(kind, flags, stream_id, payload)
        elif (taker := self._takers.get(kind)) is not None:
            taker(flags, stream_id, payload)
        else:
            self._count(Nuisance.OTHER)

    def _may_begin(self, kind: int, flags: int) -> bool:
        """A peer's first words are its settings; a server that turns us away may say why instead."""
        return (kind == frames.SETTINGS and not flags & frames.ACK) or (self._client and kind == frames.GOAWAY)

    def _take_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        size = len(payload)
        self._unread += size
        if self._unread >= self.half_window:
            self.write(frames.window_update(0, self._unread))
            self._unread = 0
        if flags & frames.PADDED:
            payload = _unpadded(payload)
        if len(payload) < _SMALL and not flags & frames.END_STREAM:
            self._count(Nuisance.SMALL_DATA if payload else Nuisance.EMPTY_DATA)
        stream = self.streams.get(stream_id)
        if stream is None:
            self._take_stray_data(stream_id)
            return
        if stream.peer_ended:
            raise Violation(ErrorCode.STREAM_CLOSED, f"DATA after the end of stream {stream_id}")
        stream.unread += size
        if stream.unread > self.bounds.window_bytes:
            raise Violation(ErrorCode.FLOW_CONTROL_ERROR, f"stream {stream_id} sends more than it may")
        stream.take_data(payload, bool(flags & frames.END_STREAM))

    def _take_stray_data(self, stream_id: int) -> None:
        """A client may get what it has cancelled. Who sends to a server what it has ended is told so, if it listens."""
        self._stray(stream_id)
        if not self._client and stream_id != self._last_stray and not self.paused:
            self._last_stray = stream_id
            self.send(frames.reset(stream_id, ErrorCode.STREAM_CLOSED))

    def _take_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id == 0:
            raise Violation(ErrorCode.PROTOCOL_ERROR, "HEADERS on stream 0")
        if flags & frames.PADDED:
            payload = _unpadded(payload)
        if flags & frames.PRIORITISED:
            if len(payload) < 5:
                raise Violation(ErrorCode.FRAME_SIZE_ERROR, "HEADERS too short for their priority")
            payload = payload[5:]
        if flags & frames.END_HEADERS:
            self._take_block(stream_id, payload, bool(flags & frames.END_STREAM))
        else:
            self._partial = _Partial(stream_id, bytearray(payload), bool(flags & frames.END_STREAM))

    def _take_continuation(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        partial = self._partial
        assert partial is not None
        if kind != frames.CONTINUATION or stream_id != partial.stream_id:
            raise Violation(ErrorCode.PROTOCOL_ERROR, "a header block was interrupted")
        partial.block += payload
        partial.frames += 1
        if partial.frames > _CONTINUATIONS or len(partial.block) > self.bounds.header_bytes:
            raise Violation(ErrorCode.ENHANCE_YOUR_CALM, "a header block without end")
        if flags & frames.END_HEADERS:
            self._partial = None
            self._take_block(stream_id, bytes(partial.block), partial.ended)

    def _take_stray_continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise Violation(ErrorCode.PROTOCOL_ERROR, "CONTINUATION of nothing")

    def _take_block(self, stream_id: int, block: bytes, ended: bool) -> None:
        self._blocks += 1
        fields = self._decoded(block)
        stream = self.streams.get(stream_id)
        if stream is not None:
            if stream.peer_ended:
                raise Violation(ErrorCode.STREAM_CLOSED, f"HEADERS after the end of stream {stream_id}")
            stream.take_headers(fields, ended)
        elif not self._client and stream_id % 2 and stream_id > self.last_id:
            self.last_id = stream_id
            self.opened(stream_id, fields, ended)
        else:
            self._stray(stream_id)
            if not self._client:  # a client may get what it has cancelled; a server is sent nothing after the end
                raise Violation(ErrorCode.STREAM_CLOSED, f"HEADERS on stream {stream_id}, which is over")

    def _decoded(self, block: bytes) -> Fields:
        if _RESIZES.match(block):  # cheap to send, dear to follow
            raise Violation(ErrorCode.COMPRESSION_ERROR, "headers that do nothing but change their table")
        if len(block) > self.bounds.header_bytes:  # compressed or not: to read them takes time
            raise _oversized(self.bounds)
        try:
            fields = [(name, value) for name, value in self._decoder.decode(block, raw=True)]
        except OversizedHeaderListError as error:
            raise _oversized(self.bounds) from error
        except HPACKError as error:
            raise Violation(ErrorCode.COMPRESSION_ERROR, "headers that cannot be decoded") from error
        self.block_weight = 1 + len(block) // 2048 + len(fields) // 32
        return fields

    def _take_priority(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 5:
            raise Violation(ErrorCode.FRAME_SIZE_ERROR, "PRIORITY of a wrong length")
        if stream_id == 0:
            raise Violation(ErrorCode.PROTOCOL_ERROR, "PRIORITY on stream 0")
        self._count(Nuisance.OTHER)

    def _take_reset(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise Violation(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM of a wrong length")
        self._count(Nuisance.RESET)
        stream = self.streams.get(stream_id)
        if stream is None:
            self._stray(stream_id)
            return
        self.forget(stream)
        stream.take_reset(ErrorCode.read(int.from_bytes(payload, "big")))

    def _take_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise Violation(ErrorCode.PROTOCOL_ERROR, "SETTINGS on a stream")
        if len(payload) % 6 or (flags & frames.ACK and payload):
            raise Violation(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS of a wrong length")
        if len(payload) > 6 * _SETTINGS_AT_ONCE:
            raise Violation(ErrorCode.ENHANCE_YOUR_CALM, "too many settings at once")
        self._count(Nuisance.SETTINGS, 1 + len(payload) // 6)
        if flags & frames.ACK:
            return
        for key, value in struct.iter_unpack(">HL", payload):
            self._set(key, value)
        self.send(frames.frame(frames.SETTINGS, frames.ACK, 0))
        if not self._greeted:
            self._greeted = True
            self.greeted()
        self.unblock()

    def _set(self, key: int, value: int) -> None:
        if key == Setting.INITIAL_WINDOW_SIZE:
            if value > frames.LARGEST_WINDOW:
                raise Violation(ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
            change = value - self.initial_window
            self.initial_window = value
            for stream in self.streams.values():
                stream.window += change
                if stream.window > frames.LARGEST_WINDOW:
                    raise Violation(ErrorCode.FLOW_CONTROL_ERROR, f"the window of stream {stream.id} is too large")
        elif key == Setting.MAX_FRAME_SIZE:
            if not frames.DEFAULT_FRAME_BYTES <= value < 1 << 24:
                raise Violation(ErrorCode.PROTOCOL_ERROR, "a frame size that is not allowed")
            self.frame_bytes = min(value, _LARGEST_FRAME)
        elif key == Setting.MAX_CONCURRENT_STREAMS:
            self.peer_streams = value
        elif key == Setting.ENABLE_PUSH and value > (0 if self._client else 1):
            raise Violation(ErrorCode.PROTOCOL_ERROR, "a push that is neither on nor off, or a server's")

    def _take_push(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise Violation(ErrorCode.PROTOCOL_ERROR, "PUSH_PROMISE")

    def _take_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 8:
            raise Violation(ErrorCode.FRAME_SIZE_ERROR, "PING of a wrong length")
        if stream_id:
            raise Violation(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
        self._count_answer(Nuisance.PING)
        if not flags & frames.ACK:
            self.send(frames.frame(frames.PING, frames.ACK, 0, payload))
            self.pinged()

    def _take_goaway(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) < 8:
            raise Violation(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY of a wrong length")
        if stream_id:
            raise Violation(ErrorCode.PROTOCOL_ERROR, "GOAWAY on a stream")
        self._count(Nuisance.OTHER)
        last_id, code = struct.unpack_from(">LL", payload)
        self.leaving(last_id & _ID, ErrorCode.read(code), payload[8:264].decode("utf-8", "replace"))

    def _take_window_update(self, flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise Violation(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE of a wrong length")
        self._count_answer(Nuisance.WINDOW_UPDATE)
        increment = int.from_bytes(payload, "big") & _ID
        if stream_id == 0:
            was_shut = self.window <= 0
            self.window = _widened(self.window, increment)
            if was_shut:  # else nobody waits for this window
                self.unblock()
        elif (stream := self.streams.get(stream_id)) is not None:
            if increment and stream.window + increment > frames.LARGEST_WINDOW:
                self._count(Nuisance.RESET)  # to make the server reset streams is no better than to reset them
                stream.break_off(ErrorCode.FLOW_CONTROL_ERROR)
                stream.take_reset(ErrorCode.FLOW_CONTROL_ERROR)
                return
            stream.window = _widened(stream.window, increment)
            if stream in self.blocked:
                stream.pump()
        else:
            self._stray(stream_id)

    def _count_answer(self, nuisance: Nuisance) -> None:
        """Who is sent much has much to answer: for each frame up to two updates, on the stream and on the connection,
        and a ping or two (gRPC's clients measure the delay with them)."""
        guard = self.guard
        if guard is None:
            return
        if guard.exhausted(nuisance):
            sent = self.sent_frames - self.scraps
            guard.grant(nuisance, 2 * (sent - self._earned.get(nuisance, 0)))
            self._earned[nuisance] = sent
        guard.count(nuisance)

    def _stray(self, stream_id: int) -> None:
        """A frame on a stream that is over, which may well be, or that never was."""
        last = self.next_id - 2 if self._client else self.last_id
        if stream_id % 2 == 0 or stream_id > last:
            raise Violation(ErrorCode.PROTOCOL_ERROR, f"a frame on stream {stream_id}, which nobody has opened")

    def _count(self, nuisance: Nuisance, number: int = 1) -> None:
        if self.guard is not None:
            self.guard.count(nuisance, number)


@dataclass(slots=True)
class _Partial:
    """A header block of which more is to come."""

    stream_id: int
    block: bytearray
    ended: bool
    frames: int = 0


def _oversized(bounds: Bounds) -> Violation:
    return Violation(ErrorCode.ENHANCE_YOUR_CALM, f"headers over {bounds.header_bytes} bytes")


def _unpadded(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise Violation(ErrorCode.PROTOCOL_ERROR, "more padding than there is")
    return payload[1 : len(payload) - payload[0]]


def _widened(window: int, increment: int) -> int:
    if increment == 0:
        raise Violation(ErrorCode.PROTOCOL_ERROR, "a WINDOW_UPDATE of nothing")
    if window + increment > frames.LARGEST_WINDOW:
        raise Violation(ErrorCode.FLOW_CONTROL_ERROR, "a window that is too large")
    return window + increment


def _nowhere(data: bytes) -> None:
    """Where bytes go before a connection is made, and after it has gone."""
