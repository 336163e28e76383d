"""A path of the webhook server: HTTP around a webhook, with deadlines and metrics."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable

import msgspec

from pilotage.errors import ApiError, InternalError, Status, Timeout
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.meta.documents import Document
from pilotage.meta.redaction import reason_of
from pilotage.telemetry.logs import logger
from pilotage.telemetry.metrics import REGISTRY
from pilotage.webhook.webhook import Webhook

log = logger("controller-runtime.webhook")

MAX_SECONDS = 30.0
"""How long a handler may take: the longest `timeoutSeconds` of a webhook configuration."""

_JSON = (("Content-Type", "application/json"),)
_TIMEOUT = re.compile(r"[?&]timeout=([0-9]{1,5}(?:\.[0-9]{1,9})?)(ms|s|m)?(?=&|$)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_decoder = msgspec.json.Decoder(dict)

_LATENCY = REGISTRY.histogram(
    "controller_runtime_webhook_latency_seconds",
    "Histogram of the latency of processing admission requests",
    ("webhook",),
    buckets=tuple(10.0 ** (power - 8) for power in range(12)),
)
_REQUESTS = REGISTRY.counter(
    "controller_runtime_webhook_requests_total",
    "Total number of admission requests by HTTP status code.",
    ("webhook", "code"),
)
_IN_FLIGHT = REGISTRY.gauge(
    "controller_runtime_webhook_requests_in_flight",
    "Current number of admission requests being served.",
    ("webhook",),
)


class WebhookEndpoint:
    """Answers HTTP requests (`__call__`) and calls of an embedded API server (`local`) with one webhook.

    A handler that fails or is too slow is an HTTP error, which the API server treats by the webhook's failure policy.
    """

    def __init__(self, path: str, webhook: Webhook, on_panic: Callable[[BaseException], None] | None = None) -> None:
        self.path = path
        self.webhook = webhook
        self._on_panic = on_panic
        self._latency = _LATENCY.labels(path)
        self._in_flight = _IN_FLIGHT.labels(path)
        self._succeeded, self._failed = _REQUESTS.labels(path, "200"), _REQUESTS.labels(path, "500")

    async def __call__(self, request: HTTPRequest) -> HTTPResponse:
        """Answer an HTTP request."""
        document = self._read(request)
        if isinstance(document, str):
            code = 413 if len(request.body) > self.webhook.max_body_bytes else 400
            log.error("Bad request", path=self.path, error=document)
            self._succeeded.inc()
            return HTTPResponse(200, _JSON, msgspec.json.encode(self.webhook.refused(code, document)))
        try:
            answer = await self._answer(document, request, deadline_of(request.target))
        except ApiError as error:
            return HTTPResponse(error.status.code, _JSON, msgspec.json.encode(error.status.document()))
        return HTTPResponse(200, _JSON, msgspec.json.encode(answer))

    async def local(self, document: Document) -> Document:
        """Answer a call without HTTP. Raises ApiError where the HTTP response would be an error."""
        return await self._answer(document, None, MAX_SECONDS)

    async def _answer(self, document: Document, request: HTTPRequest | None, seconds: float) -> Document:
        self._in_flight.inc()
        start = time.perf_counter()
        try:
            async with asyncio.timeout(seconds) as deadline:
                answer = await self.webhook.review(document, request)
        except TimeoutError as error:
            if not deadline.expired():
                raise self._panicked(error) from error
            _REQUESTS.labels(self.path, "504").inc()
            raise Timeout(f"the webhook {self.path} did not answer within {seconds:g} s") from None
        except (ApiError, asyncio.CancelledError):
            self._failed.inc()
            raise
        except BaseException as error:  # SystemExit too: it ends the program, by an orderly shutdown
            raise self._panicked(error) from error
        else:
            self._succeeded.inc()
            return answer
        finally:
            self._in_flight.dec()
            self._latency.observe(time.perf_counter() - start)

    def _panicked(self, error: BaseException) -> InternalError:
        """An error that the webhook does not recover from."""
        self._failed.inc()
        if self._on_panic is not None:
            self._on_panic(error)
        return InternalError(status=Status(500, "InternalError", f"the webhook failed: {type(error).__name__}"))

    def _read(self, request: HTTPRequest) -> Document | str:
        """The review in a request, or what is wrong with it."""
        if not request.body:
            return "request body is empty"
        if len(request.body) > self.webhook.max_body_bytes:
            return f"request entity is too large; limit is {self.webhook.max_body_bytes} bytes"
        content_type = request.headers.get("content-type")
        if content_type.partition(";")[0].strip().lower() != "application/json":
            return f"contentType={content_type}, expected application/json"
        try:
            document: Document = _decoder.decode(request.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return f"the body is not a JSON object: {reason_of(error)}"
        return document


def deadline_of(target: str) -> float:
    """The seconds that the API server waits, which it writes into the query as `timeout=10s`."""
    found = _TIMEOUT.search(target)
    if found is None:
        return MAX_SECONDS
    seconds = float(found[1]) * _UNITS[found[2] or "s"]
    return min(seconds, MAX_SECONDS) if seconds > 0 else MAX_SECONDS
