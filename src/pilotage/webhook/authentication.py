"""The authentication webhook: answers TokenReviews, by which an API server asks who a bearer token belongs to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import msgspec

from pilotage.errors import DecodeError, PilotageError
from pilotage.http.limits import MEBIBYTE
from pilotage.http.messages import HTTPRequest
from pilotage.meta.documents import Document
from pilotage.telemetry.logs import logger
from pilotage.types.authentication.v1 import UserInfo
from pilotage.webhook.functions import awaited
from pilotage.webhook.webhook import HandlerFailed, WebhookOptions, entered, recovered, review_version

log = logger("controller-runtime.authentication")

GROUP = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that an API server asks about."""

    token: str = field(repr=False)
    audiences: Sequence[str] = ()
    """The audiences that the token must be for, one of them at least; empty: the audiences of the API server."""
    uid: str = ""
    """The uid of the review, if it has one."""


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """The answer to a TokenRequest. `authenticated` and `unauthenticated` make it."""

    authenticated: bool
    user: UserInfo = field(default_factory=UserInfo)
    audiences: Sequence[str] = ()
    """Those of the requested audiences that the token is for."""
    error: str = ""
    """Why the token could not be checked."""

    def status(self) -> Document:
        """The `status` of a TokenReview."""
        status: Document = {"authenticated": self.authenticated, "user": msgspec.to_builtins(self.user)}
        if self.audiences:
            status["audiences"] = list(self.audiences)
        if self.error:
            status["error"] = self.error
        return status


TokenHandler: TypeAlias = Callable[[TokenRequest], Awaitable[TokenResponse] | TokenResponse]
"""Answers TokenRequests. A function that is not async runs in a thread."""


def authenticated(user: UserInfo, *audiences: str) -> TokenResponse:
    """The token belongs to `user`."""
    return TokenResponse(True, user, audiences)


def unauthenticated(error: str = "") -> TokenResponse:
    """The token is not valid, or could not be checked because of `error`."""
    return TokenResponse(False, error=error)


class AuthenticationWebhook:
    """Answers TokenReviews of v1 and v1beta1 with a handler; `manager.webhook_server.register(path, …)` serves it.

    API servers are configured with its URL by `--authentication-token-webhook-config-file`.
    """

    max_body_bytes: ClassVar[int] = 1 * MEBIBYTE

    def __init__(self, handler: TokenHandler, options: WebhookOptions | None = None) -> None:
        self.options = options or WebhookOptions()
        self._handle = awaited(handler)

    async def review(self, document: Document, http_request: HTTPRequest | None = None) -> Document:
        try:
            api_version = review_version(document, "TokenReview", GROUP)
            request = _request(document)
        except DecodeError as error:
            log.error("Bad request", error=str(error))
            return self.refused(400, str(error))
        with recovered(self.options), entered(self.options.context_func, http_request):
            response = await self._answer(request)
        metadata = {"uid": request.uid} if request.uid else {}
        return {"apiVersion": api_version, "kind": "TokenReview", "metadata": metadata, "status": response.status()}

    async def _answer(self, request: TokenRequest) -> TokenResponse:
        try:
            response = await self._handle(request)
        except PilotageError as error:
            return unauthenticated(str(error))
        if not isinstance(response, TokenResponse):
            raise HandlerFailed(f"the handler returned {type(response).__name__}, not a TokenResponse")
        return response

    def refused(self, code: int, message: str) -> Document:
        status = unauthenticated(message).status()
        return {"apiVersion": f"{GROUP}/v1", "kind": "TokenReview", "metadata": {}, "status": status}


class _WireSpec(msgspec.Struct):
    token: str = ""
    audiences: list[str] = []


class _WireMetadata(msgspec.Struct):
    uid: str = ""


class _WireReview(msgspec.Struct):
    spec: _WireSpec = msgspec.field(default_factory=_WireSpec)
    metadata: _WireMetadata = msgspec.field(default_factory=_WireMetadata)


def _request(document: Document) -> TokenRequest:
    try:
        wire = msgspec.convert(document, _WireReview)
    except msgspec.ValidationError as error:
        raise DecodeError(f"the TokenReview cannot be read: {error}") from error
    if not wire.spec.token:
        raise DecodeError("token is empty")
    return TokenRequest(wire.spec.token, wire.spec.audiences, wire.metadata.uid)
