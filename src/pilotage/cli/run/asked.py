"""A running program answers `pilotage why` and `pilotage ui`, over a Unix socket that only its user can open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve_on
from pilotage.manager.endpoints.server import Routes
from pilotage.manager.manager import Manager
from pilotage.manager.supervision.supervisor import has_threads
from pilotage.net.localsockets import LocalSocketUnavailable, listening
from pilotage.telemetry.logs import logger

log = logger("pilotage.run")

_LIMITS = HTTPLimits(connections=16, body_bytes=4096, grace_seconds=0.5)


@asynccontextmanager
async def explained(manager: Manager, name: str) -> AsyncIterator[None]:
    """Answer for the length of the block. A program that cannot create the socket runs without it."""
    if not has_threads(asyncio.get_running_loop()):  # nor sockets: the loop of a test
        yield
        return
    async with AsyncExitStack() as exits:
        try:
            listener = exits.enter_context(listening(name))
        except LocalSocketUnavailable as error:
            log.info("`pilotage why` and `pilotage ui` cannot find this program", error=error)
        else:
            await exits.enter_async_context(serve_on(listener, _handler(manager), limits=_LIMITS))
        yield


def _handler(manager: Manager) -> Handler:
    """What `pilotage why` and `pilotage ui` ask. The views of the page are loaded when they are."""

    async def page(request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        return await manager.page_handler(request)

    return Routes({"/debug/": manager.debug_handler, "/ui/api/": page})
