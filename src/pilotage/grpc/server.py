"""A gRPC server: accepts connections, knows who they are, holds to the limits, and leaves nothing running behind."""

from __future__ import annotations

import asyncio
import socket
import ssl as tls
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from pilotage.errors import PilotageError
from pilotage.grpc.acceptor import Acceptor
from pilotage.grpc.calls import routes
from pilotage.grpc.frames import ErrorCode
from pilotage.grpc.options import ServerOptions
from pilotage.grpc.peers import Account, Accounts, peer_of
from pilotage.grpc.refusals import RefusedConnections
from pilotage.grpc.rpc import Code, Handlers, Peer
from pilotage.grpc.serverlink import LOST_AT_ONCE, ServerLink, Shared
from pilotage.telemetry.logs import logger

log = logger("pilotage.grpc")

Admit = Callable[[Peer], None]
"""Raises a PilotageError for who may not connect."""

_SAID_EVERY = 60.0
_FLUSH = 1.0
_BACKLOG = 128


def everybody(peer: Peer) -> None:
    """Admits all who can connect."""


@asynccontextmanager
async def serve(
    handlers: Handlers,
    *,
    sock: socket.socket | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    ssl: tls.SSLContext | None = None,
    options: ServerOptions | None = None,
    admit: Admit = everybody,
) -> AsyncIterator[Listening]:
    """Serve for the length of the block: on a listening socket, which stays the caller's, or on a host and a port.

    At the end no more is accepted, running calls have `options.grace_seconds`, and streams end with UNAVAILABLE.
    """
    if ssl is not None:
        ssl.set_alpn_protocols(["h2"])
    own = None if sock is not None else _listen(host, port)
    heard = sock or own
    assert heard is not None
    listening = Listening(handlers, heard, ssl, options or ServerOptions(), admit)
    try:
        listening._open()
        yield listening
    finally:
        try:
            await listening.drain(listening.options.grace_seconds)
        finally:
            listening._close()
            if own is not None:
                own.close()


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a server holds now and has done so far."""

    connections: int
    streams: int
    """Calls that are open now, watches among them."""
    accepted: int
    refused: int
    """Connections closed at once: not admitted, or too many."""
    cut: int
    """Connections ended for what their client did."""
    sent_frames: int
    """DATA frames and headers."""
    calls: Mapping[Code, int]
    """Calls that are over, by how they ended."""


class _Refusal(NamedTuple):
    code: ErrorCode
    text: str


class Listening:
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
        self._links = self._shared.links
        self._tasks: set[asyncio.Task[None]] = set()
        self._acceptor = Acceptor(self._loop, listener, self._take)
        self._farewells = RefusedConnections(self._loop, self._acceptor.spend)
        self._sweeping: asyncio.TimerHandle | None = None
        self._tick = _tick(options)
        self._stopping = False
        self._accepted = 0
        self._refused = 0

    @property
    def connections(self) -> int:
        return len(self._tasks)

    def statistics(self) -> Statistics:
        return Statistics(
            connections=len(self._tasks),
            streams=sum(len(link.streams) for link in self._links),
            accepted=self._accepted,
            refused=self._refused,
            cut=self._shared.cut,
            sent_frames=self._shared.sent_frames + sum(link.sent_frames for link in self._links),
            calls=dict(self._shared.calls),
        )

    async def drain(self, grace: float) -> None:
        """Stop: refuse who comes, end the streams, let running calls finish within `grace`, close."""
        self._stopping = True
        for link in self._links:
            link.stop()
        await _within(grace, {task for link in self._links for task in link.running})
        for task in [task for link in self._links for task in link.running]:
            task.cancel()  # which tells the caller UNAVAILABLE
        await _within(grace, {task for link in self._links for task in link.running})
        for link in list(self._links):
            link.depart("the server is shutting down")
        await _within(_FLUSH, set(self._tasks))
        for link in list(self._links):
            link.abort("the server has stopped")
        for task in list(self._tasks):
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _open(self) -> None:
        self._acceptor.open()
        self._sweep()

    def _close(self) -> None:
        """Before the socket goes: the loop still listens on it."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._farewells.close()
        self._acceptor.close()

    def _take(self, accepted: socket.socket) -> bool:
        """Whether this one is served."""
        now = self._loop.time()
        try:
            peer = peer_of(accepted)
        except OSError:  # gone already
            accepted.close()
            return False
        account = self._accounts.of(peer, now)
        refusal = self._refusal(peer, account, now)
        if refusal is not None:
            self._dismiss(accepted, refusal)
            self._refused += 1
            self._say(account, "refused a connection", peer, refusal.text)
            return False
        self._accepted += 1
        account.connected(peer.pid)
        task = self._loop.create_task(self._serve(accepted, peer, account), name="grpc connection")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def _refusal(self, peer: Peer, account: Account, now: float) -> _Refusal | None:
        """Why this one may not connect; None where it may."""
        options = self.options
        if self._stopping:
            return _Refusal(ErrorCode.NO_ERROR, "the server is shutting down")
        if len(self._tasks) >= options.connections:
            return _Refusal(ErrorCode.ENHANCE_YOUR_CALM, f"there are {options.connections} connections already")
        if account.connections >= options.connections_per_uid:
            text = f"this user has {options.connections_per_uid} connections already"
            return _Refusal(ErrorCode.ENHANCE_YOUR_CALM, text)
        if peer.pid and account.processes[peer.pid] >= options.process_share:
            text = f"this process has {options.process_share} connections already"
            return _Refusal(ErrorCode.ENHANCE_YOUR_CALM, text)
        if account.connects is not None and account.connects.take(now) is None:
            text = f"this user connects more than {options.connects_per_second:g} times a second"
            return _Refusal(ErrorCode.ENHANCE_YOUR_CALM, text)
        try:
            self._admit(peer)
        except PilotageError as error:
            return _Refusal(ErrorCode.INADEQUATE_SECURITY, str(error) or "not admitted")
        except Exception:  # who cannot be checked does not come in, and the next one is still heard
            log.exception("cannot tell whether a connection may be admitted", uid=peer.uid, peer=peer.address)
            return _Refusal(ErrorCode.INADEQUATE_SECURITY, "whether it may be admitted cannot be told")
        return None

    def _dismiss(self, accepted: socket.socket, refusal: _Refusal) -> None:
        if self._ssl is None:
            self._farewells.say(accepted, refusal.code, refusal.text)
        else:  # nothing can be said before a handshake
            accepted.close()

    async def _serve(self, accepted: socket.socket, peer: Peer, account: Account) -> None:
        link = ServerLink(self._loop, self._shared, peer, account)
        self._links.add(link)
        try:
            await self._connect(link, accepted)
            await link.closed
        except (OSError, tls.SSLError) as error:  # a failed or slow TLS handshake, or gone already
            log.debug("a connection ended before its first call", peer=peer.address, error=str(error))
        finally:
            self._links.discard(link)
            self._shared.sent_frames += link.sent_frames
            account.left(peer.pid)
            if link.blame:
                self._say(account, "cut a connection", peer, link.blame)
            link.abort("the connection's task ended")
            await _ended(link.running)
            if link.connected:
                await link.closed
            else:
                accepted.close()

    async def _connect(self, link: ServerLink, accepted: socket.socket) -> None:
        if accepted.family != socket.AF_UNIX:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._ssl is None:
            await self._loop.connect_accepted_socket(lambda: link, accepted)
            return
        await self._loop.connect_accepted_socket(
            lambda: link,
            accepted,
            ssl=self._ssl,
            ssl_handshake_timeout=self.options.handshake_seconds,
            ssl_shutdown_timeout=_FLUSH,
        )

    def _say(self, account: Account, what: str, peer: Peer, why: str) -> None:
        now = self._loop.time()
        if now - account.said >= _SAID_EVERY:
            account.said = now
            log.warning(what, why=why, uid=peer.uid, gid=peer.gid, pid=peer.pid, peer=peer.address)

    def _sweep(self) -> None:
        """One timer looks at all deadlines: setting one costs a call nothing."""
        now = self._loop.time()
        for link in list(self._links):
            link.check(now)
        self._farewells.sweep()
        self._sweeping = self._loop.call_later(self._tick, self._sweep)


async def _within(seconds: float, tasks: set[asyncio.Task[None]]) -> None:
    if tasks:
        await asyncio.wait(tasks, timeout=seconds)


async def _ended(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel what runs, a few in a turn, and wait for it."""
    for place, task in enumerate(list(tasks), 1):
        task.cancel()
        if place % LOST_AT_ONCE == 0:
            await asyncio.sleep(0)
    while tasks:
        await asyncio.wait(set(tasks))


def _tick(options: ServerOptions) -> float:
    """How often to look at deadlines: often enough for the shortest, and no more than a second late."""
    seconds = (options.handshake_seconds, options.request_seconds, options.stall_seconds)
    optional = (options.idle_seconds, options.keepalive_seconds, options.keepalive_timeout)
    return min(1.0, max(0.01, min(*seconds, *(each for each in optional if each)) / 4))


def _address(listener: socket.socket) -> str | tuple[str, int]:
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return str(name)
    return str(name[0]), int(name[1])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)
