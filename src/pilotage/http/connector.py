"""Opens connections to a server: TCP with its options, a proxy, TLS."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl as tls
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from pilotage.errors import ConnectionLost
from pilotage.http.exchange import ClientConnection
from pilotage.http.limits import HTTPLimits, Timeouts
from pilotage.net.sockets import address_text


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy that opens tunnels (CONNECT)."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)
    """The value of Proxy-Authorization; empty: none is sent."""

    def __str__(self) -> str:
        return address_text(self.host, self.port)


@dataclass(frozen=True, slots=True)
class ServerRoute:
    """How to reach a server through a proxy, under another name than its address, or by a Unix socket."""

    server_hostname: str = ""
    """The name in the certificate of the server; empty: the host."""
    host_header: str = ""
    """The Host header; empty: host and port."""
    proxy: Proxy | None = None
    socket_path: str = ""
    """The path of a Unix socket, to which the client connects in place of host and port."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server."""

    host: str
    port: int
    ssl: tls.SSLContext | None = None
    server_hostname: str = ""
    """The name in the certificate, if it is not `host`."""
    proxy: Proxy | None = None
    socket_path: str = ""
    """The path of a Unix socket; empty: a connection over TCP."""

    def __str__(self) -> str:
        return self.socket_path or address_text(self.host, self.port)

    def host_header(self) -> str:
        """The Host header, without the default port of the scheme."""
        usual = 80 if self.ssl is None else 443
        text = address_text(self.host, self.port)
        return text.rpartition(":")[0] if self.port == usual else text


async def connect(
    address: Address, limits: HTTPLimits, timeouts: Timeouts, resolved: Callable[[float], None] | None = None
) -> ClientConnection:
    """Open a connection. Raises ConnectionLost (with `sent` False) if that fails or takes too long.

    `resolved` receives how many seconds the lookup of the name has taken.
    """
    loop = asyncio.get_running_loop()
    connection = ClientConnection(limits, loop)
    step = f"no connection within {timeouts.connect} s"
    try:
        async with asyncio.timeout(timeouts.connect):
            if resolved is not None and not address.socket_path:
                await _measure_lookup(loop, address, resolved)
            transport = await _open(loop, connection, address)
        if not address.socket_path:
            _tune(transport, timeouts.dead_peer)
        if address.proxy is not None:
            step = f"the proxy {address.proxy} did not connect within {timeouts.connect} s"
            async with asyncio.timeout(timeouts.connect):
                await _open_tunnel(connection, address, address.proxy)
        if address.ssl is not None:
            step = f"no TLS handshake within {timeouts.handshake} s"
            secured = await loop.start_tls(
                transport,
                connection,
                address.ssl,
                server_hostname=address.server_hostname or address.host,
                ssl_handshake_timeout=timeouts.handshake,
                ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
            )
            if secured is None:
                raise ConnectionResetError("the server closed the connection")
            connection.connection_made(secured)
    except OSError as error:  # what name lookup, sockets, TLS and time-outs raise
        connection.abort()
        reason = step if isinstance(error, TimeoutError) and not error.args else _reason(error) or step
        raise ConnectionLost(f"cannot connect to {address}: {reason}", sent=False) from error
    except BaseException:
        connection.abort()
        raise
    return connection


def _reason(error: OSError) -> str:
    """What happened. asyncio hides a refused connection behind `Connect call failed ('127.0.0.1', 6443)`."""
    if isinstance(error, tls.SSLCertVerificationError) and error.verify_code in _UNKNOWN_AUTHORITY:
        return f"{error}; configure the client with the certificate authority of the server"
    is_refused = isinstance(error, ConnectionRefusedError) and error.errno is not None  # by the system, not by a proxy
    return "Connection refused; does a server listen there?" if is_refused else str(error)


_UNKNOWN_AUTHORITY = {18, 19, 20, 21}
"""OpenSSL's codes for a certificate that no trusted authority has signed."""
_HAPPY_EYEBALLS_SECONDS = 0.25
_SHUTDOWN_SECONDS = 1.0
_KEEPALIVE_PROBES = 3


async def _measure_lookup(loop: asyncio.AbstractEventLoop, address: Address, resolved: Callable[[float], None]) -> None:
    """Look up the name, only for the time that it takes: the loop does not report the time of its own lookup."""
    host, port = _peer(address)
    if _is_address(host):
        return
    started = loop.time()
    with suppress(OSError):  # the loop's own lookup fails, too
        await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    resolved(loop.time() - started)


def _peer(address: Address) -> tuple[str, int]:
    """Where the connection goes: to the server or to its proxy."""
    return (address.host, address.port) if address.proxy is None else (address.proxy.host, address.proxy.port)


async def _open(loop: asyncio.AbstractEventLoop, connection: ClientConnection, address: Address) -> asyncio.Transport:
    if address.socket_path:
        made, _ = await loop.create_unix_connection(lambda: connection, address.socket_path)
        return made
    delay = _HAPPY_EYEBALLS_SECONDS
    host, port = _peer(address)
    if isinstance(loop, asyncio.BaseEventLoop) and not _is_address(host):
        transport, _ = await loop.create_connection(lambda: connection, host, port, happy_eyeballs_delay=delay)
    else:
        # uvloop does not support the delay. With one address there is no race, and asyncio's race leaks the socket if
        # it is cancelled at the moment of the connect.
        transport, _ = await loop.create_connection(lambda: connection, host, port)
    return transport


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _open_tunnel(connection: ClientConnection, address: Address, proxy: Proxy) -> None:
    """Request a tunnel from the proxy; all later bytes on the connection are the server's."""
    lines = [f"CONNECT {address} HTTP/1.1", f"Host: {address}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    try:
        connection.send("CONNECT", "\r\n".join([*lines, "", ""]).encode("ascii"))
        answer = await connection.response()
    except ConnectionLost as lost:
        raise ConnectionRefusedError(f"the proxy {proxy} did not answer: {lost}") from lost
    if not 200 <= answer.status < 300:
        hint = ": it requires a user and password in its URL" if answer.status == 407 else ""
        raise ConnectionRefusedError(f"the proxy {proxy} answered {answer.status}{hint}")
    connection.begin_tunnel()


def _tune(transport: asyncio.Transport, dead_peer: float | None) -> None:
    """Send small writes at once, and detect a dead peer also while nothing is sent."""
    sock: socket.socket = transport.get_extra_info("socket")
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if dead_peer is None:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    probe = max(1, int(dead_peer / (_KEEPALIVE_PROBES + 1)))
    # The kernel checks the user time-out only when it sends a probe: set to a moment before the last probe, because
    # otherwise the connection would fail one interval later.
    unanswered = min(dead_peer, probe * (_KEEPALIVE_PROBES + 1) - 0.5)
    for name, value in (
        ("TCP_KEEPIDLE", probe),
        ("TCP_KEEPINTVL", probe),
        ("TCP_KEEPCNT", _KEEPALIVE_PROBES),
        ("TCP_USER_TIMEOUT", int(unanswered * 1000)),
    ):
        if (option := getattr(socket, name, None)) is not None:  # not every system has all of them
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
