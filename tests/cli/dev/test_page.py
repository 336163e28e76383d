from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from pilotage.cli.dev.page import CurrentData
from pilotage.http.messages import HTTPRequest, HTTPResponse, StreamingResponse

pytestmark = pytest.mark.virtual_time
REQUEST = HTTPRequest("GET", "/ui/api/overview")


async def answer(request: HTTPRequest) -> HTTPResponse:
    return HTTPResponse(200, (), b"one")


async def stream(request: HTTPRequest) -> StreamingResponse:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.sleep(3600)

    return StreamingResponse(200, (), chunks(), endless=True)


async def test_the_version_that_runs_answers() -> None:
    data = CurrentData()
    data.show(answer)
    found = await data(REQUEST)
    assert isinstance(found, HTTPResponse)
    assert found.body == b"one"


async def test_without_a_version_the_page_is_told_so() -> None:
    assert (await CurrentData()(REQUEST)).status == 503


async def test_a_stream_ends_with_its_version() -> None:
    data = CurrentData()
    data.show(stream)
    found = await data(REQUEST)
    assert isinstance(found, StreamingResponse)
    asyncio.get_running_loop().call_later(10, data.show, answer)
    assert [chunk async for chunk in found.chunks] == [b"one"]
    assert asyncio.get_running_loop().time() < 60
