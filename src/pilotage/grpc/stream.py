"""One stream of a connection: the half that sends, with its window, and what both sides do with the other half."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from pilotage.grpc import frames
from pilotage.grpc.frames import ErrorCode

_PRESSURE_PAUSE = 0.05
_SCRAP = 1024


class Connection(Protocol):
    """What a stream needs of its connection."""

    write: Callable[[bytes], object]
    paused: bool
    window: int
    initial_window: int
    frame_bytes: int
    sent_frames: int
    scraps: int
    half_window: int
    blocked: set[Stream]
    kept: int

    def send(self, data: bytes) -> None: ...

    def may_keep(self, size: int) -> bool: ...

    def headers(self, stream_id: int, block: bytes, *, end: bool = False) -> bytes: ...

    def forget(self, stream: Stream) -> None: ...


class Stream(ABC):
    """A stream. What was offered goes out at once where there is room; at most one offer waits."""

    def __init__(self, connection: Connection, stream_id: int) -> None:
        self.connection = connection
        self.id = stream_id
        self.window = connection.initial_window
        """What may still be sent."""
        self.unread = 0
        """Bytes received that have not been given back to the peer's window."""
        self.peer_ended = False
        self.ended = False
        """Whether our half has ended, or both."""
        self._rest: memoryview | None = None
        self._end_after = False
        self._starved = False
        self._waiter: asyncio.Future[None] | None = None

    @abstractmethod
    def take_headers(self, fields: list[tuple[bytes, bytes]], ended: bool) -> None:
        """Headers have come: those of an answer, or trailers."""

    @abstractmethod
    def take_data(self, payload: bytes, ended: bool) -> None:
        """A piece of the peer's half has come."""

    @abstractmethod
    def take_reset(self, code: ErrorCode) -> None:
        """The peer has broken the stream off."""

    def offer(self, payload: bytes) -> bool:
        """Send, at once; False, and nothing sent, where there is no room at all.

        Where there is room for a part only, the rest goes out as room is made, and there is no room until it has: a
        message may be larger than any window that the peer will ever grant.
        """
        connection = self.connection
        if connection.paused or self._rest is not None:
            return False
        size = len(payload)
        if size <= self.window and size <= connection.window and size <= connection.frame_bytes:
            self.window -= size
            connection.window -= size
            connection.sent_frames += 1
            connection.write((size << 48 | self.id).to_bytes(9, "big") + payload)  # DATA and no flags: both are zero
            return True
        if self.window <= 0 or connection.window <= 0:
            return False
        if not connection.may_keep(size):
            self._starved = True
            return False
        self.keep(payload)
        return True

    def keep(self, payload: bytes, *, end: bool = False) -> None:
        """Send what there is room for, and the rest as room is made. Nothing else may wait already."""
        self._rest = memoryview(payload)
        self._end_after = end
        self.connection.kept += len(payload)
        self.connection.blocked.add(self)
        self.pump()

    def pump(self) -> None:
        """Send of what waits, and wake who waits for room if there is any."""
        connection = self.connection
        while self._rest is not None and not connection.paused:
            size = min(len(self._rest), self.window, connection.window, connection.frame_bytes)
            if size <= 0:
                return
            piece, rest = self._rest[:size], self._rest[size:]
            self._rest = rest if len(rest) else None
            self.window -= size
            connection.window -= size
            connection.kept -= size
            connection.sent_frames += 1
            if size < _SCRAP and self._rest is not None:
                connection.scraps += 1
            flags = frames.END_STREAM if self._end_after and self._rest is None else 0
            connection.send(frames.frame(frames.DATA, flags, self.id, bytes(piece)))
        if self.has_room():
            connection.blocked.discard(self)
        self.wake()

    def has_room(self) -> bool:
        connection = self.connection
        return self._rest is None and not connection.paused and self.window > 0 and connection.window > 0

    async def room(self) -> None:
        """Wait until something may be sent, or the stream is over."""
        if self._starved:
            self._starved = False
            await asyncio.sleep(_PRESSURE_PAUSE)  # nobody tells when others need less memory
        while not self.ended and not self.has_room():
            await self._woken()

    async def flushed(self) -> None:
        """Wait until nothing waits to be sent, or the stream is over."""
        while not self.ended and self._rest is not None:
            await self._woken()

    async def _woken(self) -> None:
        self.connection.blocked.add(self)
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def give_back(self) -> None:
        """Let the peer send as much again as has been taken."""
        if self.unread >= self.connection.half_window and not self.peer_ended:
            self.connection.write(frames.window_update(self.id, self.unread))
            self.unread = 0

    def finish(self) -> None:
        """Our half has ended, or the whole: nothing more is sent."""
        self.ended = True
        if self._rest is not None:
            self.connection.kept -= len(self._rest)
            self._rest = None
        self.connection.forget(self)
        self.wake()

    def break_off(self, code: ErrorCode = ErrorCode.CANCEL) -> None:
        """End both halves at once."""
        if not self.ended or not self.peer_ended:
            self.connection.send(frames.reset(self.id, code))
        self.peer_ended = True
        self.finish()
