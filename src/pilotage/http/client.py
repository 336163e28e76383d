"""A client of one HTTP/1.1 server, with a pool of connections."""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from pilotage.errors import ConnectionLost
from pilotage.http.connector import Address, ServerRoute
from pilotage.http.exchange import ClientConnection
from pilotage.http.heads import ResponseHead, check_request_line, header_lines
from pilotage.http.limits import HTTPLimits, Timeouts
from pilotage.http.messages import ClientResponse
from pilotage.http.pool import Pool
from pilotage.http.streams import Stream, read_whole
from pilotage.meta.values import Value

HeaderPairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    """The connections of a client: in use, idle in the pool, and opened so far."""

    busy: int
    idle: int
    opened: int


class ClientObserver(Protocol):
    """Receives what a client does, in seconds."""

    def waited(self, method: str, seconds: float) -> None:
        """How long a request has waited because of `HTTPLimits.concurrent_requests`."""

    def resolved(self, seconds: float) -> None:
        """How long the lookup of the server's name has taken."""


class HTTPClient:
    """Sends requests to one server. No redirects, no cookies, no decompression.

    `request` and `stream` raise ConnectionLost if no complete response arrives. If its `sent` is False, the request
    cannot have reached the server and can be retried safely.

    `route` has a proxy, the names of a server that is reached under another name than its address, or the path of a
    Unix socket. `observer` receives how long requests wait.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        ssl: tls.SSLContext | None = None,
        route: ServerRoute | None = None,
        limits: HTTPLimits | None = None,
        timeouts: Timeouts | None = None,
        observer: ClientObserver | None = None,
    ) -> None:
        self._limits = limits or HTTPLimits()
        self._timeouts = timeouts or Timeouts()
        self._observer = observer
        route = route or ServerRoute()
        address = Address(host, port, ssl, route.server_hostname, route.proxy, route.socket_path)
        resolved = observer.resolved if observer is not None else None
        self._pool = Pool(address, self._limits, self._timeouts, resolved)
        self._host_line = f"Host: {route.host_header or address.host_header()}\r\n".encode("ascii")
        self._turns = asyncio.Semaphore(self._limits.concurrent_requests)
        self._closed = False

    async def __aenter__(self) -> HTTPClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def request(
        self,
        method: str,
        target: str,
        headers: HeaderPairs = (),
        body: bytes = b"",
        *,
        before_send: Callable[[], None] | None = None,
    ) -> ClientResponse:
        """Send a request and read the complete response.

        `before_send` is called right before the first byte is written, on an open connection, and again before a retry.
        If it raises, nothing is sent.
        """
        call = _Call(method, target, self._request_bytes(method, target, headers, body), before_send)
        async with self._turn(method):
            connection, head = await self._exchange(call)
            try:
                return ClientResponse(head.status, head.headers, await self._read_body(connection, call))
            finally:
                self._pool.give_back(connection)

    @asynccontextmanager
    async def stream(
        self, method: str, target: str, headers: HeaderPairs = (), body: bytes = b""
    ) -> AsyncIterator[Stream]:
        """Send a request and read the response as it arrives. The end of the block ends it, complete or not."""
        call = _Call(method, target, self._request_bytes(method, target, headers, body))
        connection, head = await self._exchange(call)
        try:
            yield Stream(connection, head, str(call), self._timeouts)
        finally:
            self._pool.give_back(connection)

    def _turn(self, method: str) -> AbstractAsyncContextManager[None]:
        return self._turns if self._observer is None else self._observed_turn(method, self._observer)

    @asynccontextmanager
    async def _observed_turn(self, method: str, observer: ClientObserver) -> AsyncIterator[None]:
        time = asyncio.get_running_loop().time
        started = time()
        async with self._turns:
            observer.waited(method, time() - started)
            yield

    async def close(self) -> None:
        """Close every connection; running requests fail with ConnectionLost."""
        self._closed = True
        await self._pool.close()

    def renew(self, ssl: tls.SSLContext | None) -> None:
        """Use another TLS context for new connections. Running requests continue; idle connections are closed."""
        self._pool.renew(replace(self._pool.address, ssl=ssl))

    def statistics(self) -> ClientStatistics:
        return ClientStatistics(self._pool.busy, self._pool.idle, self._pool.opened)

    def _request_bytes(self, method: str, target: str, headers: HeaderPairs, body: bytes) -> bytes:
        check_request_line(method, target)
        length = b"Content-Length: %d\r\n" % len(body) if body or method in _WITH_BODY else b""
        line = f"{method} {target} HTTP/1.1\r\n".encode("ascii")
        return b"".join((line, self._host_line, header_lines(headers), length, b"\r\n", body))

    async def _exchange(self, call: _Call) -> tuple[ClientConnection, ResponseHead]:
        """Send on a pooled connection or a new one; retry on a new one if the pooled one was dead and it is safe."""
        if self._closed:
            raise ConnectionLost(f"{call}: the client is closed", sent=False)
        connection = self._pool.take()
        if connection is not None:
            try:
                return connection, await self._send(connection, call)
            except ConnectionLost as lost:
                if self._closed or connection.answered or connection.timed_out or (lost.sent and not call.safe):
                    lost.reused = not connection.answered
                    raise
        try:
            connection = await self._pool.open()
        except ConnectionLost as lost:
            raise ConnectionLost(f"{call}: {lost}", sent=False) from lost
        return connection, await self._send(connection, call)

    async def _send(self, connection: ClientConnection, call: _Call) -> ResponseHead:
        try:
            with connection.deadline(self._timeouts.response):
                if call.before_send is not None:
                    call.before_send()
                connection.send(call.method, call.data)
                return await connection.response()
        except BaseException as error:
            self._pool.give_back(connection)
            if isinstance(error, ConnectionLost):
                unknown = "; whether it took effect is not known" if error.sent and not call.safe else ""
                message = f"{call} to {self._pool.address}: {error}{unknown}"
                raise ConnectionLost(message, sent=error.sent, timed_out=connection.timed_out) from error
            raise

    async def _read_body(self, connection: ClientConnection, call: _Call) -> bytes:
        limit = self._limits.response_bytes
        if connection.complete:
            return await read_whole(connection, limit, str(call))
        with connection.deadline(self._timeouts.body):
            return await read_whole(connection, limit, str(call))


class _Call(Value, frozen=True):
    """An encoded request."""

    __unshown__ = frozenset({"data"})

    method: str
    target: str
    data: bytes
    before_send: Callable[[], None] | None = None

    @property
    def safe(self) -> bool:
        # Not PUT and DELETE: if the first one took effect, the second fails, which looks like a failure of both.
        return self.method in ("GET", "HEAD", "OPTIONS")

    def __str__(self) -> str:
        return f"{self.method} {self.target.partition('?')[0]}"  # a query can contain secrets


_WITH_BODY = ("POST", "PUT", "PATCH")
