"""The live page of a session: one address for all versions of the program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.tasks import cancel_all

if TYPE_CHECKING:
    from pilotage.http.messages import Handler

_NOT_RUNNING = HTTPResponse(503, (("content-type", "text/plain; charset=utf-8"),), b"the program does not run\n")


class CurrentData:
    """The data of the version that runs. Streams of a version end with it, and the page connects again."""

    def __init__(self) -> None:
        self._handler: Handler | None = None
        self._over = asyncio.Event()

    def show(self, handler: Handler | None) -> None:
        """Answer with the data of this version from now on; None: no version runs."""
        self._over.set()
        self._over = asyncio.Event()
        self._handler = handler

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        if self._handler is None:
            return _NOT_RUNNING
        over = self._over
        answer = await self._handler(request)
        if isinstance(answer, StreamingResponse):
            return replace(answer, chunks=_until(over, answer.chunks))
        return answer


async def _until(over: asyncio.Event, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks until the event is set."""
    ending = asyncio.create_task(over.wait(), name="end of the version")
    try:
        while not over.is_set():
            following = asyncio.ensure_future(anext(chunks))
            await asyncio.wait([ending, following], return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                await cancel_all(following)
                return
            yield following.result()
    except StopAsyncIteration:
        return
    finally:
        await cancel_all(ending)
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


@asynccontextmanager
async def live_page(data: CurrentData, show: Callable[[str], object]) -> AsyncIterator[None]:
    """Serve the page on this machine inside the block, and pass on its address."""
    from pilotage.dashboard.server import PageServer

    server = PageServer(data, "127.0.0.1:0")
    await server.open()
    show(server.url)
    try:
        yield
    finally:
        await server.close()
