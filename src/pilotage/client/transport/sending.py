"""Sends HTTP requests to one API server: with credentials that may change, with retries, and with metrics."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random
from urllib.parse import unquote, urlsplit

from pilotage.client.config import Config, without_secrets
from pilotage.client.credentials.credentials import Material
from pilotage.client.credentials.trust import Trust
from pilotage.client.retries import Retries
from pilotage.client.transport import wire
from pilotage.client.transport.metrics import REQUESTS, RestClientMetrics, rest_client_metrics
from pilotage.errors import ApiError, ConnectionLost, InvalidDefinition, NoCredentials
from pilotage.http.client import HTTPClient
from pilotage.http.connector import Proxy, ServerRoute
from pilotage.http.heads import is_header_value
from pilotage.http.limits import HTTPLimits, Timeouts
from pilotage.http.messages import ClientResponse, Headers
from pilotage.http.streams import Stream
from pilotage.rest import EncodedRequest

_PORTS = {"https": 443, "http": 80}
_UNAUTHORIZED = 401


class Sender:
    """Sends the requests of the transport, and raises the error of an unsuccessful response."""

    def __init__(
        self, config: Config, *, limits: HTTPLimits | None = None, timeouts: Timeouts | None = None, retries: Retries
    ) -> None:
        address = ServerAddress.parse(config.url)
        self._prefix = address.prefix
        self._host = f"{address.host}:{address.port}"
        self._config = config
        self._retries = retries
        self._random = Random()  # noqa: S311 - spreads waits, hides nothing
        self._trust = Trust(config) if address.secure else None
        self._material: Material | None = None
        self._authorization: tuple[tuple[str, str], ...] = ()
        self._metrics = rest_client_metrics(self._host)
        self._client = HTTPClient(
            address.host,
            address.port,
            ssl=self._trust.renew(None) if self._trust is not None else None,
            route=ServerRoute(config.tls_server_name, proxy=proxy_of(config.proxy_url) if config.proxy_url else None),
            limits=limits,
            timeouts=timeouts,
            observer=self._metrics,
        )

    async def request(self, sent: EncodedRequest, before_send: Callable[[], None] | None = None) -> ClientResponse:
        """Send a request and return its answer; raises the error that it stands for.

        `before_send` is called right before each attempt is written, and refuses it by raising.
        """
        if self._metrics is None:
            return await self._attempts(sent, before_send)
        time = asyncio.get_running_loop().time
        started = time()
        try:
            return await self._attempts(sent, before_send)
        finally:
            self._metrics.done(sent.method, time() - started)

    async def _attempts(self, sent: EncodedRequest, before_send: Callable[[], None] | None) -> ClientResponse:
        time = asyncio.get_running_loop().time
        deadline, attempt, renewed = time() + self._retries.total, 0, False
        while True:
            material = await self._prepare()
            pause: float | None
            try:
                answer = await self._once(sent, before_send, again=attempt > 0)
            except ConnectionLost as error:
                pause = self._retries.after_loss(sent.method, error, attempt, self._random)
                if pause is None:
                    raise
            else:
                if answer.status < 300:
                    return answer
                if answer.status == _UNAUTHORIZED and not renewed and await self._renew_credentials(material):
                    renewed = True
                    continue
                refusal = error_of(sent, answer.status, answer.headers, answer.body)
                wait = refusal.retry_after_seconds if "retry-after" in answer.headers else 0
                pause = self._retries.after_answer(sent.method, answer.status, wait, attempt, self._random)
                if pause is None or time() + pause > deadline:
                    raise refusal
            attempt += 1
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def stream(self, sent: EncodedRequest) -> AsyncIterator[Stream]:
        """Send a request whose answer is read as a stream. It is not retried: the consumer opens a new stream."""
        async with AsyncExitStack() as stack:
            for last in (False, True):
                material = await self._prepare()
                stream = await stack.enter_async_context(self._open_stream(sent))
                if stream.status < 300:
                    break
                body = await stream.read()
                if last or stream.status != _UNAUTHORIZED or not await self._renew_credentials(material):
                    raise error_of(sent, stream.status, stream.headers, body)
                await stack.aclose()
            yield stream

    async def close(self) -> None:
        await self._client.close()

    async def _prepare(self) -> Material:
        """Get the credentials, and use them from now on."""
        material = await self._config.credentials.material()
        if material is not self._material:
            self._check(material.token)
            self._material = material
            self._authorization = (("authorization", f"Bearer {material.token}"),) if material.token else ()
        if self._trust is not None and (context := self._trust.renew(material.certificate)) is not None:
            self._client.renew(context)
        return material

    def _check(self, token: str) -> None:
        if not is_header_value(token):
            where = f"{self._config.source}: " if self._config.source else ""
            raise NoCredentials(
                f"{where}the token has a line break, or another character that a header cannot have, and was not sent: "
                "pass it without surrounding whitespace (token.strip() removes the end of a line)"
            )

    async def _renew_credentials(self, material: Material) -> bool:
        """Get other credentials after a 401, and return whether there are any. The request may be sent again."""
        self._config.credentials.invalidate(material)
        return await self._config.credentials.material() != material

    async def _once(
        self, sent: EncodedRequest, before_send: Callable[[], None] | None, *, again: bool
    ) -> ClientResponse:
        answer: ClientResponse | None = None
        try:
            answer = await self._client.request(
                sent.method, self._target(sent), self._headers(sent), sent.body, before_send=before_send
            )
            self._count(str(answer.status), sent)
        except ConnectionLost:
            self._count("<error>", sent)
            raise
        finally:
            if self._metrics is not None:
                self._measure(self._metrics, sent, answer, again=again)
        return answer

    @asynccontextmanager
    async def _open_stream(self, sent: EncodedRequest) -> AsyncIterator[Stream]:
        async with AsyncExitStack() as stack:
            try:
                opening = self._client.stream(sent.method, self._target(sent), self._headers(sent))
                stream = await stack.enter_async_context(opening)
            except ConnectionLost:
                self._count("<error>", sent)
                raise
            self._count(str(stream.status), sent)
            yield stream

    def _target(self, sent: EncodedRequest) -> str:
        return self._prefix + sent.target

    def _headers(self, sent: EncodedRequest) -> tuple[tuple[str, str], ...]:
        return sent.headers + self._authorization + self._config.headers

    def _count(self, code: str, sent: EncodedRequest) -> None:
        REQUESTS.labels(code, sent.method, self._host).inc()

    @staticmethod
    def _measure(
        metrics: RestClientMetrics, sent: EncodedRequest, answer: ClientResponse | None, *, again: bool
    ) -> None:
        metrics.sent(sent.method, len(sent.body))
        if answer is not None:
            metrics.received(sent.method, len(answer.body))
        if again:
            metrics.retried(str(answer.status) if answer is not None else "<error>", sent.method)


def error_of(sent: EncodedRequest, code: int, headers: Headers, body: bytes) -> ApiError:
    """The error of an answer."""
    asked = f"{sent.method} {sent.target.partition('?')[0]}"
    return wire.error(code, body, asked=asked, retry_after=headers.get("retry-after"))


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A URL taken apart."""

    secure: bool
    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, url: str) -> ServerAddress:
        try:
            parts = urlsplit(url)
            port = parts.port or _PORTS.get(parts.scheme, 0)
        except ValueError as error:
            raise _bad_url(url, str(error)) from None
        if parts.scheme not in _PORTS:
            raise _bad_url(url, "it must begin with https:// or http://")
        if not parts.hostname:
            raise _bad_url(url, "it names no host")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise _bad_url(url, "it must have neither user, query nor fragment")
        return cls(parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/"))


def proxy_of(url: str) -> Proxy:
    """A proxy by its URL, `http://host:port` with user and password if need be."""
    shown = url.rpartition("@")[2]
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS["http"]
    except ValueError:
        # The reason may have a part of the password.
        why = "its port must be a number; write /, ? and @ in a user or a password as %2F, %3F and %40"
        raise InvalidDefinition(f"{shown!r} is not the URL of a proxy: {why}") from None
    if parts.scheme != "http" or not parts.hostname:
        raise InvalidDefinition(
            f"the proxy {shown!r} is not supported: use http://host:port (TLS to the API server "
            "runs inside the proxied connection); for SOCKS, put an HTTP proxy in front, or use a tunnel"
        )
    secret = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    known = f"Basic {base64.b64encode(secret.encode()).decode()}" if parts.username else ""
    return Proxy(parts.hostname, port, known)


def _bad_url(url: str, why: str) -> InvalidDefinition:
    return InvalidDefinition(f"{without_secrets(url)!r} is not the URL of an API server: {why}")
