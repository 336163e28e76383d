"""Audit of HTTP requests: fills in the events of a request while the handler answers it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import structs

from pilotage.errors import ApiError, NotFound, StorageError, Unauthorized
from pilotage.http import messages as http
from pilotage.meta.documents import Document
from pilotage.rest import path
from pilotage.rest.request import APIRequest, User
from pilotage.rest.users import ANONYMOUS
from pilotage.server.access.authentication import Authenticator
from pilotage.server.access.impersonation import Impersonation
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.access.users import impersonated
from pilotage.server.audit.events import Audit, ObjectReference, Sink
from pilotage.server.audit.objects import referred, request_object
from pilotage.server.audit.policy import AuditPolicy, Level
from pilotage.server.context import RegistryContext
from pilotage.server.http.requests import attributes_of_path
from pilotage.server.resources import ResourceInfo
from pilotage.server.uids import random_uid

MAX_AUDIT_ID = 64
"""Characters of the id that a client may give its request."""
_CHANCE = random.Random()  # noqa: S311 - the ids of requests are no secrets
_DECISION, _REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
_DEPRECATED = "k8s.io/deprecated"
LONG_RUNNING = ("attach", "exec", "log", "portforward", "proxy")
"""Subresources whose requests may last."""
Answer = http.HTTPResponse | http.StreamingResponse
Handle = Callable[[http.HTTPRequest, Audit | None], Awaitable[Answer]]
"""Handles a request, and records its object and its answer in the audit."""


class Auditor:
    """Logs requests by a policy."""

    def __init__(self, policy: AuditPolicy, sink: Sink) -> None:
        self._policy = policy
        self._sink = sink

    async def answer(
        self, incoming: http.HTTPRequest, handle: Handle, authenticator: Authenticator, context: RegistryContext
    ) -> Answer:
        """The answer of `handle`, logged."""
        user, known = await _user(incoming, authenticator)
        audit = self._begin(incoming, user, context)
        if audit.level is Level.NONE:
            return await handle(incoming, None)
        if not known:
            answer = await handle(incoming, audit)
            audit.log("ResponseStarted")
            return answer
        audit.log("RequestReceived")
        with suppress(StorageError):  # why a request is allowed does not matter for its answer
            await _note_authorization(audit, context)  # before it is answered: it may change the rules
        try:
            answer = await handle(incoming, audit)
        except asyncio.CancelledError:
            audit.response_status = {"status": "Success", "message": "Connection closed early", "code": 200}
            audit.log("ResponseComplete")
            raise
        except BaseException as error:
            message = f"APIServer panic'd: {error}"
            audit.response_status = {"status": "Failure", "message": message, "reason": "InternalError", "code": 500}
            audit.log("Panic")
            raise
        if audit.response_status is None:
            audit.response_status = {"code": answer.status}
        if isinstance(answer, http.StreamingResponse) or audit.attributes.subresource in LONG_RUNNING:
            audit.log("ResponseStarted")
        if isinstance(answer, http.StreamingResponse):
            return replace(answer, chunks=_complete(answer.chunks, audit))
        audit.log("ResponseComplete")
        return answer

    def _begin(self, incoming: http.HTTPRequest, user: User, context: RegistryContext) -> Audit:
        attributes = attributes_of_path(incoming, user)
        return Audit(
            incoming,
            audit_id_of(incoming),
            attributes,
            self._policy.select(attributes),
            self._sink,
            context.clock,
            context.clock(),
            _reference(incoming, attributes),
        )


def audit_id_of(incoming: http.HTTPRequest) -> str:
    """The id that a client has given its request, else a new one."""
    return incoming.headers.get("audit-id")[:MAX_AUDIT_ID] or random_uid(_CHANCE)


def note_request(audit: Audit, request: APIRequest, info: ResourceInfo) -> None:
    """Record the object in the body of a request, and whether its API is deprecated."""
    if info.deprecation:
        audit.annotations[_DEPRECATED] = "true"
    found = request_object(request, info, audit.incoming.body)
    audit.request_object = found
    audit.reference = referred(audit.reference, found)


def note_object(audit: Audit, body: bytes, code: int) -> None:
    """Record the object of an answer, in JSON."""
    is_status = b'"kind":"Status"' in body[:100]
    if not body or (audit.level is not Level.REQUEST_RESPONSE and not is_status):
        return
    document = msgspec.json.decode(body)
    audit.response_object = document
    if isinstance(document, dict) and document.get("kind") == "Status":
        audit.response_status = _status(document) | {"code": code}


def note_error(audit: Audit, error: ApiError) -> None:
    """Record that a request has failed."""
    if isinstance(error, NotFound) and error.status.details is None:
        audit.response_status = {"code": 404}  # a page, not a Status
        return
    document = error.status.document()
    audit.response_status = _status(document)
    if not audit.attributes.path:
        audit.response_object = document


def _status(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in ("kind", "apiVersion", "metadata")}


def _reference(incoming: http.HTTPRequest, attributes: AccessAttributes) -> ObjectReference | None:
    if attributes.path:
        return None
    (group, version, resource), *_ = path.split(path.without_watch(incoming.target.partition("?")[0]))
    return ObjectReference(
        resource,
        attributes.namespace,
        attributes.name,
        group=group,
        version=version,
        subresource=attributes.subresource,
    )


async def _user(incoming: http.HTTPRequest, authenticator: Authenticator) -> tuple[User, bool]:
    """The user of a request, and whether it is authenticated."""
    try:
        return await authenticator.user_of(incoming.headers, incoming.peer), True
    except Unauthorized:
        return User(), False
    except StorageError:
        return User(), True  # the answer reports the error


async def _note_authorization(audit: Audit, context: RegistryContext) -> None:
    """Record the impersonated user of a request, and why it is allowed or not."""
    attributes = audit.attributes
    try:
        wanted = impersonated(audit.incoming.headers)
        acting = await Impersonation(context.authorizer).acting(attributes, wanted) if wanted is not None else None
    except ApiError:
        return  # it is refused before it is authorized
    if acting is not None:
        audit.impersonated, audit.constraint = acting.user, acting.constraint
        attributes = structs.replace(attributes, user=acting.user)
    elif attributes.user is ANONYMOUS:
        return
    decision = await context.authorizer.authorize(attributes)
    audit.annotations[_DECISION] = "allow" if decision.allowed else "forbid"
    audit.annotations[_REASON] = decision.reason


async def _complete(chunks: AsyncIterator[bytes], audit: Audit) -> AsyncIterator[bytes]:
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        close: Any = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
        audit.log("ResponseComplete")
