"""The client side of a connection: starts as many concurrent calls as the server allows."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count

from pilotage.errors import ConnectionLost
from pilotage.grpc.connection import Connection
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.engine import Bounds, Fields, ProtocolViolation
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.http2.stream import Stream
from pilotage.grpc.options import ChannelOptions
from pilotage.grpc.outgoingcall import OutgoingCall
from pilotage.grpc.rpc import frame

_LAST_ID = 2**31 - 1
_numbers = count(1)


class ClientConnection(Connection[OutgoingCall]):
    """One connection to a server."""

    _write_now: Callable[[bytes], object]

    def __init__(self, loop: asyncio.AbstractEventLoop, options: ChannelOptions, target: str) -> None:
        bounds = Bounds(0, options.window_bytes, options.metadata_bytes)
        super().__init__(loop, client=True, bounds=bounds)
        self.number = next(_numbers)
        """The number of this connection in the process."""
        self.ready: asyncio.Future[None] = loop.create_future()
        """Done when the server has sent its settings, or the connection is lost."""
        self.gone = False
        """Whether no more calls can be started."""
        self._options = options
        self._target = target
        self.goaway_reason = ""
        """The reason in the server's GOAWAY."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._written = False  # in this turn of the loop
        self._unwritten: list[bytes] = []  # what was to be written after that
        self._timer: asyncio.TimerHandle | None = None
        if options.keepalive_seconds:
            self._timer = loop.call_later(options.keepalive_seconds, self._keep_alive)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self.lost:
            self._write_now, self.write = self.write, self._write

    async def begin(self, head: bytes, message: bytes | None) -> OutgoingCall:
        """Send a call with its one message, or without one if the caller sends messages later.

        Raises ConnectionLost (not sent) if no more calls can be started.
        """
        while len(self.streams) >= self.peer_streams and not self.gone:
            await self._wait_for_stream()
        if self.gone:
            raise self._lost(sent=False)
        half_open = message is None
        call = OutgoingCall(self, self.next_id, self._options.message_bytes, self.number, half_open=half_open)
        self.next_id += 2
        if self.next_id > _LAST_ID:
            self.gone = True
        self.streams[call.id] = call
        if message is None:
            self.write(self.encode_headers(call.id, head))
            return call
        payload = frame(message)
        size = len(payload)
        opening = self.encode_headers(call.id, head)
        if size <= min(call.window, self.window, self.frame_bytes) and not self.paused:
            call.window -= size
            self.window -= size
            self.write(opening + frames.frame(frames.DATA, frames.END_STREAM, call.id, payload))
        else:
            self.write(opening)
            call.queue(payload, end=True)
        return call

    def _write(self, data: bytes) -> None:
        """Write the first frames of a turn of the loop at once, and all others together at its end.

        A system call costs as much CPU time as the rest of a call.
        """
        if self._written:
            self._unwritten.append(data)
        else:
            self._written = True
            self.loop.call_soon(self.flush)
            self._write_now(data)

    def flush(self) -> None:
        self._written = False
        if self._unwritten:
            data, self._unwritten = b"".join(self._unwritten), []
            if self._transport is not None and not self._transport.is_closing():
                self._write_now(data)

    def close(self) -> None:
        self.cut(ErrorCode.NO_ERROR, "")

    # Called by the engine.

    def settings_received(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def stream_opened(self, stream_id: int, fields: Fields, ended: bool) -> None:
        raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "the server opened a stream")

    def ping_received(self) -> None:
        """Nothing to do: the engine has acknowledged it."""

    def goaway_received(self, last_id: int, code: ErrorCode, text: str) -> None:
        self.gone = True
        self.goaway_reason = f"the server ended the connection: {text or code.name}"
        refused = frames.is_refusal(last_id, code)
        for stream_id, call in list(self.streams.items()):
            if refused or stream_id > last_id:
                call.refused = refused
                call.lose(self._lost(sent=False))
        self._wake_waiting()
        self._close_if_done()

    def unblock(self) -> None:
        super().unblock()
        self._wake_waiting()  # new SETTINGS may allow more concurrent calls

    def ended(self) -> None:
        self.gone = True
        if self._timer is not None:
            self._timer.cancel()
        if not self.ready.done():
            self.ready.set_result(None)
        for call in list(self.streams.values()):
            call.lose(self._lost(sent=True))
        self._wake_waiting()

    def forget(self, stream: Stream) -> None:
        super().forget(stream)
        if self._waiting:
            self._wake_waiting()
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self.gone and not self.streams and not self.lost:
            self.loop.call_soon(self.close)  # later: the call that ended must wake its caller first

    def _lost(self, *, sent: bool) -> ConnectionLost:
        reason = self.goaway_reason or self.lost or "no more calls can be started on this connection"
        return ConnectionLost(f"{self._target}: {reason}", sent=sent)

    async def _wait_for_stream(self) -> None:
        """Wait until the server may accept one more call."""
        turn = self.loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        finally:
            if turn in self._waiting:
                self._waiting.remove(turn)

    def _wake_waiting(self) -> None:
        for turn in self._waiting:
            if not turn.done():
                turn.set_result(None)

    def _keep_alive(self) -> None:
        options = self._options
        now = self.loop.time()
        if options.keepalive_without_calls or self.streams:
            self.keep_alive(now, options.keepalive_seconds, options.keepalive_timeout)
        if not self.lost:
            self._timer = self.loop.call_later(self._next_check(now), self._keep_alive)

    def _next_check(self, now: float) -> float:
        options = self._options
        due = options.keepalive_timeout if self.awaiting_pong else options.keepalive_seconds - (now - self.received_at)
        return max(due, min(options.keepalive_seconds, options.keepalive_timeout) / 10)
