"""One HTTP/2 stream: sends within the flow-control windows; subclasses receive."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode

if TYPE_CHECKING:
    from pilotage.grpc.http2.engine import Engine

_MEMORY_RETRY_SECONDS = 0.05
_SMALL_FRAME = 1024


class Stream(ABC):
    """A stream. A payload is sent at once as far as the windows allow; at most one waits."""

    def __init__(self, connection: Engine[Any], stream_id: int) -> None:
        self.connection = connection
        self.id = stream_id
        self.window = connection.initial_window
        """The peer's window: bytes that may still be sent."""
        self.unread = 0
        """Received bytes for which the window has not been updated."""
        self.peer_ended = False
        self.ended = False
        """Whether the sending half has ended, or both."""
        self._rest: memoryview | None = None
        self._end_after = False
        self._memory_denied = False
        self._waiter: asyncio.Future[None] | None = None

    @abstractmethod
    def receive_headers(self, fields: list[tuple[bytes, bytes]], ended: bool) -> None:
        """The headers of a response, or trailers."""

    @abstractmethod
    def receive_data(self, payload: bytes, ended: bool) -> None:
        """A payload of DATA."""

    @abstractmethod
    def receive_reset(self, code: ErrorCode) -> None:
        """The peer reset the stream."""

    def offer(self, payload: bytes) -> bool:
        """Send a payload; False, and nothing is sent, while the windows or the transport are full.

        If only a part fits, the rest is queued and sent as the windows open, and `offer` returns False until then. So
        a message may be larger than any window of the peer.
        """
        connection = self.connection
        # What is queued goes first: frames of two payloads must not be mixed within a stream.
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
        if not connection.may_queue(size):
            self._memory_denied = True
            return False
        self.queue(payload)
        return True

    def queue(self, payload: bytes, *, end: bool = False) -> None:
        """Send what fits now, and the rest as the windows open. Nothing else may be queued."""
        self._rest = memoryview(payload)
        self._end_after = end
        self.connection.queued_bytes += len(payload)
        self.connection.blocked.add(self)  # the engine pumps it when a window opens
        self.pump()

    def pump(self) -> None:
        """Send what is queued as far as it fits, and wake the sender if more can be sent."""
        connection = self.connection
        while self._rest is not None and not connection.paused:
            size = min(len(self._rest), self.window, connection.window, connection.frame_bytes)
            if size <= 0:
                return
            piece, rest = self._rest[:size], self._rest[size:]
            self._rest = rest if len(rest) else None
            self.window -= size
            connection.window -= size
            connection.queued_bytes -= size
            connection.sent_frames += 1
            # A peer that opens its window by a few bytes at a time gets a frame for each. Such frames do not earn it
            # more window updates, or it could go on for ever. The last piece of a payload may be small.
            if size < _SMALL_FRAME and self._rest is not None:
                connection.small_frames += 1
            flags = frames.END_STREAM if self._end_after and self._rest is None else 0
            connection.send(frames.frame(frames.DATA, flags, self.id, bytes(piece)))
        if self.has_room():
            connection.blocked.discard(self)
        self.wake()

    def has_room(self) -> bool:
        connection = self.connection
        return self._rest is None and not connection.paused and self.window > 0 and connection.window > 0

    async def wait_for_room(self) -> None:
        """Wait until something may be sent, or the stream has ended."""
        if self._memory_denied:
            self._memory_denied = False
            await asyncio.sleep(_MEMORY_RETRY_SECONDS)  # other connections do not report when they free memory
        while not self.ended and not self.has_room():
            await self._wait_for_room()

    async def flush(self) -> None:
        """Wait until nothing is queued, or the stream has ended."""
        while not self.ended and self._rest is not None:
            await self._wait_for_room()

    async def _wait_for_room(self) -> None:
        self.connection.blocked.add(self)
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def update_window(self) -> None:
        """Update the peer's window by what was received; only for half of it and more, to save frames."""
        # The peer sends nothing more after its end: an update would only cost a frame.
        if self.unread >= self.connection.half_window and not self.peer_ended:
            self.connection.write(frames.window_update(self.id, self.unread))
            self.unread = 0

    def finish(self) -> None:
        """End the sending half, and remove the stream from the connection."""
        self.ended = True
        if self._rest is not None:
            # Queued bytes count against the memory of all connections, also of a stream that is reset.
            self.connection.queued_bytes -= len(self._rest)
            self._rest = None
        self.connection.forget(self)
        self.wake()

    def reset(self, code: ErrorCode = ErrorCode.CANCEL) -> None:
        """Reset the stream: both halves end at once."""
        if not self.ended or not self.peer_ended:
            self.connection.send(frames.reset(self.id, code))
        self.peer_ended = True
        self.finish()
