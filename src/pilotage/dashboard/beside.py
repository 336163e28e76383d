"""The page beside a running program: its data comes from the program, which is asked for each request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from pilotage.dashboard.access import data_headers, failure
from pilotage.dashboard.handler import STREAM
from pilotage.errors import ConnectionLost
from pilotage.http.client import HTTPClient
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.http.streams import Stream


class Beside:
    """Passes requests for data to a program. What it answers with is data alone: headers are set here."""

    def __init__(self, client: HTTPClient) -> None:
        self._client = client

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        try:
            if request.target == STREAM and request.method == "GET":
                return await self._stream(request.target)
            answer = await self._client.request("GET", request.target)
        except ConnectionLost as error:
            return failure(502, f"the program has ended, or does not answer: {error}")
        return HTTPResponse(answer.status, _headers(answer.headers.get("content-type")), answer.body)

    async def _stream(self, target: str) -> HTTPResponse | StreamingResponse:
        async with AsyncExitStack() as exits:
            stream = await exits.enter_async_context(self._client.stream("GET", target))
            if stream.status != 200:
                body = b"".join([piece async for piece in stream])
                return HTTPResponse(stream.status, _headers(stream.headers.get("content-type")), body)
            pieces = _Pieces(stream, exits.pop_all())
        return StreamingResponse(200, _headers("text/event-stream"), pieces, endless=True)


class _Pieces:
    """What a program sends. Closing it closes the request, also if nothing was read: a generator would not."""

    def __init__(self, stream: Stream, exits: AsyncExitStack) -> None:
        self._pieces = aiter(stream)
        self._exits = exits

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        await self._exits.aclose()


def _headers(content_type: str) -> tuple[tuple[str, str], ...]:
    known = ("application/json", "text/event-stream", "text/plain; charset=utf-8")
    return data_headers(content_type if content_type in known else "text/plain; charset=utf-8")
