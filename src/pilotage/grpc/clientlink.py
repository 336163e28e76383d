"""The client's end of a connection: begins as many calls at once as the server allows."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import count

from pilotage.errors import ConnectionLost
from pilotage.grpc import frames
from pilotage.grpc.engine import Bounds, Fields, Violation
from pilotage.grpc.frames import ErrorCode
from pilotage.grpc.link import Link
from pilotage.grpc.options import ChannelOptions
from pilotage.grpc.outgoingcall import OutgoingCall
from pilotage.grpc.rpc import frame
from pilotage.grpc.stream import Stream

_LAST_ID = 2**31 - 1
_numbers = count(1)


class ClientLink(Link[OutgoingCall]):
    """One connection to a server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, options: ChannelOptions, target: str) -> None:
        bounds = Bounds(0, options.window_bytes, options.metadata_bytes)
        super().__init__(loop, client=True, bounds=bounds)
        self.number = next(_numbers)
        """Which connection of this process it is."""
        self.ready: asyncio.Future[None] = loop.create_future()
        """Done when the server has sent its settings, or the connection is lost."""
        self.gone = False
        """Whether no more calls can be begun."""
        self._options = options
        self._target = target
        self.parting = ""
        """The reason that the server sent when it ended the connection."""
        self._places: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        if options.keepalive_seconds:
            self._timer = loop.call_later(options.keepalive_seconds, self._keep_alive)

    async def begin(self, head: bytes, message: bytes | None) -> OutgoingCall:
        """Send a call: its one message, or none where the caller sends messages later.

        Raises ConnectionLost (not sent) where the connection takes no more calls.
        """
        while len(self.streams) >= self.peer_streams and not self.gone:
            await self._place()
        if self.gone:
            raise self._lost(sent=False)
        half_open = message is None
        call = OutgoingCall(self, self.next_id, self._options.message_bytes, self.number, half_open=half_open)
        self.next_id += 2
        if self.next_id > _LAST_ID:
            self.gone = True
        self.streams[call.id] = call
        if message is None:
            self.write(self.headers(call.id, head))
            return call
        payload = frame(message)
        size = len(payload)
        opening = self.headers(call.id, head)
        if size <= min(call.window, self.window, self.frame_bytes) and not self.paused:
            call.window -= size
            self.window -= size
            self.write(opening + frames.frame(frames.DATA, frames.END_STREAM, call.id, payload))
        else:
            self.write(opening)
            call.keep(payload, end=True)
        return call

    def close(self) -> None:
        self.cut(ErrorCode.NO_ERROR, "")

    # Called by the engine.

    def greeted(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def opened(self, stream_id: int, fields: Fields, ended: bool) -> None:
        raise Violation(ErrorCode.PROTOCOL_ERROR, "a server opens no streams")

    def pinged(self) -> None:
        """The engine has answered already."""

    def leaving(self, last_id: int, code: ErrorCode, text: str) -> None:
        self.gone = True
        self.parting = f"the server ended the connection: {text or code.name}"
        refused = frames.is_refusal(last_id, code)
        for stream_id, call in list(self.streams.items()):
            if refused or stream_id > last_id:
                call.refused = refused
                call.lose(self._lost(sent=False))
        self._free_places()
        self._close_if_done()

    def unblock(self) -> None:
        super().unblock()
        self._free_places()  # the server may take more calls at once than before

    def ended(self) -> None:
        self.gone = True
        if self._timer is not None:
            self._timer.cancel()
        if not self.ready.done():
            self.ready.set_result(None)
        for call in list(self.streams.values()):
            call.lose(self._lost(sent=True))
        self._free_places()

    def forget(self, stream: Stream) -> None:
        super().forget(stream)
        if self._places:
            self._free_places()
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self.gone and not self.streams and not self.lost:
            self.loop.call_soon(self.close)  # not now: the call that ended has yet to wake its caller

    def _lost(self, *, sent: bool) -> ConnectionLost:
        why = self.parting or self.lost or "the connection takes no more calls"
        return ConnectionLost(f"{self._target}: {why}", sent=sent)

    async def _place(self) -> None:
        """Wait until the server may take one more call."""
        place = self.loop.create_future()
        self._places.append(place)
        try:
            await place
        finally:
            if place in self._places:
                self._places.remove(place)

    def _free_places(self) -> None:
        for place in self._places:
            if not place.done():
                place.set_result(None)

    def _keep_alive(self) -> None:
        options = self._options
        now = self.loop.time()
        if options.keepalive_without_calls or self.streams:
            self.keep_alive(now, options.keepalive_seconds, options.keepalive_timeout)
        if not self.lost:
            self._timer = self.loop.call_later(self._next_look(now), self._keep_alive)

    def _next_look(self, now: float) -> float:
        options = self._options
        due = options.keepalive_timeout if self.awaiting else options.keepalive_seconds - (now - self.heard)
        return max(due, min(options.keepalive_seconds, options.keepalive_timeout) / 10)
