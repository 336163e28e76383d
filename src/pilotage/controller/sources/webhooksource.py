"""A source of requests from HTTP: another system calls a path of the webhook server."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from pilotage.controller.request import Request
from pilotage.controller.sources.sources import Source
from pilotage.errors import ApiError, DecodeError
from pilotage.http.health import text_response
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.telemetry.logs import logger
from pilotage.workqueue import WorkQueue

if TYPE_CHECKING:
    from pilotage.webhook.server import WebhookServer

log = logger("pilotage.controller")

HookFunction = Callable[[HTTPRequest], Iterable[Request] | Awaitable[Iterable[Request]]]


class WebhookSource(Source):
    """Requests from calls of another system, such as a registry or a Git server: a POST to a path of a webhook server.

        WebhookSource(manager.webhook_server, "/hooks/push", lambda call: [Request(json.loads(call.body)["name"])])

    The function maps a call to requests, and may be async. It must check who calls: a signature in a header, for
    example. The answer is 202 when the requests are on the queue. An ApiError that the function raises
    (`pt.errors.Unauthorized`, `pt.errors.BadRequest`) is the answer; ValueError and DecodeError are 400. While the
    controller does not run, as in a replica that does not lead, the answer is 503, and the caller should try
    again.
    """

    def __init__(self, server: WebhookServer, path: str, requests: HookFunction) -> None:
        self._path = path
        self._requests = requests
        self._queue: WorkQueue[Request] | None = None
        server.handle(path, self._answer)

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        self._queue = queue

    def stop(self) -> None:
        self._queue = None

    async def _answer(self, call: HTTPRequest) -> HTTPResponse:
        if call.method != "POST":
            return text_response(405, "method not allowed", ("Allow", "POST"))
        if self._queue is None:
            return _not_here()
        try:
            found = self._requests(call)
            requests = [*(await found if inspect.isawaitable(found) else found)]
        except ApiError as error:
            return text_response(error.status.code, str(error))
        except (ValueError, DecodeError) as error:
            return text_response(400, str(error) or "bad request")
        except Exception:
            log.exception("The function of a webhook source failed", source=str(self))
            return text_response(500, "internal server error")
        if (queue := self._queue) is None:
            return _not_here()
        for request in requests:
            queue.add(request)
        return text_response(202, f"accepted: {len(requests)}")

    def __str__(self) -> str:
        return f"webhook source: {self._path}"


def _not_here() -> HTTPResponse:
    return text_response(503, "the controller is not running in this process; retry later", ("Retry-After", "1"))
