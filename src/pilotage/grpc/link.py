"""A connection on asyncio: an engine between a transport and its streams, and what time does to it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TypeVar, cast

from pilotage.grpc import frames
from pilotage.grpc.engine import Bounds, Engine, Violation, _nowhere
from pilotage.grpc.frames import ErrorCode
from pilotage.grpc.guard import Abuse, Guard
from pilotage.grpc.stream import Stream

S = TypeVar("S", bound=Stream)

_KEEPALIVE = b"pilotage"
_READ_BYTES = 32768
_LINGER = 1.0  # seconds that the peer has to take the last words


class Link(Engine[S], asyncio.BufferedProtocol):
    """One connection. `lost` says why it ended, and is empty while it has not."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, client: bool, bounds: Bounds, guard: Guard | None = None
    ) -> None:
        super().__init__(client=client, bounds=bounds, guard=guard)
        self.loop = loop
        self.closed: asyncio.Future[None] = loop.create_future()
        """Done when the connection has ended."""
        self.lost = ""
        self.heard = loop.time()
        """When something came last."""
        self.paused_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._ping_sent: float | None = None
        self.queued = False
        """Whether this connection waits for its next turn: nothing is read from it meanwhile."""
        self._lingering: asyncio.TimerHandle | None = None
        self._buffer = bytearray(_READ_BYTES)  # of one's own: to get one for each read costs more than to read
        self._view = memoryview(self._buffer)

    @abstractmethod
    def ended(self) -> None:
        """The connection has gone, or is about to: no stream will get anything more."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.write = self._transport.write
        self.greet()

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():  # else asyncio would log each of them
            self.write(data)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view  # not the bytearray: asyncio's TLS slices it, and would read into a copy

    def buffer_updated(self, count: int) -> None:
        if self.lost:
            return
        self.heard = self.loop.time()
        data = bytes(self._view[:count])
        if self.queued:  # TLS may have had more in hand than it was asked for
            self.defer(data)
        elif not self.take_at_once(data) and self._transport is not None:
            self._transport.pause_reading()
            self.queued = True
            self.ask_for_turn()

    def go_on(self) -> None:
        """Take what was left in the last turn; no more is read before that is done."""
        if self.lost:
            return
        if not self.take(b""):
            self.ask_for_turn()
            return
        self.queued = False
        if self._transport is not None and not self.lost:
            self._transport.resume_reading()

    def take_at_once(self, data: bytes) -> bool:
        """Take what has just come, or keep it for a turn of its own."""
        return self.take(data)

    def take(self, data: bytes) -> bool:
        """Take what came, as much as one may in a turn. Whether that was all."""
        try:
            return self.receive(data)
        except Violation as violation:
            self.cut(violation.code, str(violation))
        except Abuse as abuse:
            self.cut(ErrorCode.ENHANCE_YOUR_CALM, str(abuse))
        return True

    def ask_for_turn(self) -> None:
        """See to it that `go_on` is called, after others have had their turn."""
        self.loop.call_soon(self.go_on)

    def pause_writing(self) -> None:
        self.paused = True
        self.paused_since = self.loop.time()

    def resume_writing(self) -> None:
        self.paused = False
        # Not at once: asyncio closes a transport twice whose write fails while it says that there is room again.
        self.loop.call_soon(self.unblock)

    def eof_received(self) -> bool | None:
        self._lose("the peer closed the connection")
        return None

    def connection_lost(self, exception: Exception | None) -> None:
        self._lose(str(exception) if exception is not None else "the connection was closed")
        self._transport = None
        if self._lingering is not None:
            self._lingering.cancel()
        if not self.closed.done():
            self.closed.set_result(None)

    def cut(self, code: ErrorCode, text: str) -> None:
        """End the connection, saying why."""
        if not self.lost:
            self.write(frames.goaway(self.last_id, code, text))
        self._lose(text)

    def abort(self, text: str) -> None:
        """End the connection now: what was not sent is not sent."""
        self._lose(text)
        if self._transport is not None:
            self._transport.abort()

    def keep_alive(self, now: float, after: float, timeout: float) -> None:
        """Ask for a sign of life after silence; without one the connection is lost."""
        if self.queued:
            self.heard = now  # it has sent something; it is we who do not read
        if self._ping_sent is not None and self.heard >= self._ping_sent:
            self._ping_sent = None
        if self._ping_sent is not None:
            if now - self._ping_sent >= timeout:
                self.abort(f"no sign of life for {now - self.heard:.0f} s")
        elif now - self.heard >= after:
            self._ping_sent = now
            self.write(frames.frame(frames.PING, 0, 0, _KEEPALIVE))

    @property
    def connected(self) -> bool:
        return self._transport is not None

    @property
    def awaiting(self) -> bool:
        """Whether a sign of life was asked for and has not come."""
        return self._ping_sent is not None and self.heard < self._ping_sent

    def _lose(self, why: str) -> None:
        if self.lost:
            return
        self.lost = why or "the connection was lost"
        self.write = _nowhere
        if self._transport is not None:
            self._transport.close()
            self._lingering = self.loop.call_later(_LINGER, self._transport.abort)
        self.ended()
