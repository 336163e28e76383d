"""A transport that records requests and returns the configured answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest import APIRequest, Page, Response, WatchEvent, WatchEventType


class Recorder:
    """Answers each call with the next of `answers`: a document, a Page, a list of events, or an error to raise."""

    def __init__(self, *answers: Any, served: Sequence[RESTMapping] = ()) -> None:
        self.answers = list(answers)
        self.requests: list[APIRequest] = []
        self.served = list(served)
        self.discoveries = 0

    def _next(self, request: APIRequest) -> Any:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def call(self, request: APIRequest) -> Response:
        answer = self._next(request)
        return answer if isinstance(answer, Response) else Response(msgspec.json.encode(answer))

    async def list(self, request: APIRequest) -> Page:
        answer = self._next(request)
        if isinstance(answer, Page):
            return answer
        return Page([msgspec.json.encode(item) for item in answer], "7")

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        yield _each(self._next(request))

    async def resources(self) -> Sequence[RESTMapping]:
        self.discoveries += 1
        return self.served

    async def close(self) -> None:
        pass


async def _each(events: Sequence[tuple[WatchEventType, Any]]) -> AsyncIterator[WatchEvent]:
    for kind, document in events:
        yield WatchEvent(kind, msgspec.json.encode(document))
