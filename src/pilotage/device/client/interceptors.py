"""Interceptors: functions around every call of a channel, in order; and the one that logs latencies.

    async def traced(call: Invocation, proceed: Invoke) -> Reply:
        return await proceed(call.with_metadata({"x-request-id": "nv-trace-123"}))

An interceptor receives the call and the next interceptor. It may change the call, inspect the response, or respond
itself; it may catch errors.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar, cast

from pilotage.errors import ConnectionLost, InvalidDefinition
from pilotage.grpc.rpc import Channel, Code, Incoming, Reply, RPCError
from pilotage.meta.text.articles import of_type
from pilotage.telemetry.logs import Logger

T = TypeVar("T")

SLOW_SECONDS = 0.5
"""The default threshold of slow calls. Calls over a local socket take milliseconds, and NVIDIA's alerts on this API
fire if the 99th percentile is above half a second."""

_QUIET = (Code.CANCELLED, Code.DEADLINE_EXCEEDED)
"""Outcomes that the caller itself caused: not logged as errors."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call before it is sent."""

    method: str
    """In full: `/nvidia.nvsentinel.v1alpha1.GpuService/ListGpus`."""
    message: bytes = field(default=b"", repr=False)
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Keys in lower case."""
    timeout: float | None = None
    """Seconds. A stream has no timeout."""

    def with_metadata(self, metadata: Mapping[str, str]) -> Invocation:
        """The same call with additional metadata."""
        return replace(self, metadata={**self.metadata, **metadata})


Invoke = Callable[[Invocation], Awaitable[Reply]]
UnaryInterceptor = Callable[[Invocation, Invoke], Awaitable[Reply]]
"""Wraps a unary call. Raises RPCError for an error of the server, ConnectionLost if there was no response."""

Open = Callable[[Invocation], Awaitable[Incoming]]
StreamInterceptor = Callable[[Invocation, Open], Awaitable[Incoming]]
"""Wraps the opening of a stream; the caller reads from the returned stream."""


class InterceptedChannel:
    """A channel with interceptors; the first one is the outermost."""

    def __init__(
        self, inner: Channel, unary: Sequence[UnaryInterceptor] = (), stream: Sequence[StreamInterceptor] = ()
    ) -> None:
        self._inner = inner
        self._unary = tuple(unary)
        self._stream = tuple(stream)
        self._invoke: Invoke = self._call
        for interceptor in reversed(self._unary):
            self._invoke = partial(_around, interceptor, self._invoke, _reply)

    async def unary(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None, timeout: float | None = None
    ) -> Reply:
        return await self._invoke(Invocation(method, message, metadata or {}, timeout))

    def stream(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Incoming]:
        return self._opened(Invocation(method, message, metadata or {}))

    async def close(self) -> None:
        await self._inner.close()

    async def _call(self, call: Invocation) -> Reply:
        return await self._inner.unary(call.method, call.message, metadata=call.metadata, timeout=call.timeout)

    @asynccontextmanager
    async def _opened(self, call: Invocation) -> AsyncIterator[Incoming]:
        async with AsyncExitStack() as stack:

            async def opened(call: Invocation) -> Incoming:
                stream = self._inner.stream(call.method, call.message, metadata=call.metadata)
                return await stack.enter_async_context(stream)

            proceed: Open = opened
            for interceptor in reversed(self._stream):
                proceed = partial(_around, interceptor, proceed, _stream)
            yield await proceed(call)


async def _around(
    interceptor: Callable[[Invocation, Callable[[Invocation], Awaitable[T]]], Awaitable[T]],
    proceed: Callable[[Invocation], Awaitable[T]],
    check: Callable[[Callable[..., object], object], T],
    call: Invocation,
) -> T:
    answer: object = interceptor(call, proceed)
    if inspect.isawaitable(answer):  # an interceptor that yields returns a generator
        answer = await answer
    return check(interceptor, answer)


def _reply(interceptor: Callable[..., object], answer: object) -> Reply:
    if isinstance(answer, Reply):
        return answer
    raise _wrong("unary", interceptor, answer, "a Reply", "a Reply of your own")


def _stream(interceptor: Callable[..., object], answer: object) -> Incoming:
    if hasattr(answer, "metadata") and hasattr(answer, "connection_number"):
        return cast(Incoming, answer)
    own = "an object with the stream's metadata and connection_number that iterates over its messages"
    raise _wrong("stream", interceptor, answer, "a stream", own)


def _wrong(kind: str, interceptor: Callable[..., object], answer: object, wanted: str, own: str) -> InvalidDefinition:
    name = getattr(interceptor, "__qualname__", None) or type(interceptor).__qualname__
    return InvalidDefinition(
        f"the {kind} interceptor {name} returned {of_type(answer)} in place of {wanted}: "
        f"write `return await proceed(call)`, or return {own}"
    )


class LatencyLog:
    """Logs the latency and the outcome of each call; for a stream, of its opening.

    Successful calls, and calls that the caller cancelled, are logged at DEBUG; failures at ERROR. An unreachable server
    and a repeatedly refused stream are logged at ERROR once, because reflectors retry many times in a minute. A call
    that took `slow_seconds` or longer (0: none) and has not failed is also logged at INFO.
    """

    def __init__(self, logger: Logger, target: str = "", *, slow_seconds: float = SLOW_SECONDS) -> None:
        self._log = logger.bind(**{"grpc.target": target}) if target else logger
        self._slow_seconds = slow_seconds
        self._unreachable = False
        self._refused: dict[str, Code] = {}
        """The last error of refused streams, by method."""

    async def unary(self, call: Invocation, proceed: Invoke) -> Reply:
        return await self._measure("RPC finished", call, proceed)

    async def stream(self, call: Invocation, proceed: Open) -> Incoming:
        try:
            opened = await self._measure("Stream opened", call, proceed, refused=self._refused.get(call.method))
        except RPCError as error:
            self._refused[call.method] = error.code
            raise
        self._refused.pop(call.method, None)
        return opened

    async def _measure(
        self,
        message: str,
        call: Invocation,
        proceed: Callable[[Invocation], Awaitable[T]],
        *,
        refused: Code | None = None,
    ) -> T:
        time = asyncio.get_running_loop().time
        begun = time()
        try:
            answer = await proceed(call)
        except RPCError as error:
            self._unreachable = False
            self._failed(call, time() - begun, error.code, error, quietly=error.code is refused)
            raise
        except ConnectionLost as error:
            code = Code.DEADLINE_EXCEEDED if error.timed_out else Code.UNAVAILABLE
            known, self._unreachable = self._unreachable, not error.sent
            self._failed(call, time() - begun, code, error, quietly=known and not error.sent)
            raise
        except asyncio.CancelledError as error:
            self._failed(call, time() - begun, Code.CANCELLED, error)
            raise
        self._unreachable = False
        self._finished(message, call, time() - begun)
        return answer

    def _finished(self, message: str, call: Invocation, seconds: float) -> None:
        fields = _fields(call, seconds, Code.OK)
        self._log.debug(message, **fields)
        if self._is_slow(seconds):
            self._log.info(f"Slow: {message}", **fields)

    def _failed(
        self, call: Invocation, seconds: float, code: Code, error: BaseException, *, quietly: bool = False
    ) -> None:
        fields = {**_fields(call, seconds, code), "error": str(error) or type(error).__name__}
        if not quietly and code not in _QUIET:
            self._log.error("RPC failed", **fields)
            return
        self._log.debug("RPC failed", **fields)
        if not quietly and self._is_slow(seconds):
            self._log.info("Slow: RPC failed", **fields)

    def _is_slow(self, seconds: float) -> bool:
        return 0 < self._slow_seconds <= seconds


def _fields(call: Invocation, seconds: float, code: Code) -> dict[str, object]:
    return {"grpc.method": call.method, "duration": round(seconds, 6), "code": int(code)}
