"""The transport over HTTPS: keep-alive and pooled, with time-outs and limits, a bearer token and the server's CA."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from pilotage.client import discovery, wire
from pilotage.errors import ApiError, InvalidDefinition, NotAcceptable, NotFound
from pilotage.http.client import Client
from pilotage.http.limits import Limits, Timeouts
from pilotage.http.messages import ClientResponse, Headers
from pilotage.http.tls import client_context
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.mapper import RESTMapping
from pilotage.rest import HTTPRequest, Page, Request, Response, WatchEvent, build

_PORTS = {"https": 443, "http": 80}


class HTTPTransport:
    """Carries requests to an API server over HTTP/1.1. Belongs to the event loop on which it is first used.

    `url` is `https://host:port`, with a path where the server is behind a proxy. The CA that signed the server's
    certificate is `ca_file` or `ca_data` (PEM); without either, the system's CAs are trusted. ConnectionLost means
    that no whole answer came; reads are sent a second time where the first connection turned out to be dead.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        ca_file: str = "",
        ca_data: str = "",
        limits: Limits | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        address = _Address.parse(url)
        self._prefix = address.prefix
        self._authorization = (("authorization", f"Bearer {token}"),) if token else ()
        context = client_context(ca_file, ca_data) if address.secure else None
        self._client = Client(address.host, address.port, ssl=context, limits=limits, timeouts=timeouts)

    async def call(self, request: Request) -> Response:
        answer = await self._send(build(request))
        return Response(answer.body, answer.status, _warnings(answer.headers))

    async def list(self, request: Request) -> Page:
        answer = await self._send(build(request))
        return wire.page(answer.body, _warnings(answer.headers))

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        sent = build(request)
        async with self._client.stream(sent.method, self._prefix + sent.target, self._headers(sent)) as stream:
            if stream.status >= 300:
                raise _error(sent, stream.status, stream.headers, await stream.read())
            async with aclosing(_events(stream.lines())) as events:
                yield events

    async def resources(self) -> Sequence[RESTMapping]:
        """Discovery: two requests where the server has the aggregated form, else one for each group and version."""
        found: list[RESTMapping] = []
        for path in ("/api", "/apis"):
            answer = await self._discover(path)
            if answer is None:
                continue
            if "apidiscovery" in answer.headers.get("content-type"):
                found += discovery.aggregated(answer.body)
                continue
            read = discovery.core_versions if path == "/api" else discovery.group_versions
            for version in read(answer.body):
                found += await self._resource_list(version)
        return found

    async def close(self) -> None:
        await self._client.close()

    async def __aenter__(self) -> HTTPTransport:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _send(self, sent: HTTPRequest) -> ClientResponse:
        # The place for waiting out 429 and 503: whatever retries stands between here and the error.
        answer = await self._client.request(sent.method, self._prefix + sent.target, self._headers(sent), sent.body)
        if answer.status >= 300:
            raise _error(sent, answer.status, answer.headers, answer.body)
        return answer

    async def _discover(self, path: str) -> ClientResponse | None:
        try:
            return await self._send(HTTPRequest("GET", path, (("accept", discovery.ACCEPT),)))
        except NotAcceptable:
            return await self._send(HTTPRequest("GET", path, (("accept", "application/json"),)))
        except NotFound:
            return None  # a server need not have the core group, or any other

    async def _resource_list(self, version: GroupVersion) -> Sequence[RESTMapping]:
        path = f"/apis/{version}" if version.group else f"/api/{version}"
        try:
            answer = await self._send(HTTPRequest("GET", path, (("accept", "application/json"),)))
        except ApiError as error:
            if isinstance(error, NotFound) or error.status.code >= 500:
                return []  # a group that went away meanwhile, or whose own server is down, must not hide the others
            raise
        return [*discovery.resource_list(version, answer.body)]

    def _headers(self, sent: HTTPRequest) -> tuple[tuple[str, str], ...]:
        return sent.headers + self._authorization


@dataclass(frozen=True, slots=True)
class _Address:
    """A URL taken apart."""

    secure: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, url: str) -> _Address:
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS.get(parts.scheme, 0)
        except ValueError as error:
            raise _bad_url(url, str(error)) from None
        if parts.scheme not in _PORTS:
            raise _bad_url(url, "it must begin with https:// or http://")
        if not parts.hostname:
            raise _bad_url(url, "it names no host")
        if _superfluous(parts):
            raise _bad_url(url, "it must have neither user, query nor fragment")
        return cls(parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/"))


def _superfluous(parts: SplitResult) -> bool:
    return bool(parts.username or parts.password or parts.query or parts.fragment)


def _bad_url(url: str, why: str) -> InvalidDefinition:
    without_secrets = url.rpartition("@")[2].partition("?")[0]
    return InvalidDefinition(f"{without_secrets!r} is not the URL of an API server: {why}")


async def _events(batches: AsyncIterator[Sequence[bytes]]) -> AsyncGenerator[WatchEvent, None]:
    async for lines in batches:
        for line in lines:
            yield wire.watch_event(line)


def _error(sent: HTTPRequest, code: int, headers: Headers, body: bytes) -> ApiError:
    asked = f"{sent.method} {sent.target.partition('?')[0]}"
    return wire.error(code, body, asked=asked, retry_after=headers.get("retry-after"))


def _warnings(headers: Headers) -> tuple[str, ...]:
    return wire.warnings(headers.all("warning")) if "warning" in headers else ()
