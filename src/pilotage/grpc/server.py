"""A gRPC server: admits connections by their peer and the limits, and drains at the end."""

from __future__ import annotations

import asyncio
import socket
import ssl as tls
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

from pilotage.errors import PilotageError
from pilotage.grpc.calls import routes
from pilotage.grpc.http2.frames import ErrorCode
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.peers import Account, Accounts, peer_of
from pilotage.grpc.refusals import RefusedConnections
from pilotage.grpc.rpc import Code, Handlers, Peer
from pilotage.grpc.serverconnection import CANCELLED_PER_TURN, ServerConnection, Shared
from pilotage.net.acceptor import Acceptor
from pilotage.net.connectiontasks import ConnectionTasks, wait
from pilotage.net.sockets import connect_protocol, listen
from pilotage.net.sweeper import Sweeper, sweep_interval
from pilotage.telemetry.logs import logger

log = logger("pilotage.grpc")

Admit = Callable[[Peer], None]
"""Raises a PilotageError, whose text the client gets, if the peer may not connect."""

_LOG_INTERVAL = 60.0
_FLUSH_SECONDS = 1.0


def admit_all(peer: Peer) -> None:
    """Admit every client that can connect."""


@asynccontextmanager
async def serve(
    handlers: Handlers,
    *,
    sock: socket.socket | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    ssl: tls.SSLContext | None = None,
    options: ServerOptions | None = None,
    admit: Admit = admit_all,
) -> AsyncIterator[Server]:
    """Serve for the length of the block: on a listening socket, which remains the caller's, or on a host and a port.

    At the end new connections are refused, running calls have `options.grace_seconds`, streams end with UNAVAILABLE.
    """
    if ssl is not None:
        ssl.set_alpn_protocols(["h2"])
    with nullcontext(sock) if sock is not None else listen(host, port) as listener:
        server = Server(handlers, listener, ssl, options or ServerOptions(), admit)
        try:
            server._acceptor.open()
            yield server
        finally:
            try:
                await server.drain(server.options.grace_seconds)
            finally:
                server._close()


@dataclass(frozen=True, slots=True)
class Statistics:
    """The current state of a server, and its counters."""

    connections: int
    streams: int
    """Open calls, including watches."""
    accepted: int
    refused: int
    """Connections that were not admitted, or were too many."""
    cut: int
    """Connections closed for a violation by the client."""
    sent_frames: int
    """DATA frames and header blocks."""
    calls: Mapping[Code, int]
    """Finished calls, by code."""


class _Refusal(NamedTuple):
    code: ErrorCode
    text: str


