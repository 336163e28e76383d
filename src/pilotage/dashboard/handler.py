"""The HTTP handler of the page: its paths, and who may use them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence

from pilotage.dashboard.access import data_headers, data_response, failure, has_token, refusal
from pilotage.dashboard.budget import Budget
from pilotage.dashboard.dashboard import Dashboard, NotFoundInHistory
from pilotage.dashboard.page import page_response
from pilotage.dashboard.query import BadQuery, Query
from pilotage.dashboard.values import encode
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse, StreamingResponse

PAGE = "/ui/"
API = "/ui/api/"
_OBJECT = ("kind", "namespace", "name")
_MOST_READ = 0.05
"""Seconds that reading the objects counts at most: other tasks run meanwhile."""
_RECONCILE = re.compile(r"reconciles/([0-9]{1,18})")
STREAM = f"{API}stream"

_View = Callable[[Query], object]
_OF_OBJECTS = ("objects", "object", "gpus", "test")
"""Views that show the objects of the caches."""


class PageHandler:
    """Serves the page, and its data to those who have the `token`. Without one, `data` decides itself who may read."""

    def __init__(self, data: Handler, token: str, hosts: Callable[[], Sequence[str]]) -> None:
        """`hosts` are the names by which the server is reached, in the form of the header Host; none: any."""
        self._data = data
        self._token = token
        self._hosts = hosts

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        scheme = "https" if request.peer.secure else "http"
        refused = refusal(request, self._hosts(), scheme)
        if refused is not None:
            return refused
        path = request.target.partition("?")[0]
        if path == PAGE:
            return page_response()
        if path in ("/", PAGE.rstrip("/")):
            return HTTPResponse(308, (("Location", PAGE), *data_headers("text/plain")))
        if not path.startswith(API):
            return failure(404, "there is no such page: open /ui/")
        if self._token and not has_token(request, self._token):
            more = ("WWW-Authenticate", "Bearer")
            return failure(401, "the token is missing or wrong: open the whole address that the program printed", more)
        return await self._data(request)


class DataHandler:
    """Answers the requests for data."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard
        self._budget = Budget(dashboard.sources.now)
        self._turn = asyncio.Lock()
        board = dashboard
        self._views: dict[str, tuple[_View, tuple[str, ...]]] = {
            "overview": (board.overview, ("at",)),
            "objects": (board.objects, ("at", "search", "kind", "limit", "offset")),
            "object": (board.object, ("at", *_OBJECT)),
            "reconciles": (board.reconciles, ("before", "limit", "controller", *_OBJECT)),
            "timeline": (board.timeline, ("from", "to", *_OBJECT)),
            "gpus": (board.gpus, ("at",)),
            "test": (board.test, ("at", *_OBJECT)),
        }

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        path, _, text = request.target.partition("?")
        name = path.removeprefix(API)
        try:
            if path == STREAM:
                Query(text, ())
                return self._stream(request)
            if (found := _RECONCILE.fullmatch(name)) is not None:
                Query(text, ())
                return data_response(encode(self._dashboard.reconcile(int(found[1]))))
            if name not in self._views:
                return failure(404, "there is no such view")
            view, allowed = self._views[name]
            query = Query(text, allowed)
            async with self._turn:
                await self._wait(name)
                return self._answer(view, query)
        except BadQuery as error:
            return failure(400, str(error))
        except NotFoundInHistory as error:
            return failure(404, str(error))

    async def _wait(self, name: str) -> None:
        """Wait until the budget allows an answer, and for the objects that it shows."""
        if (seconds := self._budget.delay()) > 0:
            await asyncio.sleep(seconds)
        if name in _OF_OBJECTS:
            began = time.thread_time()
            await self._dashboard.read_objects()
            self._budget.charge(min(time.thread_time() - began, _MOST_READ))

    def _answer(self, view: _View, query: Query) -> HTTPResponse:
        began = time.thread_time()
        try:
            value = view(query)
            if isinstance(value, str):
                return HTTPResponse(200, data_headers("text/plain; charset=utf-8"), value.encode())
            return data_response(encode(value))
        finally:
            self._budget.charge(time.thread_time() - began)

    def _stream(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        stream = self._dashboard.stream
        if request.method == "HEAD":
            return HTTPResponse(200, data_headers("text/event-stream"))
        if not stream.has_room:
            return failure(503, "too many pages are open: close one of them", ("Retry-After", "10"))
        return StreamingResponse(200, data_headers("text/event-stream"), stream.chunks(), endless=True)
