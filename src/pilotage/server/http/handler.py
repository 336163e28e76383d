"""The HTTP handler: parses HTTP into the registry's request values, and writes its answers as HTTP."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

import msgspec
from msgspec import structs

from pilotage.errors import ApiError, NotFound, PilotageError
from pilotage.http import messages as http
from pilotage.http import websocket
from pilotage.http.health import Check, HealthHandler, ping
from pilotage.meta.causes import internal_error
from pilotage.meta.kinds import GroupVersion
from pilotage.rest.negotiation import JSON, PROTOBUF, ResponseFormat
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.rest.response import Response
from pilotage.rest.users import ANONYMOUS
from pilotage.server.access.authentication import ADMIN, Authenticator
from pilotage.server.access.impersonation import Impersonation
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.access.rbac import AccessDenied, Authorizer
from pilotage.server.access.users import BadImpersonation, impersonated
from pilotage.server.audit.events import Audit
from pilotage.server.audit.policy import Level
from pilotage.server.catalogue import routes
from pilotage.server.context import StorageRequest
from pilotage.server.decoding.refusals import with_warnings
from pilotage.server.http import requests
from pilotage.server.http.auditing import Auditor, audit_id_of, note_error, note_object, note_request
from pilotage.server.http.documents import DocumentHandler
from pilotage.server.http.formats import STREAMS, check_shape, format_of, format_of_error
from pilotage.server.http.metrics import ServerMetrics
from pilotage.server.http.rendering import Renderer, write
from pilotage.server.http.warnings import warning_headers
from pilotage.server.http.watches import chunks, over_websocket
from pilotage.server.offload import offload
from pilotage.server.registry import Registry, body_too_large
from pilotage.server.resources import ResourceInfo
from pilotage.telemetry.logs import logger
from pilotage.version import installed_version

OPEN = ("/healthz", "/livez", "/readyz")
"""Paths that need no authentication for GET: probes have no credentials."""
_NO_SNIFFING = ("x-content-type-options", "nosniff")
_TEXT = (("content-type", "text/plain; charset=utf-8"), _NO_SNIFFING)
_NO_CACHE = ("cache-control", "no-cache, private")
_COMPRESSED_FROM = 128 * 1024
"""The minimum size of a body that is compressed."""
_PLAIN = ResponseFormat()
_STARTED: dict[str, Check] = dict.fromkeys(
    (
        "ping",
        "log",
        "poststarthook/start-system-namespaces-controller",
        "poststarthook/rbac/bootstrap-roles",
        "poststarthook/scheduling/bootstrap-system-priority-classes",
        "poststarthook/bootstrap-controller",
    ),
    ping,
)
"""Health checks of start-up steps, which have completed when the first request is handled, under kube-apiserver's
names."""
_READY: dict[str, Check] = dict.fromkeys(("informer-sync", "shutdown"), ping)
"""Health checks that pass as long as requests are handled: the server is not shutting down."""
_STORAGE_CHECKS = ("/healthz/etcd", "/livez/etcd")
"""Paths of a check that is not among the others below it: with a broken storage, the server is not to be restarted."""
_log = logger("pilotage.server")


class HTTPHandler:
    """Answers HTTP requests from a registry, for the users that an authenticator knows.

    A string instead of an authenticator is the token of an administrator. With an `auditor`, requests are logged.
    """

    def __init__(
        self,
        registry: Registry,
        authenticator: Authenticator | str,
        auditor: Auditor | None = None,
    ) -> None:
        self._registry = registry
        self._auditor = auditor
        if isinstance(authenticator, str):
            authenticator = Authenticator({authenticator: ADMIN}, registry.context.service_accounts)
        self._authenticator = authenticator
        registry.reviewer.tokens = authenticator
        ready = _STARTED | _READY | {"etcd-readiness": registry.check, "etcd": registry.check}
        checks = {"/healthz": _STARTED, "/livez": _STARTED, "/readyz": ready}
        self._health = {path: HealthHandler(path, partial(dict, found)) for path, found in checks.items()}
        own_paths = [*checks, *_STORAGE_CHECKS, *(f"{path}/{name}" for path, found in checks.items() for name in found)]
        self._documents = DocumentHandler(registry, version(), own_paths)
        self._metrics = ServerMetrics(registry.context)
        self._impersonation = Impersonation(registry.context.authorizer)

    async def __call__(self, incoming: http.HTTPRequest) -> http.HTTPResponse | http.StreamingResponse:
        """An `http.Handler`."""
        if problem := requests.problem_of_path(incoming.target):
            return http.HTTPResponse(500, [("audit-id", audit_id_of(incoming)), *_TEXT], problem.encode())
        if self._auditor is None:
            return await self._handle(incoming, None)
        return await self._auditor.answer(incoming, self._handle, self._authenticator, self._registry.context)

    async def _handle(
        self, incoming: http.HTTPRequest, audit: Audit | None
    ) -> http.HTTPResponse | http.StreamingResponse:
        try:
            # Health is answered even if the storage cannot be reached.
            health = self._health_of(incoming)
            seconds = requests.requested_seconds(incoming)
            async with self._registry.context.request(seconds) if health is None else StorageRequest():
                try:
                    answer = await self._answer(incoming, health, audit, seconds)
                except NotFound as error:
                    if error.status.details is not None or not await self._is_remote(incoming):
                        raise
                    answer = http.HTTPResponse(503, _TEXT, b"service unavailable\n")  # nothing is forwarded
        except ApiError as error:
            answer = self._failure(incoming, error, audit)
        except PilotageError as error:
            _log.warning("Request failed", method=incoming.method, path=incoming.target.partition("?")[0], error=error)
            answer = self._failure(incoming, internal_error(str(error)), audit)
        headers = _complete(answer.headers, incoming, audit)
        if isinstance(answer, http.HTTPResponse):
            return http.HTTPResponse(answer.status, headers, answer.body)
        return replace(answer, headers=headers)

    def _failure(self, incoming: http.HTTPRequest, error: ApiError, audit: Audit | None) -> http.HTTPResponse:
        if audit is not None:
            note_error(audit, error)
        return failure(error, format_of_error(incoming.headers, incoming.target))

    async def _is_remote(self, incoming: http.HTTPRequest) -> bool:
        """Whether a request is for the API of another server."""
        root, group, version, *_ = [*incoming.target.partition("?")[0].strip("/").split("/"), "", "", ""]
        return root == "apis" and bool(version) and await self._registry.is_remote(GroupVersion(group, version))

    def _health_of(self, incoming: http.HTTPRequest) -> HealthHandler | None:
        """The handler for a request for the health of the server, or for one of its checks."""
        return self._health.get("/" + incoming.target.partition("?")[0].lstrip("/").partition("/")[0])

    async def _answer(
        self,
        incoming: http.HTTPRequest,
        health: HealthHandler | None,
        audit: Audit | None,
        seconds: float | None,
    ) -> http.HTTPResponse | http.StreamingResponse:
        route = incoming.target.partition("?")[0].rstrip("/") or "/"
        attributes = await self._attributes(incoming, route)
        if health is not None:
            if attributes.path not in OPEN or incoming.method != "GET":
                await self._authorizer.check(attributes)
            if attributes.path == f"{route}/":
                raise NotFound(routes.NO_PAGE)
            method = "HEAD" if incoming.method == "HEAD" else "GET"
            if route in _STORAGE_CHECKS:
                return await self._health["/readyz"](structs.replace(incoming, method=method, target="/readyz/etcd"))
            return await health(structs.replace(incoming, method=method))
        if attributes.path == "/metrics":
            await self._authorizer.check(attributes)
            return await self._metrics.page()
        if attributes.path:
            return await self._document(incoming, attributes, route)
        request, info = await requests.resolve(self._registry, incoming, attributes, seconds)
        if incoming.too_large and request.verb not in (Verb.GET, Verb.LIST, Verb.WATCH):
            raise body_too_large()
        if audit is not None:
            await offload(len(incoming.body), note_request, audit, request, info)
            request = structs.replace(request, annotations=audit.annotations)
        with with_warnings(info.warnings):
            return await self._metrics.measure(request, self._serve(incoming, request, info, audit))

    async def _document(
        self, incoming: http.HTTPRequest, attributes: AccessAttributes, route: str
    ) -> http.HTTPResponse:
        """The answer to a request for a path that names no resource. Whether it exists is for those who may read it."""
        await self._authorizer.check(attributes)
        answer = await self._documents.find(route, incoming)
        if answer is None:
            raise routes.no_path(route)
        if incoming.method != "GET" and not requests.serves_any_method(route):
            raise routes.no_method()
        return answer

    async def _serve(
        self, incoming: http.HTTPRequest, request: APIRequest, info: ResourceInfo, audit: Audit | None
    ) -> http.HTTPResponse | http.StreamingResponse:
        """The answer to a request for a resource."""
        asked = format_of(incoming.headers, incoming.target, info, request)
        if (form := _registry_form(asked, request)) is not request.form:
            request = structs.replace(request, form=form)
        info = _printed(asked, info, request)
        renderer = Renderer(asked, info, request, self._registry.context.clock)
        if request.verb is Verb.WATCH:
            return await self._watch(incoming, request, info, renderer)
        if request.verb in (Verb.LIST, Verb.DELETE_COLLECTION):
            check_shape(asked, info, collection=True)
            page = await self._registry.list(request, info)
            page = structs.replace(page, items=[*page.items])  # made once: their size is needed, and then their bytes
            body = await offload(renderer.effort(*page.items), renderer.page, page)
            if audit is not None and audit.level is Level.REQUEST_RESPONSE:
                shown = body if asked.media == JSON else renderer.in_json().page(page)
                await offload(len(shown), note_object, audit, shown, 200)
            return await self._response(incoming, 200, asked, body, page.warnings)
        result = await self._registry.call(request, info)
        if result.code == 204:
            return http.HTTPResponse(204, [], b"")
        if result.media:
            return _text(result)
        check_shape(asked, info, collection=False)
        body = await offload(renderer.effort(result.body), renderer.object, result.body)
        if audit is not None:
            shown = body if asked.media == JSON else renderer.in_json().object(result.body)
            await offload(len(shown), note_object, audit, shown, result.code)
        return await self._response(incoming, result.code, asked, body, result.warnings)

    async def _response(
        self, incoming: http.HTTPRequest, code: int, asked: ResponseFormat, body: bytes, warnings: tuple[str, ...]
    ) -> http.HTTPResponse:
        """An answer, compressed if it is large and the client can read it so."""
        headers = [("content-type", asked.media), *warning_headers(warnings)]
        if len(body) > _COMPRESSED_FROM and _takes_gzip(incoming.headers):
            body = await offload(len(body), _compressed, body)
            headers += [("content-encoding", "gzip"), ("vary", "Accept-Encoding")]
        return http.HTTPResponse(code, headers, body)

    def authenticate(self, headers: http.Headers, peer: http.Peer) -> bool:
        """An `http.Authenticate`."""
        return self._authenticator.is_known(headers, peer)

    @property
    def _authorizer(self) -> Authorizer:
        return self._registry.context.authorizer

    async def _attributes(self, incoming: http.HTTPRequest, route: str) -> AccessAttributes:
        """What a request does, and for which user. Raises Unauthorized and Forbidden."""
        if route in OPEN and incoming.method == "GET" and not self._authenticator.has_token(incoming.headers):
            return requests.attributes_of_path(incoming, ANONYMOUS)
        user = await self._authenticator.user_of(incoming.headers, incoming.peer)
        attributes = requests.attributes_of_path(incoming, user)
        wanted = incoming.headers.derived(impersonated)
        if wanted is None:
            return attributes
        acting = await self._impersonation.acting(attributes, wanted)
        return structs.replace(attributes, user=acting.user)

    async def _watch(
        self, incoming: http.HTTPRequest, request: APIRequest, info: ResourceInfo, renderer: Renderer
    ) -> http.HTTPResponse | http.StreamingResponse:
        exits = AsyncExitStack()
        events = await exits.enter_async_context(self._registry.watch(request, info))
        if incoming.method == "GET" and websocket.is_upgrade(incoming.headers):
            return await over_websocket(incoming.headers, events, renderer, exits)
        media = STREAMS[1] if renderer.media == PROTOBUF else renderer.media
        headers = [("content-type", media), *warning_headers(info.warnings)]
        return http.StreamingResponse(200, headers, chunks(events, renderer, exits, renderer.event), endless=True)


def _text(result: Response) -> http.HTTPResponse | http.StreamingResponse:
    """An answer that is not an object."""
    headers = [("content-type", result.media), *warning_headers(result.warnings)]
    if result.stream is None:
        return http.HTTPResponse(result.code, headers, result.body)
    return http.StreamingResponse(result.code, headers, _followed(result.body, result.stream), endless=True)


async def _followed(body: bytes, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if body:
        yield body
    async for chunk in stream:
        yield chunk


def failure(error: ApiError, asked: ResponseFormat = _PLAIN) -> http.HTTPResponse:
    """An error as HTTP: a Status, or plain text where the path itself is unknown."""
    headers = list(warning_headers(error.warnings))
    if error.retry_after_seconds:
        headers.append(("retry-after", str(error.retry_after_seconds)))
    if isinstance(error, NotFound) and error.status.details is None:
        return http.HTTPResponse(404, _TEXT, b"404 page not found\n")
    if isinstance(error, AccessDenied | BadImpersonation):
        headers.append(_NO_SNIFFING)
    body = write(msgspec.json.encode(error.status.document()), asked.media, pretty=asked.pretty)
    return http.HTTPResponse(error.status.code, [("content-type", asked.media), *headers], body)


def _complete(
    headers: Sequence[tuple[str, str]], incoming: http.HTTPRequest, audit: Audit | None
) -> list[tuple[str, str]]:
    """The headers of an answer, with those that every answer has."""
    audit_id = audit.audit_id if audit is not None else audit_id_of(incoming)
    cached = () if "cache-control" in [name for name, _ in headers] else (_NO_CACHE,)
    return [("audit-id", audit_id), *cached, *headers]


def _printed(asked: ResponseFormat, info: ResourceInfo, request: APIRequest) -> ResourceInfo:
    """The resource that is read for a Table or metadata: the stored version. Other versions may have more fields, or
    another order."""
    is_read = request.verb in (Verb.GET, Verb.LIST, Verb.WATCH) and not request.subresource
    if asked.form is Form.OBJECT or not is_read or info.custom or request.options.include_object == "Object":
        return info
    return info.stored if info.stored.group_resource == info.group_resource else info


def _registry_form(asked: ResponseFormat, request: APIRequest) -> Form:
    """The form that is requested from the registry: metadata if it can omit the rest; the renderer does all other
    conversions."""
    deleting = request.verb in (Verb.DELETE, Verb.DELETE_COLLECTION)
    return Form.METADATA if asked.form is Form.METADATA and not deleting else Form.OBJECT


def _compressed(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=1, mtime=0)


def _takes_gzip(headers: http.Headers) -> bool:
    return any(part.partition(";")[0].strip() == "gzip" for part in headers.get("accept-encoding").split(","))


KUBERNETES_VERSION = "v1.36.3"
"""The Kubernetes that the API is modelled on."""


def version() -> dict[str, str]:
    """The answer of `/version`: the Kubernetes that the API is modelled on, and the version of this server."""
    own = installed_version("0")
    return {
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": f"{KUBERNETES_VERSION}+pilotage.{own}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "python",
    }
