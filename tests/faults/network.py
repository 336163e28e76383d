"""A network in memory between programs and one API server, which a test can break. For virtual time.

A program reaches the server through a `Link`; a subclass of it loses, delays or repeats what goes through. After `cut`
nothing goes through any more: for the server that is a program that was killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeVar

from pilotage.cluster import Cluster
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest import APIRequest, Page, Response, Transport, Verb, WatchEvent

R = TypeVar("R", Response, Page)
Send = Callable[[], Awaitable[R]]
"""Sends a request to the server and returns its response."""

_WRITES = (Verb.CREATE, Verb.UPDATE, Verb.PATCH, Verb.DELETE, Verb.DELETE_COLLECTION)


class Link:
    """The connection of one program to the server."""

    silence_seconds = 10.0
    """How long a watch may be silent."""

    def __init__(self, server: Transport) -> None:
        self._server = server
        self._is_cut = False

    def cut(self) -> None:
        """Drop all requests, responses and events from now on."""
        self._is_cut = True

    async def write(self, request: APIRequest, send: Send[R]) -> R:
        """Send a write. A subclass decides what happens to it."""
        return await send()

    def delivered(self, request: APIRequest, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        """The events of a watch as they arrive."""
        return events

    async def call(self, request: APIRequest) -> Response:
        return await self._send(request, lambda: self._server.call(request))

    async def list(self, request: APIRequest) -> Page:
        return await self._send(request, lambda: self._server.list(request))

    def watch(self, request: APIRequest) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        return self._watch(request)

    async def resources(self) -> Sequence[RESTMapping]:
        return await self._server.resources()

    async def close(self) -> None:
        pass  # the server is shared

    async def _send(self, request: APIRequest, send: Send[R]) -> R:
        await self._passable()
        response = await (self.write(request, send) if request.verb in _WRITES else send())
        await self._passable()
        return response

    @asynccontextmanager
    async def _watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        await self._passable()
        async with self._server.watch(request) as events:
            yield self._arriving(self.delivered(request, events))

    async def _arriving(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            await self._passable()
            yield event

    async def _passable(self) -> None:
        if self._is_cut:
            await asyncio.Event().wait()


class LinkedAPIServer:
    """The API server as a `Cluster` sees it through a link."""

    namespace = "default"
    immediate = True

    def __init__(self, link: Link) -> None:
        self.silence_seconds = link.silence_seconds
        self._link = link

    async def open(self, exits: AsyncExitStack) -> Transport:
        return self._link


def cluster_on(link: Link) -> Cluster:
    """A cluster whose every request goes through the link."""
    return Cluster(LinkedAPIServer(link))
