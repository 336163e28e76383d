"""A webhook: answers review documents. The HTTPS server and the embedded API server call the same ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

from pilotage.errors import ApiError, DecodeError, InternalError
from pilotage.http.limits import MEBIBYTE
from pilotage.http.messages import HTTPRequest
from pilotage.meta.documents import Document
from pilotage.telemetry.logs import log_context, logger
from pilotage.telemetry.metrics import REGISTRY
from pilotage.webhook.admission import AdmissionHandler, AdmissionRequest, AdmissionResponse, errored
from pilotage.webhook.functions import awaited
from pilotage.webhook.typed import refusal

log = logger("controller-runtime.webhook")

PANICS = REGISTRY.counter(
    "controller_runtime_webhook_panics_total", "Total number of webhook panics: errors that a handler did not expect."
)

ContextFunction: TypeAlias = Callable[[HTTPRequest | None], AbstractContextManager[Any]]
"""Returns a block that is entered around the handler; given the HTTP request, or None if there was none."""
_NO_CONTEXT = nullcontext()
LogFields: TypeAlias = Callable[[AdmissionRequest], Mapping[str, object]]


class Webhook(Protocol):
    """What a path of the webhook server answers with."""

    @property
    def max_body_bytes(self) -> int:
        """The largest body of a request."""

    async def review(self, document: Document, http_request: HTTPRequest | None = None) -> Document:
        """Answer a review. Raises InternalError if a handler fails: the failure policy decides then."""

    def refused(self, code: int, message: str) -> Document:
        """The review for a request that cannot be read."""


class HandlerFailed(InternalError):
    """A handler raised something that it did not raise on purpose; the cause is attached."""


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """How a webhook calls its handler."""

    recover_panic: bool = True
    """Whether an unexpected error of the handler is counted, logged and answered with 500, after which the failure
    policy of the webhook decides. If not, it ends the manager."""

    context_func: ContextFunction | None = None
    """A block around each call, such as one that sets a context variable from a header."""

    log_fields: LogFields | None = None
    """The fields of log lines inside a call; by default the object, the resource, the user and the request's id."""


class AdmissionWebhook:
    """Answers AdmissionReviews of v1 and v1beta1 with a handler."""

    max_body_bytes: ClassVar[int] = 7 * MEBIBYTE

    def __init__(self, handler: AdmissionHandler, options: WebhookOptions | None = None) -> None:
        self.options = options or WebhookOptions()
        self._handle = awaited(handler)
        self._log_fields = self.options.log_fields or _default_log_fields

    async def review(self, document: Document, http_request: HTTPRequest | None = None) -> Document:
        try:
            api_version = review_version(document, "AdmissionReview", "admission.k8s.io")
            request = AdmissionRequest.from_document(document.get("request") or {})
        except DecodeError as error:
            log.error("Unable to decode the request", error=str(error))
            return self.refused(400, str(error))
        with recovered(self.options):
            with log_context(**self._log_fields(request)), entered(self.options.context_func, http_request):
                response = await self._answer(request)
            answer = response.document(request.uid)
        return {"apiVersion": api_version, "kind": "AdmissionReview", "response": answer}

    async def handle(self, request: AdmissionRequest) -> AdmissionResponse:
        """Answer one request. Raises HandlerFailed for an unexpected error of the handler."""
        with recovered(self.options):
            return await self._answer(request)

    async def _answer(self, request: AdmissionRequest) -> AdmissionResponse:
        try:
            response = await self._handle(request)
        except (ApiError, ValueError) as error:
            return refusal(error)
        except DecodeError as error:  # of the objects of the request
            return errored(400, error)
        if not isinstance(response, AdmissionResponse):
            raise HandlerFailed(f"the handler returned {type(response).__name__}, not an AdmissionResponse")
        return response

    def refused(self, code: int, message: str) -> Document:
        response = errored(code, message).document("")
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


@contextmanager
def recovered(options: WebhookOptions) -> Iterator[None]:
    """An unexpected error in the block is counted, logged and raised as HandlerFailed; as it is without
    `recover_panic`."""
    try:
        yield
    except (HandlerFailed, asyncio.CancelledError):
        raise
    except BaseException as error:
        PANICS.labels().inc()
        if not options.recover_panic:
            raise
        log.exception("Observed a panic in webhook")
        raise HandlerFailed(f"panic: {type(error).__name__}: {error} [recovered]") from error


def entered(function: ContextFunction | None, http_request: HTTPRequest | None) -> AbstractContextManager[Any]:
    """The block around a call."""
    return _NO_CONTEXT if function is None else function(http_request)


def review_version(document: Document, kind: str, group: str) -> str:
    """The apiVersion in which a review is answered: its own; v1 if it has no apiVersion. Raises DecodeError for
    others."""
    api_version, found = document.get("apiVersion") or f"{group}/v1", document.get("kind") or kind
    if found != kind or api_version not in (f"{group}/v1", f"{group}/v1beta1"):
        raise DecodeError(f"expected a {kind} of {group}/v1 or {group}/v1beta1, got {found} of {api_version}")
    return str(api_version)


def _default_log_fields(request: AdmissionRequest) -> Mapping[str, object]:
    path = f"{request.namespace}/{request.name}" if request.namespace else request.name
    return {
        "object": path,
        "namespace": request.namespace,
        "name": request.name,
        "resource": "/".join(part for part in request.resource if part),
        "user": request.user_info.username,
        "requestID": request.uid,
    }
