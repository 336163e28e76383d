"""An HTTP/1.1 server: accepts connections, checks their deadlines, and drains at the end."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl as tls
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from pilotage.http.connection import Phase, ServerConnection, Shared
from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Authenticate, Handler
from pilotage.net.acceptor import Acceptor
from pilotage.net.connectiontasks import ConnectionTasks
from pilotage.net.sockets import connect_protocol, listen
from pilotage.net.sweeper import Sweeper, sweep_interval
from pilotage.telemetry.logs import logger

log = logger("pilotage.http")


@asynccontextmanager
async def serve(
    handler: Handler,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    ssl: tls.SSLContext | None = None,
    limits: HTTPLimits | None = None,
    authenticate: Authenticate | None = None,
    answers_too_large: bool = False,
) -> AsyncIterator[Server]:
    """Serve `handler` for the length of the block. `host` "" is every address; `port` 0 is a free one.

    `authenticate` is called for a connection with the head of its request: until it returns True, the connection has
    lower limits (`limits.unauthenticated`). It does not replace the authorization of single requests by the handler.
    Without it, the first complete request authenticates a connection.

    A request whose body is larger than `limits.body_bytes` is refused with 413 as plain text. With `answers_too_large`
    the handler answers it, without its body (`HTTPRequest.too_large`), and the connection is closed after that.

    At the end no more connections are accepted, endless streams (watches) are ended, running requests have
    `limits.grace_seconds` to finish, and the remaining connections are closed.
    """
    shared = Shared(handler, _within_descriptors(limits or HTTPLimits()), authenticate, answers_too_large)
    with listen(host, port) as listener:
        async with _serving(shared, listener, ssl) as server:
            yield server


@asynccontextmanager
async def serve_on(
    listener: socket.socket,
    handler: Handler,
    *,
    ssl: tls.SSLContext | None = None,
    limits: HTTPLimits | None = None,
    authenticate: Authenticate | None = None,
    answers_too_large: bool = False,
) -> AsyncIterator[Server]:
    """Serve `handler` on a socket that listens, such as a Unix socket, for the length of the block, as `serve` does.
    The socket is closed at the end."""
    shared = Shared(handler, _within_descriptors(limits or HTTPLimits()), authenticate, answers_too_large)
    async with _serving(shared, listener, ssl) as server:
        yield server


@asynccontextmanager
async def _serving(shared: Shared, listener: socket.socket, ssl: tls.SSLContext | None) -> AsyncIterator[Server]:
    server = Server(shared, listener, ssl)
    server._acceptor.open()
    try:
        yield server
    finally:
        server._acceptor.close()
        listener.close()  # at once: a client that connects while requests are drained must not wait
        await server._close(shared.limits.grace_seconds)


@dataclass(frozen=True, slots=True)
class ServerStatistics:
    """The current state of a server, and its counters."""

    connections: int
    unauthenticated: int
    """Those that have not authenticated yet."""
    requests: int
    refused: int
    """Errors that the server sent by itself: malformed or large requests, failed handlers, overload."""
    cut: int
    """Connections closed by a deadline, or as the oldest of too many unauthenticated ones."""
    body_bytes: int
    """Bodies being read or handled."""


class Server:
    """A running server; made by `serve`."""

    def __init__(self, shared: Shared, listener: socket.socket, ssl: tls.SSLContext | None) -> None:
        self._shared = shared
        name = listener.getsockname()
        self.address: tuple[str, int] = (name, 0) if isinstance(name, str) else name[:2]
        """The host and port on which the server listens; of a Unix socket its path and 0."""
        limits = shared.limits
        self._ssl = ssl
        self._loop = asyncio.get_running_loop()
        self._connections: dict[ServerConnection, None] = {}  # in the order of their arrival
        self._acceptor = Acceptor(
            self._loop,
            listener,
            self._start,
            has_room=lambda: len(self._tasks) < limits.connections,
            make_room=self._make_room,
        )
        self._tasks = ConnectionTasks(self._loop, on_end=self._acceptor.resume)
        self._sweeper = Sweeper(self._loop, _sweep_interval(limits), self._sweep)

    @property
    def port(self) -> int:
        return self.address[1]

    def statistics(self) -> ServerStatistics:
        shared = self._shared
        return ServerStatistics(
            len(self._tasks), len(shared.unauthenticated), shared.requests, shared.refused, shared.cut, shared.held
        )

    def _start(self, accepted: socket.socket) -> bool:
        unauthenticated = self._shared.unauthenticated
        if len(unauthenticated) >= self._shared.limits.unauthenticated:
            self._drop_oldest_unauthenticated()
        connection = ServerConnection(self._shared, self._loop)
        unauthenticated[connection] = self._tasks.start(self._serve(connection, accepted), name="http connection")
        return True

    async def _serve(self, connection: ServerConnection, accepted: socket.socket) -> None:
        try:
            _limit_unsent(accepted, self._shared.limits)
            limits = self._shared.limits
            await connect_protocol(accepted, connection, self._ssl, limits.handshake_seconds, limits.linger_seconds)
        except (OSError, tls.SSLError) as error:  # the TLS handshake failed or was too slow, or the client has left
            log.debug("Connection closed before its first request", error=error)
            return
        finally:
            if connection.phase is Phase.NEW:
                self._shared.unauthenticated.pop(connection, None)
                accepted.close()
        self._connections[connection] = None
        self._sweeper.start()
        try:
            await connection.run()
        finally:
            self._shared.unauthenticated.pop(connection, None)
            del self._connections[connection]

    def _sweep(self, now: float) -> bool:
        for connection in [each for each in self._connections if each.deadline <= now]:
            connection.expire(now)
        return bool(self._connections)

    def _make_room(self) -> None:
        """Close a connection to make room for a new one: an unauthenticated one, else the longest idle one."""
        if len(self._shared.unauthenticated) > _SPARED_UNAUTHENTICATED:
            self._drop_oldest_unauthenticated()
        else:
            self._close_longest_idle()

    def _drop_oldest_unauthenticated(self) -> None:
        connection, task = next(iter(self._shared.unauthenticated.items()))
        del self._shared.unauthenticated[connection]
        self._shared.cut += 1
        task.cancel()

    def _close_longest_idle(self) -> None:
        before = self._loop.time() - _REQUEST_SECONDS
        idle = [each for each in self._connections if each.phase is Phase.IDLE and each.idle_since <= before]
        if idle:
            min(idle, key=lambda each: each.idle_since).finish()

    async def _close(self, grace: float) -> None:
        self._shared.closing = True
        moment = min(_CLOSING_SECONDS, grace)
        async with self._tasks.draining():
            for connection in list(self._connections):
                connection.finish()
            await self._tasks.wait(moment)
            self._abort_without_request()
            await self._tasks.wait(grace - moment)
        self._sweeper.stop()

    def _abort_without_request(self) -> None:
        """Only running requests are waited for to the end of the grace period."""
        for connection, task in list(self._shared.unauthenticated.items()):
            if connection.phase is Phase.NEW:  # in its TLS handshake
                task.cancel()
        for connection in self._connections:
            if connection.phase is not Phase.HANDLING:
                connection.abort()


_REQUEST_SECONDS = 0.1  # for the first request of a new connection, before it counts as idle
_SPARED_UNAUTHENTICATED = 8  # new connections: if these were closed too, no client could ever authenticate
_CLOSING_SECONDS = 0.5  # for the end of TLS, and for a request that has arrived in part
_UNSENT_SHARE = 4  # times the write buffer: what the kernel may buffer unsent


def _within_descriptors(limits: HTTPLimits) -> HTTPLimits:
    """The limits within the process's file descriptors, of which some remain for the storage, logs and the client."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return limits
    return replace(
        limits,
        connections=max(1, min(limits.connections, descriptors * 3 // 4)),
        unauthenticated=max(1, min(limits.unauthenticated, descriptors // 4)),
    )


def _sweep_interval(limits: HTTPLimits) -> float:
    return sweep_interval(
        limits.header_seconds,
        limits.body_seconds,
        limits.idle_seconds,
        limits.write_stall_seconds,
        limits.linger_seconds,
    )


def _limit_unsent(accepted: socket.socket, limits: HTTPLimits) -> None:
    """Without this the kernel buffers megabytes for a client that does not read, and reports its progress rarely."""
    if hasattr(socket, "TCP_NOTSENT_LOWAT") and accepted.family != socket.AF_UNIX:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_SHARE * limits.write_buffer_bytes)
