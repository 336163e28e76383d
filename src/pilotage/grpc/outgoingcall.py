"""An outgoing call: the part of its answer that has arrived, and the caller that waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pilotage.errors import ConnectionLost, PilotageError
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.engine import Engine, Fields, ProtocolViolation
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.http2.stream import Stream
from pilotage.grpc.messages import PREFIX_BYTES, Assembler
from pilotage.grpc.metadata import outcome, refused_by_http, split_fields, well_formed
from pilotage.grpc.rpc import Code, RPCError, frame

_RESETS = {
    ErrorCode.CANCEL: Code.CANCELLED,
    ErrorCode.ENHANCE_YOUR_CALM: Code.RESOURCE_EXHAUSTED,
    ErrorCode.INADEQUATE_SECURITY: Code.PERMISSION_DENIED,
    ErrorCode.REFUSED_STREAM: Code.UNAVAILABLE,
}
_STATUS = (b":status",)
_OUR_OWN = frozenset((b":status", b"content-type", b"grpc-status", b"grpc-message"))


class OutgoingCall(Stream):
    """One call. It is an `Incoming` too: iterating yields the messages of the response.

    `half_open` if the caller sends messages (`send`, `end_sending`) after the call was started.
    """

    def __init__(
        self,
        connection: Engine[Any],
        stream_id: int,
        largest: int,
        connection_number: int = 0,
        *,
        half_open: bool = False,
    ) -> None:
        super().__init__(connection, stream_id)
        self.connection_number = connection_number
        self._sending = half_open
        self.metadata: Mapping[str, str] = {}
        """The initial metadata, once received."""
        self.answered = False
        """Whether anything arrived: the server has received the call."""
        self.refused = False
        """Whether the server refuses connections of this client: another connection would be refused too."""
        self.over = False
        self.error: PilotageError | None = None
        """The reason of the failure; None while the call runs, and after OK."""
        self._assembler = Assembler(largest)
        self._messages: deque[bytes] = deque()
        self._queued = 0
        self._listener: asyncio.Future[None] | None = None

    # Called by the connection.

    def receive_headers(self, fields: Fields, ended: bool) -> None:
        if not well_formed(fields, () if self.answered else _STATUS):
            raise ProtocolViolation(
                ErrorCode.PROTOCOL_ERROR, "the response has header fields that HTTP/2 does not allow"
            )
        own = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in fields
            if name in _OUR_OWN or name[-4:] == b"-bin"
        }
        if not self.answered:
            if own.get(":status", "").startswith("1") and not ended:
                return  # an interim response: the final one follows
            self.answered = True
            self.metadata = split_fields(fields)[1]
            if (refusal := refused_by_http(own)) is not None:
                self._finish(refusal)
                return
        elif not ended:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "HEADERS in the middle of a response")
        if ended:
            self.peer_ended = True
            self._finish(outcome(own))
        else:
            self._notify()

    def receive_data(self, payload: bytes, ended: bool) -> None:
        if not self.answered:
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "DATA before the HEADERS of the response")
        try:
            messages = self._assembler.feed(payload)
        except RPCError as error:
            self._finish(error)
            return
        if messages:
            self._messages.extend(messages)
            self._queued += sum(map(len, messages)) + PREFIX_BYTES * len(messages)
            listener = self._listener
            if listener is not None and not listener.done():
                listener.set_result(None)
        if ended:
            self.peer_ended = True
            self._finish(RPCError(Code.INTERNAL, "the server ended the stream without a status"))
        elif self.unread >= self.connection.half_window and self._queued < self.connection.half_window:
            self.update_window()

    def receive_reset(self, code: ErrorCode) -> None:
        self.peer_ended = True
        if code is ErrorCode.REFUSED_STREAM and not self.answered:
            self._finish(ConnectionLost("the server accepts no more calls on this connection", sent=False))
        else:
            self._finish(RPCError(_RESETS.get(code, Code.INTERNAL), f"the server reset the stream ({code.name})"))

    def lose(self, error: ConnectionLost) -> None:
        """End the call because its connection is lost."""
        self.peer_ended = True
        self._finish(error)

    # Called by callers.

    async def send(self, message: bytes) -> None:
        """Send one more message of a bidirectional call; waits for room in the server's window.

        One sender at a time. Raises the call's error after its end.
        """
        payload = frame(message)
        while True:
            if self.over:
                raise self.error or RPCError(Code.CANCELLED, "the server has ended the stream")
            if not self._sending:
                raise RPCError(Code.FAILED_PRECONDITION, "end_sending was called: no more messages can be sent")
            if self.offer(payload):
                return
            await self.wait_for_room()

    async def end_sending(self) -> None:
        """End the caller's half of a bidirectional call: the server gets no more messages. May be called again."""
        await self.flush()
        if self._sending and not self.over:
            self._sending = False
            self.connection.send(frames.frame(frames.DATA, frames.END_STREAM, self.id))

    @property
    def has_messages(self) -> bool:
        """Whether a received message waits for the caller."""
        return bool(self._messages)

    async def wait_for_headers(self) -> None:
        """Wait for the headers of the response, or for its end."""
        while not self.answered and not self.over:
            await self._wait_for_response()

    async def message(self) -> bytes:
        """The one message of the response to a unary call. Raises the call's error."""
        while not self.over:
            await self._wait_for_response()
        if self.error is not None:
            raise self.error
        if len(self._messages) != 1:
            raise RPCError(
                Code.INTERNAL, f"the server sent {len(self._messages)} messages in response to a unary call, expected 1"
            )
        return self._messages.popleft()

    def cancel(self) -> None:
        """Discard the rest of the response."""
        self._messages.clear()
        if not self.over:
            self._finish(RPCError(Code.CANCELLED, "the call was cancelled"))

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._messages:
            if self.over:
                if self.error is not None:
                    raise self.error
                raise StopAsyncIteration
            await self._wait_for_response()
        message = self._messages.popleft()
        if self._queued and not self._messages:
            self._queued = 0
            if self.unread >= self.connection.half_window:
                self.update_window()
        return message

    async def _wait_for_response(self) -> None:
        self._listener = asyncio.get_running_loop().create_future()
        try:
            await self._listener
        finally:
            self._listener = None

    def _notify(self) -> None:
        if self._listener is not None and not self._listener.done():
            self._listener.set_result(None)

    def _finish(self, error: PilotageError | None) -> None:
        if self.over:
            return
        self.over = True
        self.error = error
        if self.peer_ended and self._rest is None and not self._sending:
            self.finish()
        elif self.peer_ended and error is None:
            # The server has responded without reading to the end. NO_ERROR, as in grpc-go: nothing was cancelled.
            self.reset(ErrorCode.NO_ERROR)
        else:
            self.reset()
        self._notify()
