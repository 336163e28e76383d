"""The HTTP face: parses HTTP into the registry's request values, and writes its answers as HTTP."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import metadata
from typing import Any

import msgspec

from pilotage.errors import ApiError, Forbidden, InternalError, NotFound, PilotageError, Unauthorized
from pilotage.http import messages as http
from pilotage.http.health import HealthHandler, ping
from pilotage.meta.times import Clock
from pilotage.rest import path, response
from pilotage.rest.request import Form, Request, Verb
from pilotage.server.http.documents import Documents
from pilotage.server.offload import offload
from pilotage.server.registry import Registry
from pilotage.server.tables.table import TableWriter
from pilotage.telemetry.logs import logger

OPEN = ("/healthz", "/livez", "/readyz", "/version")
"""What anybody may ask."""
JSON = ("content-type", "application/json")
_NO_CACHE = ("cache-control", "no-cache, private")
_MAX_WARNINGS = 4096
_log = logger("pilotage.server")


class HTTPHandler:
    """Answers HTTP requests from a registry, for those who know the token."""

    def __init__(self, registry: Registry, token: str) -> None:
        self._registry = registry
        self._token = token.encode()
        self._health = {
            "/healthz": HealthHandler("/healthz", lambda: {"ping": ping}),
            "/livez": HealthHandler("/livez", lambda: {"ping": ping}),
            "/readyz": HealthHandler("/readyz", lambda: {"ping": ping, "storage": registry.check}),
        }
        self._documents = Documents(registry, version())

    async def __call__(self, incoming: http.Request) -> http.Response | http.StreamingResponse:
        """An `http.Handler`."""
        try:
            return await self._answer(incoming)
        except ApiError as error:
            return failure(error)
        except PilotageError as error:
            _log.warning("Request failed", method=incoming.method, path=incoming.target.partition("?")[0], error=error)
            return failure(InternalError(f"Internal error occurred: {error}"))

    async def _answer(self, incoming: http.Request) -> http.Response | http.StreamingResponse:
        route = incoming.target.partition("?")[0].rstrip("/") or "/"
        if route not in OPEN and not self.authenticate(incoming.headers, incoming.peer):
            raise Unauthorized("Unauthorized")
        _refuse_impersonation(incoming)
        if health := self._health.get("/" + route.lstrip("/").partition("/")[0]):
            return await health(incoming)
        if incoming.method in ("GET", "HEAD"):
            answer = await self._documents.find(route, incoming.headers)
            if answer is not None:
                return answer
        request = path.parse(path.HTTPRequest(incoming.method, incoming.target, tuple(incoming.headers), incoming.body))
        match request.verb:
            case Verb.WATCH:
                return await self._watch(request)
            case Verb.LIST | Verb.DELETE_COLLECTION:
                return await self._list(request, await self._registry.list(request))
        result = await self._registry.call(request)
        if request.form is Form.TABLE:
            table = await self._registry.table(request)
            body = await offload(len(result.body), table.single, result.body, self._registry.context.time())
            result = replace(result, body=body)
        return http.Response(result.code, [JSON, _NO_CACHE, *_warnings(result.warnings)], result.body)

    def authenticate(self, headers: http.Headers, peer: http.Peer) -> bool:
        """An `http.Authenticate`."""
        scheme, _, token = headers.get("authorization").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)

    async def _list(self, request: Request, page: response.Page) -> http.Response:
        if request.form is Form.TABLE:
            table = await self._registry.table(request)
            body = await offload(sum(map(len, page.items)), table.collection, page, self._registry.context.time())
        else:
            body = list_body(request, page)
        return http.Response(200, [JSON, _NO_CACHE, *_warnings(page.warnings)], body)

    async def _watch(self, request: Request) -> http.StreamingResponse:
        table = await self._registry.table(request) if request.form is Form.TABLE else None
        exits = AsyncExitStack()
        events = await exits.enter_async_context(self._registry.watch(request))
        if table is not None:
            events = _tables(events, table, self._registry.context.clock)
        warnings = _warnings(await self._registry.warnings(request))
        return http.StreamingResponse(200, [JSON, _NO_CACHE, *warnings], _lines(events, exits), endless=True)


async def _tables(
    events: AsyncIterator[response.WatchEvent], table: TableWriter, clock: Clock
) -> AsyncIterator[response.WatchEvent]:
    first = True
    async for event in events:
        yield table.event(event, clock(), first=first)
        first = False


async def _lines(events: AsyncIterator[response.WatchEvent], exits: AsyncExitStack) -> AsyncIterator[bytes]:
    async with exits:
        async for kind, data in events:
            yield b'{"type":"%b","object":%b}\n' % (kind.encode(), bytes(data))


def list_body(request: Request, page: response.Page) -> bytes:
    """A list document around items that are copied as they stand."""
    meta: dict[str, Any] = {"resourceVersion": page.resource_version}
    if page.continue_token:
        meta["continue"] = page.continue_token
    if page.remaining_item_count is not None:
        meta["remainingItemCount"] = page.remaining_item_count
    if request.form is Form.METADATA:
        kind, api_version = "PartialObjectMetadataList", "meta.k8s.io/v1"
    else:
        kind, api_version = page.list_kind or "List", str(request.resource.group_version)
    head = msgspec.json.encode({"kind": kind, "apiVersion": api_version, "metadata": meta})
    return b"".join((head[:-1], b',"items":[', b",".join(bytes(item) for item in page.items), b"]}"))


def failure(error: ApiError) -> http.Response:
    """An error as HTTP: a Status, or plain text where the path itself is unknown."""
    headers = []
    if error.retry_after_seconds:
        headers.append(("retry-after", str(error.retry_after_seconds)))
    if isinstance(error, NotFound) and error.status.details is None:
        plain = [("content-type", "text/plain; charset=utf-8"), ("x-content-type-options", "nosniff")]
        return http.Response(404, plain, b"404 page not found\n")
    return http.Response(error.status.code, [JSON, *headers], msgspec.json.encode(error.status.document()))


def version() -> dict[str, str]:
    """The answer of `/version`: the Kubernetes that the API is modelled on, and the version of this server."""
    try:
        own = metadata.version("pilotage")
    except metadata.PackageNotFoundError:  # run from its sources
        own = "0"
    return {
        "major": "1",
        "minor": "36",
        "gitVersion": f"v1.36.0+pilotage.{own}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "python",
    }


def _refuse_impersonation(incoming: http.Request) -> None:
    """A request on behalf of another user is refused: done as the caller, it would do what that user may not."""
    for name, _ in incoming.headers:
        if name.lower().startswith("impersonate-"):
            raise Forbidden(f"this server does not support impersonation: send the request without {name[:100]!r}")


def _warnings(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Warning headers, each once; cut where there would be too much of them."""
    unique = list(dict.fromkeys(texts))
    if sum(map(len, unique)) > _MAX_WARNINGS:
        unique = [text[:256] for text in unique][: _MAX_WARNINGS // 256]
    return [("warning", f'299 - "{_escaped(text)}"') for text in unique]


def _escaped(text: str) -> str:
    printable = "".join(character if character.isprintable() and ord(character) < 256 else "?" for character in text)
    return printable.replace("\\", "\\\\").replace('"', '\\"')
