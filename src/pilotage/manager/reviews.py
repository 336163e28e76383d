"""Protects HTTP endpoints by the API server: a TokenReview authenticates the client, a SubjectAccessReview authorizes
it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from pilotage.client.client import Client
from pilotage.client.conflicts import Backoff
from pilotage.errors import ApiError, ConnectionLost
from pilotage.http.health import text_response
from pilotage.http.messages import Handler, HTTPRequest, HTTPResponse, StreamingResponse
from pilotage.meta.bounds.recent import Recent
from pilotage.tasks import loop_time
from pilotage.telemetry.logs import logger
from pilotage.types.authentication.v1 import TokenReview, TokenReviewSpec, UserInfo
from pilotage.types.authorization.v1 import NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec

log = logger("controller-runtime.metrics")

TOKEN_SECONDS = 60.0
ALLOWED_SECONDS = 300.0
DENIED_SECONDS = 30.0
"""How long answers are used again, as in controller-runtime."""

REVIEW_SECONDS = 10.0
"""How long one review may take."""

_BACKOFF = Backoff(steps=5, delay=0.5, factor=1.5, jitter=0.2)
_MOST = 1024
_MAX_TOKEN = 16 * 1024

V = TypeVar("V")


class Answers(Generic[V]):
    """Answers that are used again for a while; the oldest are dropped first."""

    def __init__(self) -> None:
        self._answers: Recent[object, tuple[float, V]] = Recent(_MOST)

    def get(self, key: object) -> V | None:
        found = self._answers.get(key)
        return found[1] if found is not None and loop_time() < found[0] else None

    def put(self, key: object, value: V, seconds: float) -> None:
        self._answers[key] = (loop_time() + seconds, value)


@dataclass(frozen=True, slots=True)
class _User:
    """A user that a review has confirmed; None as its name: the token is not valid."""

    info: UserInfo | None


def with_authentication_and_authorization(client: Client, handler: Handler) -> Handler:
    """A handler whose clients need a token that the API server accepts, and the permission for the path.

    The role of a client has `nonResourceURLs: ["/metrics"]` and `verbs: ["get"]`. The program itself needs the
    permission to create tokenreviews and subjectaccessreviews. Answers are 401, 403, and 500 if the API server cannot
    be asked.
    """
    return ReviewFilter(client, handler)


class ReviewFilter:
    """The handler of `with_authentication_and_authorization`."""

    def __init__(self, client: Client, handler: Handler) -> None:
        self._client = client
        self._handler = handler
        self._random = Random()  # noqa: S311 - for delays
        self._tokens: Answers[_User] = Answers()
        self._decisions: Answers[bool] = Answers()

    async def __call__(self, request: HTTPRequest) -> HTTPResponse | StreamingResponse:
        token = _token(request)
        if token is None:
            return text_response(401, "Unauthorized")
        path, verb = request.target.partition("?")[0], request.method.lower()
        try:
            user = await self._user(token)
            if user is None:
                return text_response(401, "Unauthorized")
            allowed = await self._authorize(user, path, verb)
        except (ApiError, ConnectionLost, TimeoutError) as error:
            log.error("Authentication failed", error=str(error) or type(error).__name__, path=path)
            return text_response(500, "Authentication failed")
        if not allowed:
            log.info("Authorization denied", user=user.username, path=path, verb=verb)
            return text_response(403, f"Authorization denied for user {user.username}")
        return await self._handler(request)

    async def _user(self, token: str) -> UserInfo | None:
        key = hashlib.sha256(token.encode()).digest()  # the token itself is not kept
        found = self._tokens.get(key)
        if found is None:
            review = await self._review(lambda: self._client.create(TokenReview(spec=TokenReviewSpec(token=token))))
            status = review.status
            found = _User(status.user if status is not None and status.authenticated else None)
            self._tokens.put(key, found, TOKEN_SECONDS)
        return found.info

    async def _authorize(self, user: UserInfo, path: str, verb: str) -> bool:
        extra = tuple(sorted((name, tuple(values)) for name, values in user.extra.items()))
        key = (user.username, user.uid, tuple(user.groups), extra, path, verb)
        found = self._decisions.get(key)
        if found is None:
            spec = SubjectAccessReviewSpec(
                user=user.username,
                uid=user.uid,
                groups=user.groups,
                extra=user.extra,
                non_resource_attributes=NonResourceAttributes(path=path, verb=verb),
            )
            review = await self._review(lambda: self._client.create(SubjectAccessReview(spec=spec)))
            found = review.status is not None and bool(review.status.allowed)
            self._decisions.put(key, found, ALLOWED_SECONDS if found else DENIED_SECONDS)
        return found

    async def _review(self, ask: Callable[[], Awaitable[V]]) -> V:
        """Ask the API server, again after a failure that may pass."""
        for attempt in range(_BACKOFF.steps):
            try:
                async with asyncio.timeout(REVIEW_SECONDS):
                    return await ask()
            except (ApiError, ConnectionLost, TimeoutError) as error:
                code = error.status.code if isinstance(error, ApiError) else 500
                if attempt == _BACKOFF.steps - 1 or (code < 500 and code != 429):
                    raise
            await asyncio.sleep(_BACKOFF.pause(attempt, self._random))
        raise AssertionError("unreachable")


def _token(request: HTTPRequest) -> str | None:
    scheme, _, token = request.headers.get("authorization").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and 0 < len(token) <= _MAX_TOKEN else None
