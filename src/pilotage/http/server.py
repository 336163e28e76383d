"""A server of HTTP/1.1: accepts connections, watches their deadlines, and leaves nothing running behind."""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl as tls
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from math import inf

from pilotage.http.connection import Phase, ServerConnection, Shared
from pilotage.http.limits import Limits
from pilotage.http.messages import Authenticate, Handler
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
    server = Server(shared, _listen(host, port), ssl)
    accepting = asyncio.create_task(server._accept(), name=f"http accept {server.port}")
    try:
        yield server
    finally:
        accepting.cancel()
        grace = 0.0  # for who cancels us already while we wait here
        try:
            await asyncio.wait([accepting])  # before its socket goes: the loop still listens on it
            grace = shared.limits.grace_seconds
        finally:
            await server._close(grace)


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
        self._listener = listener
        self._ssl = ssl
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: dict[ServerConnection, None] = {}  # in the order they came
        self._room = asyncio.Event()
        self._tick = _tick(shared.limits)
        self._sweeping: asyncio.TimerHandle | None = None

    @property
    def port(self) -> int:
        return self.address[1]

    def statistics(self) -> ServerStatistics:
        shared = self._shared
        return ServerStatistics(
            len(self._tasks), len(shared.strangers), shared.requests, shared.refused, shared.cut, shared.held
        )

    async def _accept(self) -> None:
        logged = -inf
        while True:
            await self._make_room()
            try:
                accepted, _ = await self._loop.sock_accept(self._listener)
            except OSError as error:  # mostly: out of file descriptors
                if self._loop.time() - logged > _LOG_EVERY:
                    logged = self._loop.time()
                    log.warning("Cannot accept connections, retrying", seconds=_ACCEPT_PAUSE, error=error)
                self._make_way()
                await asyncio.sleep(_ACCEPT_PAUSE)
                continue
            self._start(accepted)
            await asyncio.sleep(0)  # accepting returns at once while more wait: let the accepted ones have their turn

    async def _make_room(self) -> None:
        """Wait until another connection is allowed, closing idle ones if need be."""
        while len(self._tasks) >= self._shared.limits.connections:
            self._room.clear()
            self._make_way()
            with suppress(TimeoutError):
                async with asyncio.timeout(_ACCEPT_PAUSE):
                    await self._room.wait()

    def _start(self, accepted: socket.socket) -> None:
        strangers = self._shared.strangers
        if len(strangers) >= self._shared.limits.strangers:
            self._drop_oldest_stranger()
        connection = ServerConnection(self._shared, self._loop)
        task = self._loop.create_task(self._serve(connection, accepted), name="http connection")
        strangers[connection] = task
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)

    async def _serve(self, connection: ServerConnection, accepted: socket.socket) -> None:
        try:
            _tune(accepted, self._shared.limits)
            await self._connect(connection, accepted)
        except (OSError, tls.SSLError) as error:  # a failed or slow handshake, or gone already
            log.debug("Connection closed before its first request", error=error)
            return
        finally:
            if connection.phase is Phase.NEW:
                self._shared.strangers.pop(connection, None)
                accepted.close()
        self._connections[connection] = None
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(self._tick, self._sweep)
        try:
            await connection.run()
        finally:
            self._shared.strangers.pop(connection, None)
            del self._connections[connection]

    async def _connect(self, connection: ServerConnection, accepted: socket.socket) -> None:
        if self._ssl is None:
            await self._loop.connect_accepted_socket(lambda: connection, accepted)
            return
        limits = self._shared.limits
        await self._loop.connect_accepted_socket(
            lambda: connection,
            accepted,
            ssl=self._ssl,
            ssl_handshake_timeout=limits.handshake_seconds,
            ssl_shutdown_timeout=limits.linger_seconds,
        )

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.set()
        if task.cancelled():
            return
        try:
            task.result()
        except Exception:
            log.exception("Connection task failed")

    def _sweep(self) -> None:
        """One timer looks at all deadlines: setting one costs a connection nothing."""
        self._sweeping = None
        now = self._loop.time()
        for connection in [each for each in self._connections if each.deadline <= now]:
            connection.expire(now)
        if self._connections:
            self._sweeping = self._loop.call_later(self._tick, self._sweep)

    def _make_way(self) -> None:
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
        before = self._loop.time() - _ACCEPT_PAUSE  # a new client gets time to send its request
        idle = [each for each in self._connections if each.phase is Phase.IDLE and each.idle_since <= before]
        if idle:
            min(idle, key=lambda each: each.idle_since).finish()

    async def _close(self, grace: float) -> None:
        self._listener.close()
        self._shared.closing = True
        for connection in list(self._connections):
            connection.finish()
        try:
            await self._drain(grace)
        finally:
            for task in self._tasks:
                task.cancel()
            while self._tasks:
                await asyncio.wait(self._tasks)
            if self._sweeping is not None:
                self._sweeping.cancel()

    async def _drain(self, seconds: float) -> None:
        """Wait for running requests; what is no request (yet, or any more) is waited for only a moment."""
        moment = min(_CLOSING_SECONDS, seconds)
        await self._wait(moment)
        for connection, task in list(self._shared.strangers.items()):
            if connection.phase is Phase.NEW:  # it still shakes hands
                task.cancel()
        for connection in self._connections:
            if connection.phase is not Phase.HANDLING:
                connection.abort()
        await self._wait(seconds - moment)

    async def _wait(self, seconds: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)


_ACCEPT_PAUSE = 0.1
_SPARED_STRANGERS = 8  # who has just come: ending these too would keep every newcomer out
_CLOSING_SECONDS = 0.5  # for the goodbyes of TLS, and for a request of which only a part has arrived
_LOG_EVERY = 60.0
_BACKLOG = 1024
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


def _tick(limits: Limits) -> float:
    """How often to look at deadlines: often enough for the shortest, and no more than a second late."""
    shortest = min(
        limits.header_seconds,
        limits.body_seconds,
        limits.idle_seconds,
        limits.write_stall_seconds,
        limits.linger_seconds,
    )
    return min(1.0, max(0.005, shortest / 4 if shortest < inf else 1.0))


def _tune(accepted: socket.socket, limits: Limits) -> None:
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        # else the kernel takes megabytes for a client that does not read, and shows its progress only in such lumps
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_SHARE * limits.write_buffer_bytes)


def _listen(host: str, port: int) -> socket.socket:
    if host == "" and socket.has_dualstack_ipv6():
        listener = socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    else:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    listener.setblocking(False)
    return listener
