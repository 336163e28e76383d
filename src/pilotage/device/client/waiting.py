"""Waits for a server that is starting: a call that could not be sent is retried for a short time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeVar

from pilotage.errors import ConnectionLost
from pilotage.grpc.rpc import Channel, Incoming, Reply
from pilotage.meta.bounds.backoff import backoff

T = TypeVar("T")
_WAIT_SECONDS = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.1


class WaitingChannel:
    """A channel that waits for a server to listen. A call that was sent, even in part, is not retried: the server may
    have handled it."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner
        self._closed = False

    async def unary(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None, timeout: float | None = None
    ) -> Reply:
        return await self._retry_until_sent(
            lambda: self._inner.unary(method, message, metadata=metadata, timeout=timeout)
        )

    def stream(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Incoming]:
        return self._stream(lambda: self._inner.stream(method, message, metadata=metadata))

    async def close(self) -> None:
        self._closed = True
        await self._inner.close()

    @asynccontextmanager
    async def _stream(self, opening: Callable[[], AbstractAsyncContextManager[Incoming]]) -> AsyncIterator[Incoming]:
        async with AsyncExitStack() as stack:
            yield await self._retry_until_sent(lambda: stack.enter_async_context(opening()))

    async def _retry_until_sent(self, attempt: Callable[[], Awaitable[T]]) -> T:
        time = asyncio.get_running_loop().time
        until, failures = time() + _WAIT_SECONDS, 0
        while True:
            pause = backoff(failures, _FIRST_PAUSE, _LONGEST_PAUSE)
            try:
                return await attempt()
            except ConnectionLost as error:
                if error.sent or self._closed or time() + pause > until:
                    raise
            await asyncio.sleep(pause)
            failures += 1
