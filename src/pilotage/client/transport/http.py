"""The transport over HTTPS: the API dialect as HTTP requests, and their answers back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial

from pilotage.client import discovery
from pilotage.client.config import Config
from pilotage.client.credentials.credentials import Material, StaticCredentials
from pilotage.client.retries import Retries
from pilotage.client.transport import wire
from pilotage.client.transport.sending import Sender
from pilotage.errors import ApiError, NotAcceptable, NotFound, UnexpectedAnswer
from pilotage.http.limits import HTTPLimits, Timeouts
from pilotage.http.messages import ClientResponse, Headers
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest import APIRequest, EncodedRequest, Page, Response, WatchEvent, build
from pilotage.rest.fence import check_all


class HTTPTransport:
    """Carries requests to an API server over HTTP/1.1. Belongs to the event loop on which it is first used.

    `url` is `https://host:port`, with a path where the server is behind a proxy. The CA that signed the server's
    certificate is `ca_file` or `ca_data` (PEM); without either, the system's CAs are trusted. ConnectionLost means
    that no complete answer came. Reads are sent again after a lost connection, and any request that the server refuses
    with Retry-After. A write that may have been executed is never sent again.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        ca_file: str = "",
        ca_data: str = "",
        limits: HTTPLimits | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
    ) -> None:
        credentials = StaticCredentials(Material(token))
        config = Config(url, credentials, ca_file=ca_file, ca_data=ca_data.encode())
        self._sender = Sender(config, limits=limits, timeouts=timeouts, retries=retries or Retries())

    @classmethod
    def from_config(
        cls,
        config: Config,
        *,
        limits: HTTPLimits | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
    ) -> HTTPTransport:
        """A transport as a kubeconfig or a Pod's service account has it; see `pilotage.client.config`."""
        made = cls.__new__(cls)
        made._sender = Sender(config, limits=limits, timeouts=timeouts, retries=retries or Retries())
        return made

    async def call(self, request: APIRequest) -> Response:
        answer = await self._sender.request(build(request), _fence_check(request))
        return Response(answer.body, answer.status, _warnings(answer.headers))

    async def list(self, request: APIRequest) -> Page:
        answer = await self._sender.request(build(request), _fence_check(request))
        return wire.page(answer.body, _warnings(answer.headers))

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with self._sender.stream(build(request)) as stream, aclosing(_events(stream.lines())) as events:
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
        await self._sender.close()

    async def __aenter__(self) -> HTTPTransport:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _discover(self, path: str) -> ClientResponse | None:
        try:
            return await self._sender.request(EncodedRequest("GET", path, (("accept", discovery.ACCEPT),)))
        except NotAcceptable:
            return await self._sender.request(EncodedRequest("GET", path, (("accept", "application/json"),)))
        except NotFound:
            return None  # a server need not have the core group, or any other

    async def _resource_list(self, version: GroupVersion) -> Sequence[RESTMapping]:
        path = f"/apis/{version}" if version.group else f"/api/{version}"
        try:
            answer = await self._sender.request(EncodedRequest("GET", path, (("accept", "application/json"),)))
            return [*discovery.resource_list(version, answer.body)]
        except (ApiError, UnexpectedAnswer) as error:
            # A group that was removed in the meantime, or whose server is down, must not hide the others.
            if isinstance(error, ApiError) and not isinstance(error, NotFound) and error.status.code < 500:
                raise
            return []


async def _events(batches: AsyncIterator[Sequence[bytes]]) -> AsyncGenerator[WatchEvent, None]:
    async for lines in batches:
        for line in lines:
            yield wire.watch_event(line)


def _fence_check(request: APIRequest) -> Callable[[], None] | None:
    """The function that is called right before a write is sent: the write may have waited for a connection, for
    credentials or for a retry."""
    return partial(check_all, request.fences) if request.fences else None


def _warnings(headers: Headers) -> tuple[str, ...]:
    return wire.warnings(headers.all("warning")) if "warning" in headers else ()
