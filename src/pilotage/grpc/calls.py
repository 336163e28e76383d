"""An incoming call: its message put together, its handler run, its answer sent. It is the handler's `Outgoing` too."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pilotage.grpc import frames, rpc
from pilotage.grpc.engine import Fields, Violation
from pilotage.grpc.frames import ErrorCode, block
from pilotage.grpc.messages import PREFIX_BYTES, Assembler
from pilotage.grpc.metadata import ANSWER, DONE, failure, spelt, well_formed
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.requests import Request, refused
from pilotage.grpc.rpc import Code, RPCError
from pilotage.grpc.stream import Connection, Stream
from pilotage.telemetry.logs import logger

log = logger("pilotage.grpc")


@dataclass(frozen=True, slots=True)
class Route:
    """How a method is answered: one of these is set."""

    unary: rpc.UnaryHandler | None = None
    stream: rpc.StreamHandler | None = None
    bidi: rpc.BidiHandler | None = None


def routes(handlers: rpc.Handlers) -> dict[str, Route]:
    found = {name: Route(unary=handler) for name, handler in handlers.unary.items()}
    found |= {name: Route(stream=handler) for name, handler in handlers.stream.items()}
    return found | {name: Route(bidi=handler) for name, handler in handlers.bidi.items()}


class Host(Connection, Protocol):
    """What a call needs of the server's end of its connection."""

    loop: asyncio.AbstractEventLoop
    options: ServerOptions
    held: int
    """Bytes of requests that are not with a handler yet."""
    stopping: bool

    def may_hold(self) -> bool: ...

    def start(self, running: Coroutine[None, None, None]) -> asyncio.Task[None]: ...

    def handled(self, code: Code) -> None: ...


