"""The smuggling corpus, sent raw to a running server."""

from __future__ import annotations

import asyncio

from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.http.server import serve
from tests.http import corpus, raw


async def test_no_case_of_the_corpus_is_handled_and_the_server_lives_on() -> None:
    seen: list[HTTPRequest] = []

    async def handler(request: HTTPRequest) -> HTTPResponse:
        seen.append(request)
        return HTTPResponse(200, body=b"handled")

    cases = list(corpus.cases())
    assert len(cases) >= 300
    wrong: list[str] = []
    async with serve(handler) as server:

        async def one(name: str, data: bytes) -> None:
            received = await raw.exchange(server.port, data)
            answers = raw.statuses(received)
            if len(answers) > 1 or any(not 400 <= status <= 599 for status in answers):
                wrong.append(f"{name}: {data!r} was answered with {answers}")

        for start in range(0, len(cases), 32):
            await asyncio.gather(*(one(name, data) for name, data in cases[start : start + 32]))
        assert wrong == []
        assert seen == []
        alive = await raw.exchange(server.port, b"GET /alive HTTP/1.1\r\nHost: h\r\n\r\n")
        assert raw.statuses(alive) == [200]


async def test_each_case_is_also_refused_when_it_comes_byte_by_byte() -> None:
    """A server that looks at whole segments only can be fooled by their borders; so the reader is fed single bytes."""
    from pilotage.http.heads import Refusal
    from pilotage.http.limits import HTTPLimits
    from pilotage.http.reader import RequestReader

    taken: list[str] = []
    for name, data in corpus.cases():
        reader = RequestReader(HTTPLimits())
        try:
            for position in range(len(data)):
                reader.feed(data[position : position + 1])
                if reader.take() is not None:
                    taken.append(name)
                    break
        except Refusal:
            continue
    assert taken == []
