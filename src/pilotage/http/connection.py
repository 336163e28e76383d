"""The server side of a connection: reads requests, calls the handler, writes responses, within the limits."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from math import inf

from pilotage.errors import ConnectionLost
from pilotage.http.dates import DateLine
from pilotage.http.heads import Refusal, RequestHead
from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Authenticate, Handler, HTTPRequest, Peer, StreamingResponse, Upgraded
from pilotage.http.reader import BodyTooLarge, RawRequest, RequestReader
from pilotage.http.responses import CONTINUE, LAST_CHUNK, ResponsePlan, chunk_bytes, plan, refusal_bytes
from pilotage.telemetry.logs import logger

log = logger("pilotage.http")


@dataclass(slots=True)
class Shared:
    """The state that all connections of a server share."""

    handler: Handler
    limits: HTTPLimits
    authenticate: Authenticate | None = None
    answers_too_large: bool = False
    unauthenticated: dict[ServerConnection, asyncio.Task[None]] = field(default_factory=dict)
    """Connections that have not authenticated yet, oldest first, with the tasks that serve them."""
    unauthenticated_held: int = 0
    """Bytes of bodies being read from unauthenticated connections."""
    date_line: DateLine = field(default_factory=DateLine)
    closing: bool = False
    held: int = 0
    """Bytes of bodies being read or handled."""
    requests: int = 0
    refused: int = 0
    cut: int = 0
    """Connections closed by a deadline."""


class Phase(enum.Enum):
    """The state of a connection, which is also the meaning of its deadline."""

    NEW = enum.auto()
    IDLE = enum.auto()
    HEAD = enum.auto()
    BODY = enum.auto()
    HANDLING = enum.auto()
    CLOSING = enum.auto()


class ServerConnection(asyncio.Protocol):
    """Reads a request, calls the handler, writes the response, then continues with the next request.

    `run` is its task: it awaits requests, which the protocol's callbacks parse while no request is being handled.
    """

    def __init__(self, shared: Shared, loop: asyncio.AbstractEventLoop) -> None:
        self.phase = Phase.NEW
        self.deadline = inf
        """The loop's time at which the sweep calls `expire`."""
        self.idle_since = inf
        self._shared = shared
        self._loop = loop
        self._reader = RequestReader(shared.limits)
        self._transport: asyncio.Transport | None = None
        self._peer = Peer()
        self._task: asyncio.Task[object] | None = None
        self._arrived: asyncio.Future[RawRequest | None] = loop.create_future()
        self._drained: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] = loop.create_future()
        self._unsent = 0  # bytes that waited for the client when the last stall window began
        self._held = 0
        self._unauthenticated = True
        self._ready: list[bytes] = []  # chunks to be written when the task waits
        self._ready_bytes = 0
        self._streaming = False
        self._endless = False  # the running stream does not end by itself
        self._interrupted = False  # `finish` has cancelled it: the server closes
        self._ended = False  # the client has sent its last byte
        self._read_paused = False
        self._discards = False  # what arrives is the rest of a body that is too large
        self._upgraded: Upgraded | None = None  # what reads what arrives, instead of the reader

    async def run(self) -> None:
        """Answer requests until the connection ends; returns when it is closed."""
        self._task = asyncio.current_task()
        try:
            while await self._answer_next():
                pass  # no variable here: an idle connection would keep the body of its last request in memory
            await self._closed
        finally:
            self.abort()

    def finish(self) -> None:
        """Close if no request is active. An active request is answered first; an endless stream is ended."""
        if self.phase is Phase.IDLE:
            self._close()
        elif self._endless and not self._interrupted:
            self._interrupted = True
            self._cancel()

    def abort(self) -> None:
        """Close the connection at once, and discard unsent data."""
        if self._transport is not None:
            self._transport.abort()

    def expire(self, now: float) -> None:
        """Close after the deadline, unless a slow client has read enough."""
        if self.phase is Phase.IDLE:
            self._close()
        elif self.phase in (Phase.HEAD, Phase.BODY):
            self._shared.cut += 1
            self._refuse(Refusal(408, "the request took too long to arrive"))
        elif self.phase is Phase.HANDLING and (
            self._unsent_bytes() + self._shared.limits.write_buffer_bytes <= self._unsent
        ):
            self._begin_stall_window(now)  # the client has read enough since the last window began
        else:
            self._shared.cut += self.phase is Phase.HANDLING
            self.abort()

    # callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a socket's transport is a Transport, also under uvloop
        assert self._transport is not None
        self.phase = Phase.IDLE
        self.idle_since = self._loop.time()
        self.deadline = self.idle_since + self._shared.limits.header_seconds
        self._transport.set_write_buffer_limits(high=self._shared.limits.write_buffer_bytes)
        self._peer = _peer(self._transport)

    def data_received(self, data: bytes) -> None:
        if self.phase is Phase.CLOSING or self._discards:
            return
        if self._upgraded is not None:
            self._receive(self._upgraded, data)
            return
        self._reader.feed(data)
        if self.phase is not Phase.HANDLING:
            self._advance()
        elif self._reader.buffered > self._shared.limits.pipelined_bytes and self._transport is not None:
            self._transport.pause_reading()
            self._read_paused = True

    def eof_received(self) -> bool:
        self._ended = True
        if self.phase is not Phase.HANDLING:
            return False
        if self._streaming:
            self._cancel()
            return False
        # A client that has closed its sending side may still read the response. TLS has no half-close.
        return not self._peer.secure

    def connection_lost(self, error: Exception | None) -> None:
        if self.phase is Phase.HANDLING:
            self._cancel()
        self.phase = Phase.CLOSING
        self._transport = None
        self._count(0)
        self._deliver(None)
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        self._drained = self._loop.create_future()
        if self.phase is Phase.HANDLING:
            self._begin_stall_window(self._loop.time())

    def resume_writing(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None
        if self.phase is Phase.HANDLING:
            self.deadline = inf

    # requests

    def _advance(self) -> None:
        """Pass the next request to the task if it is complete; else set the deadline for the rest."""
        try:
            raw = self._reader.take()
            if self._unauthenticated:
                self._recognize(self._reader.head if raw is None else raw.head, whole=raw is not None)
            self._count(self._reader.held if raw is None else len(raw.body))
        except BodyTooLarge as refusal:
            if not self._shared.answers_too_large:
                self._refuse(refusal)
                return
            self._count(0)
            self._discards = True
            raw = RawRequest(refusal.head, b"")
        except Refusal as refusal:
            self._refuse(refusal)
            return
        if raw is None:
            self._await_more()
            return
        self.phase = Phase.HANDLING
        self.deadline = inf
        self._shared.requests += 1
        self._deliver(raw)

    def _await_more(self) -> None:
        if self._ended:
            self._close()
            return
        limits, reader = self._shared.limits, self._reader
        if reader.head is not None:
            phase, seconds = Phase.BODY, limits.body_seconds
            if reader.wants_continue():
                self._write(CONTINUE)
        elif reader.buffered:
            phase, seconds = Phase.HEAD, limits.header_seconds
        else:
            phase, seconds = Phase.IDLE, limits.idle_seconds
        if phase is not self.phase or phase is Phase.IDLE:  # more bytes of the same part do not extend the deadline
            self.phase = phase
            self.idle_since = self._loop.time()
            self.deadline = self.idle_since + seconds

    def _recognize(self, head: RequestHead | None, *, whole: bool) -> None:
        """Mark the connection as authenticated; without `authenticate`, after its first complete request."""
        if head is None:
            return
        authenticate = self._shared.authenticate
        if whole if authenticate is None else authenticate(head.fields.headers, self._peer):
            self._count(0)
            self._unauthenticated = False
            self._shared.unauthenticated.pop(self, None)

    def _count(self, held: int) -> None:
        """Account for the body in memory in the budget of all connections."""
        if held == self._held:
            return
        shared, limits = self._shared, self._shared.limits
        grown = held - self._held
        if self._unauthenticated and shared.authenticate is not None:
            if grown > 0 and shared.unauthenticated_held + grown > limits.unauthenticated_body_bytes:
                raise Refusal(
                    401,
                    "too many large requests of unauthenticated clients; send credentials with the request",
                )
            shared.unauthenticated_held += grown
        elif grown > 0 and held > limits.small_body_bytes and shared.held + grown > limits.body_budget_bytes:
            raise Refusal(503, "too many large requests at once, retry later", retry_after=1)
        shared.held += grown
        self._held = held

    def _deliver(self, raw: RawRequest | None) -> None:
        if not self._arrived.done():
            self._arrived.set_result(raw)

    # responses

    async def _answer_next(self) -> bool:
        raw = await self._arrived
        if raw is None:
            return False
        self._arrived = self._loop.create_future()
        await self._answer(raw)
        return True

    async def _answer(self, raw: RawRequest) -> None:
        head = raw.head
        begun = False
        try:
            response = await self._shared.handler(
                HTTPRequest(head.method, head.target, head.fields.headers, raw.body, self._peer, self._discards)
            )
            keep_alive = head.fields.keep_alive and not self._shared.closing and not self._discards
            planned = plan(response, head, keep_alive, self._shared.date_line())
            begun = True
            if isinstance(response, StreamingResponse):
                await self._write_stream(response, planned)
            elif planned.has_body and len(response.body) > _PART:
                await self._write_parts(planned.head, response.body)
            else:
                self._write(planned.head + response.body if planned.has_body else planned.head)
            if self._drained is not None:
                await self._drained
        except asyncio.CancelledError:
            if self._task is None or self._task.cancelling():
                raise
            self._fail(head, begun)  # this task was not cancelled: the handler awaited something that was
        except ConnectionLost as lost:
            if not begun:
                self._fail(head, begun)
            else:  # a stream that forwards another one must end as that one did, not look complete
                log.debug("Stream aborted, its source was lost", path=head.target.partition("?")[0], error=lost)
                self.abort()
        except Exception:
            self._fail(head, begun)
        else:
            self._go_on(planned.keep_alive)

    async def _write_parts(self, head: bytes, body: bytes) -> None:
        """Write a large body as the client reads it: written at once, it would be in memory several times over."""
        self._write(head)
        view = memoryview(body)
        for start in range(0, len(body), _PART):
            if self._drained is not None:
                await self._drained
            if self._transport is None or self._transport.is_closing():
                return  # the client has disconnected: asyncio would log a warning for each part
            self._write(view[start : start + _PART])

    async def _write_stream(self, response: StreamingResponse, planned: ResponsePlan) -> None:
        chunks = response.chunks
        self._streaming, self._endless = True, response.endless
        try:
            self._write(planned.head)  # now: the client must see that a watch is open before its first event
            self._upgrade(response.upgraded)
            if planned.has_body and not self._ended:
                await self._write_chunks(chunks, planned.chunked)
        except asyncio.CancelledError:
            if not self._interrupted or self._task is None or self._task.uncancel() > 0:
                raise  # cancelled by something other than `finish`, or also by something else
            self._end_chunks(planned.chunked)
        finally:
            self._streaming = self._endless = False
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()

    def _end_chunks(self, chunked: bool) -> None:
        """End an endless stream. A client that does not read is disconnected: the server could not close otherwise."""
        if self._drained is not None:
            self.abort()
        else:
            self._write_last(chunked)

    def _write_last(self, chunked: bool) -> None:
        if self._upgraded is not None:
            self._write(self._upgraded.last())
        elif chunked:
            self._write(LAST_CHUNK)

    def _upgrade(self, upgraded: Upgraded | None) -> None:
        if upgraded is None:
            return
        self._upgraded = upgraded
        if self._read_paused and self._transport is not None:
            self._transport.resume_reading()
        self._receive(upgraded, self._reader.take_rest())

    def _receive(self, upgraded: Upgraded, data: bytes) -> None:
        """Pass on what a client sends on an upgraded connection; a stream that the client has ended is ended."""
        answer = upgraded.received(data)
        if answer and self._drained is None:  # else the client does not read: answers would fill the memory
            self._write(answer)
        if upgraded.ended and self._endless and not self._interrupted:
            self._interrupted = True
            self._cancel()

    async def _write_chunks(self, chunks: AsyncIterator[bytes], chunked: bool) -> None:
        if self._endless and self._shared.closing:
            self._end_chunks(chunked)
            return
        turn = 0
        try:
            async for data in chunks:
                if data:
                    self._write_soon(chunk_bytes(data) if chunked else data)
                    turn += 1
                if self._drained is not None:
                    await self._drained
                elif turn >= _TURN:
                    # Chunks that never wait must not starve other tasks, nor hide that the client has disconnected.
                    turn = 0
                    await asyncio.sleep(0)
        finally:
            self._write_ready()
        self._write_last(chunked)

    def _write_soon(self, data: bytes) -> None:
        """Write when this task waits, with all that is ready by then: one system call, and not one for each event."""
        if not self._ready:
            self._loop.call_soon(self._write_ready)
        self._ready.append(data)
        self._ready_bytes += len(data)
        if self._ready_bytes > _PART:
            self._write_ready()

    def _write_ready(self) -> None:
        if self._ready:
            self._write(b"".join(self._ready))
            self._ready.clear()
            self._ready_bytes = 0

    def _write(self, data: bytes | memoryview) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _go_on(self, keep_alive: bool) -> None:
        """After a response: start the next request, which may have arrived already, or close."""
        self._count(0)
        if self._transport is None:
            return
        if self._discards:
            self._linger()
            return
        if not keep_alive or self._shared.closing or self._transport.is_closing():
            self._close()
            return
        if self._read_paused:
            self._read_paused = False
            self._transport.resume_reading()
        self.phase = Phase.IDLE
        if self._reader.buffered:
            self._advance()
        else:
            self._await_more()

    def _unsent_bytes(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def _begin_stall_window(self, now: float) -> None:
        self._unsent = self._unsent_bytes()
        self.deadline = now + self._shared.limits.write_stall_seconds

    # ends

    def _fail(self, head: RequestHead, begun: bool) -> None:
        """The handler failed: log the error once, and send no detail to the client."""
        log.exception("Request handler failed", method=head.method, path=head.target.partition("?")[0])
        if begun:
            self._shared.refused += 1
            self.abort()  # an incomplete response must not look complete
        else:
            self._refuse(Refusal(500, "the server failed to handle this request"))

    def _refuse(self, refusal: Refusal) -> None:
        """Send an error and close."""
        self._shared.refused += 1
        if self._transport is not None and not self._transport.is_closing():
            self._write(refusal_bytes(refusal))
        self._linger()

    def _linger(self) -> None:
        """Close; what the client still sends is discarded for a moment.

        Closing at once with unread bytes would make the kernel send a reset, which can discard the answer before the
        client has read it.
        """
        transport = self._transport
        if transport is not None and not transport.is_closing():
            if transport.can_write_eof():
                transport.write_eof()
            if self._read_paused:
                transport.resume_reading()
            if self._ended:
                transport.close()
        self.phase = Phase.CLOSING
        self.deadline = self._loop.time() + self._shared.limits.linger_seconds
        self._count(0)
        self._deliver(None)

    def _close(self) -> None:
        self.phase = Phase.CLOSING
        self.deadline = self._loop.time() + self._shared.limits.write_stall_seconds
        if self._transport is not None:
            self._transport.close()
        self._deliver(None)

    def _cancel(self) -> None:
        """Cancel the handler: no client waits for its response."""
        if self._task is not None:
            self._task.cancel()


_TURN = 32
_PART = 64 * 1024  # bytes of a body that are written at once; a smaller body with its head, in one system call


def _peer(transport: asyncio.Transport) -> Peer:
    name = transport.get_extra_info("peername")
    host, port = name[:2] if isinstance(name, tuple) else ("", 0)
    secured = transport.get_extra_info("ssl_object")
    if secured is None:
        return Peer(host, port)
    return Peer(host, port, secure=True, certificate=secured.getpeercert() or None)
