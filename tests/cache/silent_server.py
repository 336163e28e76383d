"""A server that answers a list and opens watches, and then sends nothing: `python -m tests.cache.silent_server
HOST`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.server import serve

JSON = [("content-type", "application/json")]
LIST = b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}'
REFUSED = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","message":"no","code":422}'


class Silent:
    """Counts the requests to watch."""

    def __init__(self) -> None:
        self.watches = 0

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        if "sendInitialEvents" in request.target:
            return HTTPResponse(422, JSON, REFUSED)
        if "watch=true" not in request.target:
            return HTTPResponse(200, JSON, LIST)
        self.watches += 1
        return StreamingResponse(200, JSON, silence())


async def silence() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def main() -> None:
    async with serve(Silent(), sys.argv[1]) as server:
        print(server.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)  # until the parent process ends


if __name__ == "__main__":
    asyncio.run(main())
