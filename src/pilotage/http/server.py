"""A server of HTTP/1.1: accepts connections, watches their deadlines, and leaves nothing running behind."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl as tls
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from pilotage.http.connection import Phase, ServerConnection, Shared
from pilotage.http.limits import Limits
from pilotage.http.messages import Authenticate, Handler
from pilotage.net.acceptor import Acceptor
from pilotage.net.connectiontasks import ConnectionTasks, DrainStep
from pilotage.net.sockets import TLSOptions, connect_protocol, listen
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
    limits: Limits | None = None,
    authenticate: Authenticate | None = None,
) -> AsyncIterator[Server]:
    """Serve `handler` for the length of the block. `host` "" is every address; `port` 0 takes a free one.

    `authenticate` is asked about each connection when the head of a request has arrived: a client that it does not
    know has narrower limits (`limits.strangers`). The handler still decides what each request may do. Without it, a
    client is known once it has sent a whole request.

    At the end no more connections are accepted, endless streams (watches) are ended, running requests have
    `limits.grace_seconds` to finish, and what is left is cut.
    """
    shared = Shared(handler, _within_descriptors(limits or Limits()), authenticate)
    with listen(host, port) as listener:
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
    """What a server holds now and has done so far."""

    connections: int
    strangers: int
    """Of these, the ones that have not authenticated yet."""
    requests: int
    refused: int
    """Answers the server gave by itself: malformed or oversized requests, failed handlers, too much at once."""
    cut: int
    """Connections ended by a deadline, or as the oldest of too many strangers."""
    body_bytes: int
    """Bodies being read or handled."""


class Server:
    """A running server; made by `serve`."""

    def __init__(self, shared: Shared, listener: socket.socket, ssl: tls.SSLContext | None) -> None:
        self._shared = shared
        host, port = listener.getsockname()[:2]
        self.address: tuple[str, int] = (host, port)
        """Where the server listens."""
        limits = shared.limits
        self._tls = TLSOptions(ssl, limits.handshake_seconds, limits.linger_seconds)
        self._loop = asyncio.get_running_loop()
        self._connections: dict[ServerConnection, None] = {}  # in the order of their arrival
        self._acceptor = Acceptor(self._loop, listener, self._start, has_room=self._has_room, make_room=self._make_room)
        self._tasks = ConnectionTasks(self._loop, on_end=self._acceptor.resume)
        self._sweeper = Sweeper(self._loop, _sweep_interval(limits), self._sweep)

    @property
    def port(self) -> int:
        return self.address[1]

    def statistics(self) -> ServerStatistics:
        shared = self._shared
        return ServerStatistics(
            len(self._tasks), len(shared.strangers), shared.requests, shared.refused, shared.cut, shared.held
        )

    def _has_room(self) -> bool:
        return len(self._tasks) < self._shared.limits.connections

    def _start(self, accepted: socket.socket) -> bool:
        strangers = self._shared.strangers
        if len(strangers) >= self._shared.limits.strangers:
            self._drop_oldest_stranger()
        connection = ServerConnection(self._shared, self._loop)
        strangers[connection] = self._tasks.start(self._serve(connection, accepted), name="http connection")
        return True

    async def _serve(self, connection: ServerConnection, accepted: socket.socket) -> None:
        try:
            _limit_unsent(accepted, self._shared.limits)
            await connect_protocol(accepted, connection, self._tls)
        except (OSError, tls.SSLError) as error:  # a failed or slow handshake, or gone already
            log.debug("Connection closed before its first request", error=error)
            return
        finally:
            if connection.phase is Phase.NEW:
                self._shared.strangers.pop(connection, None)
                accepted.close()
        self._connections[connection] = None
        self._sweeper.start()
        try:
            await connection.run()
        finally:
            self._shared.strangers.pop(connection, None)
            del self._connections[connection]

    def _sweep(self, now: float) -> bool:
        for connection in [each for each in self._connections if each.deadline <= now]:
            connection.expire(now)
        return bool(self._connections)

    def _make_room(self) -> None:
        """Close a connection to make room for a new one: a stranger's, else the one that has been idle for longest."""
        if len(self._shared.strangers) > _SPARED_STRANGERS:
            self._drop_oldest_stranger()
        else:
            self._close_longest_idle()

    def _drop_oldest_stranger(self) -> None:
        connection, task = next(iter(self._shared.strangers.items()))
        del self._shared.strangers[connection]
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
        try:
            await self._tasks.drain(
                DrainStep(self._finish, moment),
                DrainStep(self._abort_without_request, grace - moment),
            )
        finally:
            self._sweeper.stop()

    def _finish(self) -> None:
        for connection in list(self._connections):
            connection.finish()

    def _abort_without_request(self) -> None:
        """Only running requests are waited for to the end of the grace period."""
        for connection, task in list(self._shared.strangers.items()):
            if connection.phase is Phase.NEW:  # in its TLS handshake
                task.cancel()
        for connection in self._connections:
            if connection.phase is not Phase.HANDLING:
                connection.abort()


_REQUEST_SECONDS = 0.1  # for the first request of a new connection, before it counts as idle
_SPARED_STRANGERS = 8  # who has just come: ending these too would keep every newcomer out
_CLOSING_SECONDS = 0.5  # for the goodbyes of TLS, and for a request of which only a part has arrived
_UNSENT_SHARE = 4  # of the buffer of an answer, what the kernel may hold unsent besides


def _within_descriptors(limits: Limits) -> Limits:
    """The limits as far as this process may open files: some are left for the storage, logs and outgoing calls."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        return limits
    return replace(
        limits,
        connections=max(1, min(limits.connections, descriptors * 3 // 4)),
        strangers=max(1, min(limits.strangers, descriptors // 4)),
    )


def _sweep_interval(limits: Limits) -> float:
    return sweep_interval(
        limits.header_seconds,
        limits.body_seconds,
        limits.idle_seconds,
        limits.write_stall_seconds,
        limits.linger_seconds,
    )


def _limit_unsent(accepted: socket.socket, limits: Limits) -> None:
    """Without this the kernel buffers megabytes for a client that does not read, and reports its progress rarely."""
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_SHARE * limits.write_buffer_bytes)
