"""An incoming call: assembles its message, runs its handler, sends the response. It is the handler's `Outgoing` too."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pilotage.grpc import rpc
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.engine import Fields, ProtocolViolation
from pilotage.grpc.http2.frames import ErrorCode, block
from pilotage.grpc.http2.stream import Stream
from pilotage.grpc.messages import PREFIX_BYTES, Assembler
from pilotage.grpc.metadata import ANSWER, DONE, failure, metadata_block, well_formed
from pilotage.grpc.requests import CallRequest, refused
from pilotage.grpc.rpc import Code, RPCError
from pilotage.telemetry.logs import logger

if TYPE_CHECKING:
    from pilotage.grpc.serverconnection import ServerConnection

log = logger("pilotage.grpc")


@dataclass(frozen=True, slots=True)
class Route:
    """The handler of a method: one of these is set."""

    unary: rpc.UnaryHandler | None = None
    stream: rpc.StreamHandler | None = None
    bidi: rpc.BidiHandler | None = None


def routes(handlers: rpc.Handlers) -> dict[str, Route]:
    found = {name: Route(unary=handler) for name, handler in handlers.unary.items()}
    found |= {name: Route(stream=handler) for name, handler in handlers.stream.items()}
    return found | {name: Route(bidi=handler) for name, handler in handlers.bidi.items()}


class IncomingCall(Stream):
    """One call, from its headers to its trailers."""

    connection: ServerConnection

    def __init__(
        self,
        connection: ServerConnection,
        stream_id: int,
        request: CallRequest,
        route: Route,
        *,
        delay: float,
        now: float,
    ) -> None:
        super().__init__(connection, stream_id)
        self.opened_at = now
        self.task: asyncio.Task[None] | None = None
        self._request = request
        self._route = route
        self._delay = delay
        self._assembler = Assembler(connection.options.message_bytes)
        self._messages: deque[bytes] = deque()
        self._held = 0
        self._due = request.length
        self._answering = False
        self._turn: asyncio.TimerHandle | None = None
        self._arrived = asyncio.Event()
        self._gone = asyncio.Event()
        if route.bidi is not None:
            self._begin()

    @property
    def is_incomplete(self) -> bool:
        """Whether the request is not complete; False while it waits for its turn or for its handler."""
        return self.task is None and self._turn is None

    @property
    def is_unary(self) -> bool:
        return self._route.unary is not None

    # Called by the connection.

    def receive_headers(self, fields: Fields, ended: bool) -> None:
        if not ended or not well_formed(fields):
            raise ProtocolViolation(ErrorCode.PROTOCOL_ERROR, "HEADERS in the middle of a call, or malformed trailers")
        self.receive_data(b"", True)

    def receive_data(self, payload: bytes, ended: bool) -> None:
        if self._due is not None:
            self._due -= len(payload)
            if self._due < 0 or (ended and self._due):
                raise ProtocolViolation(
                    ErrorCode.PROTOCOL_ERROR,
                    f"the body of stream {self.id} does not have the length of its content-length",
                )
        self._hold(len(payload))
        if not self.connection.may_hold():
            self.fail(
                RPCError(
                    Code.RESOURCE_EXHAUSTED, "too many incomplete requests on this connection: complete them first"
                )
            )
            return
        try:
            self._messages.extend(self._assembler.feed(payload))
        except RPCError as error:
            self.fail(error)
            return
        if ended:
            self.peer_ended = True
        if self._route.bidi is not None:
            self._arrived.set()
        elif ended or len(self._messages) > 1:
            self._dispatch()
        if not self._messages or self._route.bidi is None:
            self.update_window()

    def receive_reset(self, code: ErrorCode) -> None:
        self.lose()

    def lose(self) -> None:
        """End the call of a caller that has disconnected or cancelled."""
        self.peer_ended = True
        if not self.ended:
            self.finish()
            self.connection.count_call(Code.CANCELLED)
        if self.task is not None:
            self.task.cancel()

    def stop(self) -> None:
        """End a stream because the server stops; its caller gets UNAVAILABLE. A unary call may finish."""
        if self.task is None:
            self.fail(_stopping())
        elif not self.is_unary:
            self.task.cancel()

    def expire(self) -> None:
        """Fail the call because its message was not complete in time."""
        seconds = self.connection.options.request_seconds
        self.fail(RPCError(Code.DEADLINE_EXCEEDED, f"the request was not complete within {seconds:g} s"))

    def finish(self) -> None:
        super().finish()
        if self._turn is not None:
            self._turn.cancel()
        self._hold(-self._held)
        self._gone.set()
        self._arrived.set()

    def _hold(self, size: int) -> None:
        self._held += size
        self.connection.held += size

    def _dispatch(self) -> None:
        if len(self._messages) != 1 or self._assembler.held:
            self.fail(RPCError(Code.UNIMPLEMENTED, f"{self._request.call.method} takes exactly one complete message"))
            return
        self._hold(-self._held)
        self._begin()

    def _begin(self) -> None:
        if self._delay:
            self._turn = self.connection.loop.call_later(self._delay, self._start)
        else:
            self._start()

    def _start(self) -> None:
        self._turn = None
        self.task = self.connection.start(self._run())

    # Running the handler.

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(self._request.timeout) as deadline:
                await self._answer()
        except RPCError as error:
            await self._end(error)
        except asyncio.CancelledError:
            if not self.ended:  # else the caller has disconnected
                self.fail(
                    _stopping() if self.connection.stopping else RPCError(Code.CANCELLED, "the call was cancelled")
                )
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and deadline.expired():
                await self._end(RPCError(Code.DEADLINE_EXCEEDED, f"not finished within {self._request.timeout:g} s"))
            else:
                log.exception(
                    "Request handler failed", method=self._request.call.method, uid=self._request.call.peer.uid
                )
                await self._end(RPCError(Code.INTERNAL, "internal error; the server's log has the details"))

    async def _answer(self) -> None:
        route, call = self._route, self._request.call
        if route.unary is not None:
            await self._send_reply(await route.unary(call, self._messages.popleft()))
        elif route.stream is not None:
            await route.stream(call, self._messages.popleft(), self)
            await self._end(None)
        elif route.bidi is not None:
            await route.bidi(call, self._incoming(), self)
            await self._end(None)

    async def _incoming(self) -> AsyncIterator[bytes]:
        while True:
            while self._messages:
                message = self._messages.popleft()
                self._hold(-min(len(message) + PREFIX_BYTES, self._held))
                if not self._messages:
                    self.update_window()
                yield message
            if self.peer_ended:
                break
            self._arrived.clear()
            await self._arrived.wait()
        if self._assembler.held:
            raise RPCError(Code.INTERNAL, "the last message is incomplete")

    # The response.

    async def _send_reply(self, reply: rpc.Reply) -> None:
        if self.ended:
            return
        if len(reply.message) > self.connection.options.reply_bytes:
            most = self.connection.options.reply_bytes
            text = f"the response has {len(reply.message)} bytes, the limit is {most}: request less"
            raise RPCError(Code.RESOURCE_EXHAUSTED, text)
        connection = self.connection
        payload = rpc.frame(reply.message)
        head = ANSWER + metadata_block(reply.metadata) if reply.metadata else ANSWER
        size = len(payload)
        if size <= min(self.window, connection.window, connection.frame_bytes) and not connection.paused:
            self.window -= size
            connection.window -= size
            data = frames.frame(frames.DATA, 0, self.id, payload)
            connection.send(
                connection.encode_headers(self.id, head) + data + connection.encode_headers(self.id, DONE, end=True)
            )
            self._finish_call(Code.OK)
            return
        if not connection.may_queue(size):
            text = "too many unread responses on this connection: read them first"
            raise RPCError(Code.RESOURCE_EXHAUSTED, text)
        self._answering = True
        connection.send(connection.encode_headers(self.id, head))
        self.queue(payload)
        await self._end(None)

    async def _end(self, error: RPCError | None) -> None:
        """Send the trailers after what is queued; a caller that does not read within `stall_seconds` is reset."""
        try:
            async with asyncio.timeout(self.connection.options.stall_seconds):
                await self.flush()
        except TimeoutError:
            if not self.ended:
                self.reset()
                self.connection.count_call(Code.CANCELLED)
        else:
            self._send_trailers(error)

    def fail(self, error: RPCError) -> None:
        """End the call with an error, at once."""
        if self._rest is not None and not self.ended:
            self.reset(ErrorCode.INTERNAL_ERROR)  # trailers cannot follow a part of a message
            self.connection.count_call(error.code)
        else:
            self._send_trailers(error)

    def _send_trailers(self, error: RPCError | None) -> None:
        if self.ended:
            return
        if self._answering:
            ending = DONE if error is None else block(failure(error))
        else:
            ending = ANSWER + DONE if error is None else refused(error)
        self.connection.send(self.connection.encode_headers(self.id, ending, end=True))
        self._finish_call(error.code if error is not None else Code.OK)

    def _finish_call(self, code: Code) -> None:
        self.finish()
        if not self.peer_ended:
            self.peer_ended = True
            self.connection.send(frames.reset(self.id, ErrorCode.NO_ERROR))
        self.connection.count_call(code)

    # The handler's side of a stream (rpc.Outgoing).

    async def open(self, metadata: Mapping[str, str] | None = None) -> None:
        self._check_open()
        if not self._answering:
            self._answering = True
            self.connection.send(
                self.connection.encode_headers(self.id, ANSWER + metadata_block(metadata) if metadata else ANSWER)
            )

    def write(self, frames: Sequence[bytes]) -> bool:
        if self.ended or not self._answering:
            self._check_open()
            self._answering = True
            self.connection.send(self.connection.encode_headers(self.id, ANSWER))
        if len(frames) == 1:
            return self.offer(frames[0])
        return not frames or self.offer(b"".join(frames))

    async def wait_drained(self) -> None:
        await self.wait_for_room()
        self._check_open()

    async def wait_closed(self) -> None:
        await self._gone.wait()

    def _check_open(self) -> None:
        if self.ended:
            raise RPCError(Code.CANCELLED, "the caller has disconnected")


def _stopping() -> RPCError:
    return RPCError(Code.UNAVAILABLE, "the server is shutting down")