class IncomingCall(Stream):
    """One call, from its headers to its trailers."""

    def __init__(self, host: Host, stream_id: int, request: Request, route: Route, *, delay: float, now: float) -> None:
        super().__init__(host, stream_id)
        self.host = host
        self.opened_at = now
        self.task: asyncio.Task[None] | None = None
        self._request = request
        self._route = route
        self._delay = delay
        self._assembler = Assembler(host.options.message_bytes)
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
        """Whether it waits for the caller, not for its turn or its handler."""
        return self.task is None and self._turn is None

    @property
    def is_unary(self) -> bool:
        return self._route.unary is not None

    # What the connection tells.

    def take_headers(self, fields: Fields, ended: bool) -> None:
        if not ended or not well_formed(fields):
            raise Violation(ErrorCode.PROTOCOL_ERROR, "HEADERS in the middle of a call, or trailers that are none")
        self.take_data(b"", True)

    def take_data(self, payload: bytes, ended: bool) -> None:
        if self._due is not None:
            self._due -= len(payload)
            if self._due < 0 or (ended and self._due):
                raise Violation(ErrorCode.PROTOCOL_ERROR, f"stream {self.id} is not as long as its content-length")
        self._hold(len(payload))
        if not self.host.may_hold():
            self.fail(RPCError(Code.RESOURCE_EXHAUSTED, "too much of other requests is half sent: finish those first"))
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
            self.give_back()

    def take_reset(self, code: ErrorCode) -> None:
        self.lose()

    def lose(self) -> None:
        """Nobody is there any more."""
        self.peer_ended = True
        if not self.ended:
            self.finish()
            self.host.handled(Code.CANCELLED)
        if self.task is not None:
            self.task.cancel()

    def stop(self) -> None:
        """The server is to stop: tell a stream's handler, and the caller through it."""
        if self.task is None:
            self.fail(_stopping())
        elif not self.is_unary:
            self.task.cancel()

    def expire(self) -> None:
        """The message did not come in time."""
        seconds = self.host.options.request_seconds
        self.fail(RPCError(Code.DEADLINE_EXCEEDED, f"the request was not whole within {seconds:g} s"))

    def finish(self) -> None:
        super().finish()
        if self._turn is not None:
            self._turn.cancel()
        self._hold(-self._held)
        self._gone.set()
        self._arrived.set()

    def _hold(self, size: int) -> None:
        self._held += size
        self.host.held += size

    def _dispatch(self) -> None:
        if len(self._messages) != 1 or self._assembler.held:
            self.fail(RPCError(Code.UNIMPLEMENTED, f"{self._request.call.method} takes exactly one message, whole"))
            return
        self._hold(-self._held)
        self._begin()

    def _begin(self) -> None:
        if self._delay:
            self._turn = self.host.loop.call_later(self._delay, self._start)
        else:
            self._start()

    def _start(self) -> None:
        self._turn = None
        self.task = self.host.start(self._run())

    # Running the handler.

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(self._request.timeout) as deadline:
                await self._answer()
        except RPCError as error:
            await self._end(error)
        except asyncio.CancelledError:
            if not self.ended:  # else it was the caller who went
                self.fail(_stopping() if self.host.stopping else RPCError(Code.CANCELLED, "the call was cancelled"))
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and deadline.expired():
                await self._end(RPCError(Code.DEADLINE_EXCEEDED, f"not done within {self._request.timeout:g} s"))
            else:
                log.exception("a handler failed", method=self._request.call.method, uid=self._request.call.peer.uid)
                await self._end(RPCError(Code.INTERNAL, "the server failed; its log says why"))

    async def _answer(self) -> None:
        route, call = self._route, self._request.call
        if route.unary is not None:
            await self._reply(await route.unary(call, self._messages.popleft()))
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
                    self.give_back()
                yield message
            if self.peer_ended:
                break
            self._arrived.clear()
            await self._arrived.wait()
        if self._assembler.held:
            raise RPCError(Code.INTERNAL, "the last message is not whole")

    # Answering.

    async def _reply(self, reply: rpc.Reply) -> None:
        if self.ended:
            return
        if len(reply.message) > self.host.options.reply_bytes:
            most = self.host.options.reply_bytes
            text = f"the answer has {len(reply.message)} bytes and may have {most}: ask for less"
            raise RPCError(Code.RESOURCE_EXHAUSTED, text)
        host = self.host
        payload = rpc.frame(reply.message)
        head = ANSWER + spelt(reply.metadata) if reply.metadata else ANSWER
        size = len(payload)
        if size <= min(self.window, host.window, host.frame_bytes) and not host.paused:
            self.window -= size
            host.window -= size
            data = frames.frame(frames.DATA, 0, self.id, payload)
            host.send(host.headers(self.id, head) + data + host.headers(self.id, DONE, end=True))
            self._ended(Code.OK)
            return
        if not host.may_keep(size):
            text = "too much of other answers waits for this client to read: read those first"
            raise RPCError(Code.RESOURCE_EXHAUSTED, text)
        self._answering = True
        host.send(host.headers(self.id, head))
        self.keep(payload)
        await self._end(None)

    async def _end(self, error: RPCError | None) -> None:
        """Send the trailers, after what waits to be sent; a caller who takes nothing is not waited for for long."""
        try:
            async with asyncio.timeout(self.host.options.stall_seconds):
                await self.flushed()
        except TimeoutError:
            if not self.ended:
                self.break_off()
                self.host.handled(Code.CANCELLED)
        else:
            self._trailers(error)

    def fail(self, error: RPCError) -> None:
        """End the call with an error, now."""
        if self._rest is not None and not self.ended:
            self.break_off(ErrorCode.INTERNAL_ERROR)  # half a message cannot be followed by trailers
            self.host.handled(error.code)
        else:
            self._trailers(error)

    def _trailers(self, error: RPCError | None) -> None:
        if self.ended:
            return
        if self._answering:
            ending = DONE if error is None else block(failure(error))
        else:
            ending = ANSWER + DONE if error is None else refused(error)
        self.host.send(self.host.headers(self.id, ending, end=True))
        self._ended(error.code if error is not None else Code.OK)

    def _ended(self, code: Code) -> None:
        self.finish()
        if not self.peer_ended:
            self.peer_ended = True
            self.host.send(frames.reset(self.id, ErrorCode.NO_ERROR))
        self.host.handled(code)

    # What a handler of a stream is given (rpc.Outgoing).

    async def open(self, metadata: Mapping[str, str] | None = None) -> None:
        self._check_open()
        if not self._answering:
            self._answering = True
            self.host.send(self.host.headers(self.id, ANSWER + spelt(metadata) if metadata else ANSWER))

    def write(self, frames: Sequence[bytes]) -> bool:
        if self.ended or not self._answering:
            self._check_open()
            self._answering = True
            self.host.send(self.host.headers(self.id, ANSWER))
        if len(frames) == 1:
            return self.offer(frames[0])
        return not frames or self.offer(b"".join(frames))

    async def drained(self) -> None:
        await self.room()
        self._check_open()

    async def closed(self) -> None:
        await self._gone.wait()

    def _check_open(self) -> None:
        if self.ended:
            raise RPCError(Code.CANCELLED, "the caller has gone")


def _stopping() -> RPCError:
    return RPCError(Code.UNAVAILABLE, "the server is shutting down")