class Server:
    """A running server; made by `serve`."""

    def __init__(
        self,
        handlers: Handlers,
        listener: socket.socket,
        ssl: tls.SSLContext | None,
        options: ServerOptions,
        admit: Admit,
    ) -> None:
        self.options = options
        self.address: str | tuple[str, int] = _address(listener)
        """A Unix socket's path, or host and port."""
        self._ssl = ssl
        self._admit = admit
        self._shared = Shared(routes(handlers), options)
        self._loop = asyncio.get_running_loop()
        self._accounts = Accounts(options, self._loop)
        self._connections = self._shared.connections
        self._acceptor = Acceptor(self._loop, listener, self._start)
        self._tasks = ConnectionTasks(self._loop)
        self._refusals = RefusedConnections(self._loop, self._acceptor.spend)
        self._sweeper = Sweeper(self._loop, _sweep_interval(options), self._sweep)
        self._stopping = False
        self._accepted = 0
        self._refused = 0

    def statistics(self) -> Statistics:
        return Statistics(
            connections=len(self._tasks),
            streams=sum(len(connection.streams) for connection in self._connections),
            accepted=self._accepted,
            refused=self._refused,
            cut=self._shared.cut,
            sent_frames=self._shared.sent_frames + sum(connection.sent_frames for connection in self._connections),
            calls=dict(self._shared.calls),
        )

    async def drain(self, grace: float) -> None:
        """Refuse new connections and calls, end the streams, wait for running calls at most `grace`, close."""
        self._stopping = True
        async with self._tasks.draining():
            for connection in self._connections:
                connection.stop()
            await wait(self._running(), grace)
            for task in self._running():
                task.cancel()  # the caller gets UNAVAILABLE
            await wait(self._running(), grace)
            for connection in list(self._connections):
                connection.close_gracefully("the server is shutting down")
            await self._tasks.wait(_FLUSH_SECONDS)

    def _running(self) -> set[asyncio.Task[None]]:
        return {task for connection in self._connections for task in connection.running}

    def _close(self) -> None:
        self._sweeper.stop()
        self._refusals.close()
        self._acceptor.close()

    def _start(self, accepted: socket.socket) -> bool:
        """Start to serve a connection, or refuse it."""
        now = self._loop.time()
        try:
            peer = peer_of(accepted)
        except OSError:  # the client has closed it
            accepted.close()
            return False
        self._sweeper.start()
        account = self._accounts.of(peer, now)
        refusal = self._refusal(peer, account, now)
        if refusal is not None:
            self._refuse(accepted, refusal)
            self._log(account, "Connection refused", peer, refusal.text)
            return False
        self._accepted += 1
        account.add_connection(peer.pid)
        self._tasks.start(self._serve(accepted, peer, account), name="grpc connection")
        return True

    def _refusal(self, peer: Peer, account: Account, now: float) -> _Refusal | None:
        """The reason to refuse this connection; None to serve it."""
        options = self.options
        if self._stopping:
            return _Refusal(ErrorCode.NO_ERROR, "the server is shutting down")
        if len(self._tasks) >= options.connections:
            return _Refusal(ErrorCode.ENHANCE_YOUR_CALM, f"the server has {options.connections} connections, the limit")
        if account.connections >= options.connections_per_uid:
            text = f"this user has {options.connections_per_uid} connections, the limit"
            return _Refusal(ErrorCode.ENHANCE_YOUR_CALM, text)
        if peer.pid and account.processes[peer.pid] >= options.process_share:
            text = f"this process has {options.process_share} connections, the limit"
            return _Refusal(ErrorCode.ENHANCE_YOUR_CALM, text)
        if account.connects is not None and account.connects.take(now) is None:
            text = f"this user connects more than {options.connects_per_second:g} times a second"
            return _Refusal(ErrorCode.ENHANCE_YOUR_CALM, text)
        try:
            self._admit(peer)
        except PilotageError as error:
            return _Refusal(ErrorCode.INADEQUATE_SECURITY, str(error) or "not admitted")
        except Exception:  # a failed check refuses this connection, and must not stop the acceptor
            log.exception("Admission check of a connection failed", uid=peer.uid, peer=peer.address)
            return _Refusal(ErrorCode.INADEQUATE_SECURITY, "the admission check failed; the server's log has the error")
        return None

    def _refuse(self, accepted: socket.socket, refusal: _Refusal) -> None:
        self._refused += 1
        if self._ssl is None:
            self._refusals.refuse(accepted, refusal.code, refusal.text)
        else:  # before a handshake no reason can be sent
            accepted.close()

    async def _serve(self, accepted: socket.socket, peer: Peer, account: Account) -> None:
        connection = ServerConnection(self._loop, self._shared, peer, account)
        self._connections.add(connection)
        try:
            await connect_protocol(accepted, connection, self._ssl, self.options.handshake_seconds, _FLUSH_SECONDS)
            await connection.closed
        except (OSError, tls.SSLError) as error:  # the TLS handshake failed or was too slow, or the client has left
            log.debug("Connection closed before its first call", peer=peer.address, error=error)
        finally:
            self._connections.discard(connection)
            self._shared.sent_frames += connection.sent_frames
            account.remove_connection(peer.pid)
            if connection.violation:
                self._log(account, "Connection closed for a violation", peer, connection.violation)
            connection.abort("the task of the connection ended")
            await _cancel(connection.running)
            if connection.connected:
                await connection.closed
            else:
                accepted.close()

    def _log(self, account: Account, message: str, peer: Peer, reason: str) -> None:
        now = self._loop.time()
        if now - account.logged_at >= _LOG_INTERVAL:
            account.logged_at = now
            log.warning(message, reason=reason, uid=peer.uid, gid=peer.gid, pid=peer.pid, peer=peer.address)

    def _sweep(self, now: float) -> bool:
        for connection in list(self._connections):
            connection.check(now)
        self._refusals.sweep()
        return bool(self._tasks or self._refusals)


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks, a few in a turn of the loop for the sake of other clients, and wait for them."""
    for number, task in enumerate(list(tasks), 1):
        task.cancel()
        if number % CANCELLED_PER_TURN == 0:
            await asyncio.sleep(0)
    while tasks:
        await asyncio.wait(set(tasks))


def _sweep_interval(options: ServerOptions) -> float:
    optional = (options.idle_seconds, options.keepalive_seconds, options.keepalive_timeout)
    return sweep_interval(
        options.handshake_seconds,
        options.request_seconds,
        options.stall_seconds,
        *(seconds for seconds in optional if seconds),  # 0 is never
    )


def _address(listener: socket.socket) -> str | tuple[str, int]:
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return str(name)
    return str(name[0]), int(name[1])
