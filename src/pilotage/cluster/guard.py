"""A transport whose writes can be refused: for programs that may write only while they lead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from pilotage.meta.mapper import RESTMapping
from pilotage.rest import Page, Request, Response, Transport, Verb, WatchEvent


class GuardedTransport:
    """Calls `before_write` when a write is sent; if it raises, the caller gets the error and nothing is sent."""

    def __init__(self, inner: Transport, before_write: Callable[[], None]) -> None:
        self._inner = inner
        self._before_write = before_write

    async def call(self, request: Request) -> Response:
        if request.verb is not Verb.GET:
            self._before_write()
        return await self._inner.call(request)

    async def list(self, request: Request) -> Page:
        if request.verb is Verb.DELETE_COLLECTION:
            self._before_write()
        return await self._inner.list(request)

    def watch(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._inner.watch(request)

    async def resources(self) -> Sequence[RESTMapping]:
        return await self._inner.resources()

    async def close(self) -> None:
        """Nothing: the inner transport is closed by its owner."""
