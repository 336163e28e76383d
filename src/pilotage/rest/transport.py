"""The interface between a client and an API server: HTTP, or the registry in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Page, Response, WatchEvent

SILENCE_SECONDS = 75.0
"""How long a watch may be silent before it is considered dead: kube-apiserver sends a bookmark each minute."""


class Transport(Protocol):
    """Carries requests to an API server. All methods raise ApiError if the server refuses the request."""

    async def call(self, request: APIRequest) -> Response:
        """Any verb but list and watch."""

    async def list(self, request: APIRequest) -> Page:
        """List, and delete collection, which returns the deleted objects."""

    def watch(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Open a watch. It is open (and its errors are raised) when the block is entered; the end of the block ends it.

        ERROR events come as such; the iterator ends when the server ends the stream.
        """

    async def resources(self) -> Sequence[RESTMapping]:
        """Discovery: every kind that is served now."""

    async def close(self) -> None:
        """Close the connections."""


class TransportWrapper:
    """Passes every request to another transport. A subclass overrides the methods that it observes or changes."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def prepare(self, request: APIRequest) -> APIRequest:
        """The request that is passed on. A subclass may record it, change it, or reject it with an error."""
        return request

    def call(self, request: APIRequest) -> Coroutine[Any, Any, Response]:
        return self._inner.call(self.prepare(request))

    async def list(self, request: APIRequest) -> Page:
        return await self._inner.list(self.prepare(request))

    def watch(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._inner.watch(self.prepare(request))

    async def resources(self) -> Sequence[RESTMapping]:
        return await self._inner.resources()

    async def close(self) -> None:
        await self._inner.close()
