"""The client side of a connection: sends a request, receives its response, then the next."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from pilotage.errors import ConnectionLost
from pilotage.http.bodies import Body, body_for
from pilotage.http.heads import UNTIL_CLOSE, Refusal, ResponseHead, parse_response_head
from pilotage.http.limits import HTTPLimits


class ClientConnection(asyncio.Protocol):
    """Carries one exchange at a time. After an error, or with unread bytes, it is not `reusable`."""

    def __init__(self, limits: HTTPLimits, loop: asyncio.AbstractEventLoop) -> None:
        self.answered = False
        """Whether any byte of the current response has arrived."""
        self.timed_out = False
        self._limits = limits
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._method = ""  # of the running request; empty: there is none
        self._buffer = bytearray()  # an incomplete head
        self._head: ResponseHead | None = None
        self._body: Body | None = None
        self._pieces: list[bytes] = []
        self._unread = 0
        self._paused = False
        self._error: ConnectionLost | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._closed: asyncio.Future[None] = loop.create_future()

    @property
    def reusable(self) -> bool:
        """Whether another request can be sent: the last response was read completely and without an error."""
        transport = self._transport
        return (
            not self._method
            and self._error is None
            and transport is not None
            and not transport.is_closing()
            and transport.get_write_buffer_size() == 0
        )

    @property
    def complete(self) -> bool:
        """Whether the complete response has arrived."""
        return self._body is not None and self._body.done

    def file_descriptor(self) -> int:
        """The descriptor of the socket, for polling; -1 after the close."""
        sock = self._transport.get_extra_info("socket") if self._transport is not None else None
        return int(sock.fileno()) if sock is not None else -1

    def send(self, method: str, data: bytes) -> None:
        """Start an exchange: write a complete request."""
        if self._transport is None or self._error is not None:
            raise self._error or ConnectionLost("the connection is closed", sent=False)
        self._method = method
        self._head = self._body = None
        self.answered = False
        self._transport.write(data)

    async def response(self) -> ResponseHead:
        """Wait for the head of the response. Interim (1xx) responses are skipped."""
        while self._head is None:
            await self._wait()
        return self._head

    async def read(self) -> list[bytes]:
        """Wait for the pieces of the body that arrived since the last call; none at its end."""
        while not self._pieces:
            if self.complete:
                return []
            await self._wait()
        pieces, self._pieces = self._pieces, []
        self._unread = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return pieces

    def release(self) -> None:
        """End the exchange; afterwards the connection may be `reusable`."""
        if self.complete and self._head is not None and self._head.keep_alive and not self._pieces:
            self._method = ""
        else:
            self.abort()

    def begin_tunnel(self) -> None:
        """End the exchange with the proxy: the next one is with the server behind it."""
        self._method = ""

    def fail(self, reason: str) -> None:
        """Fail the running exchange with ConnectionLost, and close the connection."""
        if self._error is None:
            self._error = ConnectionLost(reason, timed_out=self.timed_out)
        self.abort()
        self._wake()

    def deadline(self, seconds: float | None) -> AbstractContextManager[object]:
        """Fail the exchange with ConnectionLost if the block takes longer; None: no limit."""
        if seconds is None:
            return _NO_DEADLINE
        return _Deadline(self._loop.call_later(seconds, self._time_out, seconds))

    def abort(self) -> None:
        """Close the connection at once, and discard unsent data."""
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def is_closed(self) -> bool:
        """Whether the socket is closed."""
        return self._closed.done()

    async def wait_closed(self) -> None:
        """Wait until the socket is closed."""
        await asyncio.shield(self._closed)

    # callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a socket's transport is a Transport, also under uvloop

    def data_received(self, data: bytes) -> None:
        if not self._method or self.complete:
            self.fail("the server sent bytes after its response")
            return
        self.answered = True
        try:
            if self._body is None:
                self._buffer += data
                self._read_head()
            else:
                self._take(self._body, data)
        except Refusal as refusal:
            self.fail(f"the response is malformed: {refusal}")
            return
        if self._head is not None:
            self._wake()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if not self._closed.done():
            self._closed.set_result(None)
        if self._body is not None and self._head is not None and self._head.length == UNTIL_CLOSE and error is None:
            self._body.done = True
        elif not self.complete and self._error is None:
            where = "in the middle of" if self.answered else "before"
            self._error = ConnectionLost(
                f"the connection ended {where} the response ({error or 'closed by the server'})"
            )
        self._wake()

    # the response

    def _time_out(self, seconds: float) -> None:
        self.timed_out = True
        self.fail(f"no {'more of the ' if self.answered else ''}response within {seconds:g} s")

    def _read_head(self) -> None:
        while self._body is None:
            end = self._buffer.find(b"\r\n\r\n")
            if (len(self._buffer) if end < 0 else end) > self._limits.header_bytes:
                raise Refusal(431, f"its head is larger than {self._limits.header_bytes} bytes")
            if end < 0:
                return
            block = self._buffer[: end + 4].decode("latin-1")
            del self._buffer[: end + 4]
            head = parse_response_head(block, self._method, self._limits)
            if head.status == 101:
                raise Refusal(400, "it switches protocols, which was not requested")
            if head.status < 200:
                continue
            self._head = head
            self._body = body_for(head.length)
            rest = bytes(self._buffer)
            self._buffer.clear()
            if rest:
                self._take(self._body, rest)

    def _take(self, body: Body, data: bytes) -> None:
        self._unread += body.feed(data, self._pieces)
        if self._unread > self._limits.read_buffer_bytes and not body.done and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        waiter = self._waiter = self._loop.create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


_NO_DEADLINE: AbstractContextManager[None] = nullcontext()


class _Deadline(AbstractContextManager[None]):
    """Cancels a timer at the end of the block: in a quarter of the time of a generator, for each request."""

    __slots__ = ("_timer",)

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self._timer = timer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
