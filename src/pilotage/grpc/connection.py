"""A connection on asyncio: the engine between a transport and its streams, with turns, keepalive and the close."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TypeVar, cast

from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.engine import Bounds, Engine, ProtocolViolation, discard
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.http2.guard import Abuse, Guard
from pilotage.grpc.http2.stream import Stream

S = TypeVar("S", bound=Stream)

_KEEPALIVE = b"pilotage"
_READ_BYTES = 32768
_LINGER = 1.0  # seconds that the peer has to read the last frames


class Connection(Engine[S], asyncio.BufferedProtocol):
    """One connection. `lost` is the reason of its end, and empty while it is open."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, client: bool, bounds: Bounds, guard: Guard | None = None
    ) -> None:
        super().__init__(client=client, bounds=bounds, guard=guard)
        self.loop = loop
        self.closed: asyncio.Future[None] = loop.create_future()
        """Done when the transport is closed."""
        self.lost = ""
        self.received_at = loop.time()
        """When bytes were received last."""
        self.paused_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._ping_sent: float | None = None
        self.waiting_turn = False
        """Whether received bytes wait for the next turn: nothing is read meanwhile."""
        self._abort_timer: asyncio.TimerHandle | None = None
        self._buffer = bytearray(_READ_BYTES)  # one for all reads: to allocate a buffer costs more than to read
        self._view = memoryview(self._buffer)

    def flush(self) -> None:
        """Pass bytes that were not sent yet to the transport."""

    @abstractmethod
    def ended(self) -> None:
        """The connection is closing: the streams receive nothing more."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self.lost:  # asyncio goes on with a TLS handshake that is cancelled in the turn in which it begins
            self._transport.abort()
            return
        self.write = self._transport.write
        self.send_preface()

    def send(self, data: bytes) -> None:
        if (
            self._transport is not None and not self._transport.is_closing()
        ):  # asyncio logs every write to a closing one
            self.write(data)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view  # not the bytearray: asyncio's TLS slices it, and would read into a copy

    def buffer_updated(self, count: int) -> None:
        if self.lost:
            return
        self.received_at = self.loop.time()
        data = bytes(self._view[:count])
        if self.waiting_turn:  # TLS delivers bytes that it has decrypted already, also while reading is paused
            self.defer(data)
        elif not self.process_received(data) and self._transport is not None:
            self._transport.pause_reading()
            self.waiting_turn = True
            self.request_turn()

    def resume(self) -> None:
        """Process what was left in the last turn, and read again only when nothing is left."""
        if self.lost:
            return
        if not self.process(b""):
            self.request_turn()
            return
        self.waiting_turn = False
        if self._transport is not None and not self.lost:
            self._transport.resume_reading()

    def process_received(self, data: bytes) -> bool:
        """Process new bytes, or defer them to a later turn. Returns whether nothing is left."""
        return self.process(data)

    def process(self, data: bytes) -> bool:
        """Process as many frames as one turn allows. Returns whether nothing is left."""
        try:
            return self.receive(data)
        except ProtocolViolation as violation:
            self.cut(violation.code, str(violation))
        except Abuse as abuse:
            self.cut(ErrorCode.ENHANCE_YOUR_CALM, str(abuse))
        return True

    def request_turn(self) -> None:
        """Have `resume` called after the turns of other connections."""
        self.loop.call_soon(self.resume)

    def pause_writing(self) -> None:
        self.paused = True
        self.paused_since = self.loop.time()

    def resume_writing(self) -> None:
        self.paused = False
        # Not at once: if a write fails inside this callback, asyncio closes the transport twice.
        self.loop.call_soon(self.unblock)

    def eof_received(self) -> bool | None:
        self._lose("the peer closed the connection")
        return None

    def connection_lost(self, exception: Exception | None) -> None:
        self._lose(str(exception) if exception is not None else "the connection was closed")
        self._transport = None
        if self._abort_timer is not None:
            self._abort_timer.cancel()
        if not self.closed.done():
            self.closed.set_result(None)

    def cut(self, code: ErrorCode, text: str) -> None:
        """Close the connection after a GOAWAY with the reason."""
        if not self.lost:
            self.write(frames.goaway(self.last_id, code, text))
        self._lose(text)

    def abort(self, text: str) -> None:
        """Close the connection at once and discard unsent data."""
        self._lose(text)
        if self._transport is not None:
            self._transport.abort()

    def keep_alive(self, now: float, after: float, timeout: float) -> None:
        """Send a PING after `after` seconds of silence, and close the connection if nothing comes for `timeout`."""
        if self.waiting_turn:
            self.received_at = now  # the peer is alive: it is this side that does not read
        if self._ping_sent is not None and self.received_at >= self._ping_sent:
            self._ping_sent = None
        if self._ping_sent is not None:
            if now - self._ping_sent >= timeout:
                self.abort(f"keepalive timeout: nothing was received for {now - self.received_at:.0f} s")
        elif now - self.received_at >= after:
            self._ping_sent = now
            self.write(frames.frame(frames.PING, 0, 0, _KEEPALIVE))

    @property
    def connected(self) -> bool:
        return self._transport is not None

    @property
    def awaiting_pong(self) -> bool:
        """Whether a keepalive PING is not answered yet."""
        return self._ping_sent is not None and self.received_at < self._ping_sent

    def _lose(self, why: str) -> None:
        if self.lost:
            return
        self.lost = why or "the connection was lost"
        self.flush()
        self.write = discard
        if self._transport is not None:
            self._transport.close()
            self._abort_timer = self.loop.call_later(_LINGER, self._transport.abort)
        self.ended()
