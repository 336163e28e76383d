"""Sockets of a server: one that listens, and accepted ones under a protocol."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from pilotage.errors import InvalidDefinition

if TYPE_CHECKING:
    import asyncio  # loaded on use: what only formats an address may be in a program without an event loop
    import ssl as tls

_BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """A listening TCP socket. `host` "" is every address of this machine, `port` 0 a free one."""
    if host == "" and socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def parse_bind_address(text: str) -> tuple[str, int] | None:
    """Host and port of a bind address; None for "" and "0", which mean that nothing is served."""
    if text in ("", "0"):
        return None
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535 or (":" in host and not bracketed):
        raise InvalidDefinition(
            f"{text[:100]!r} is not a bind address: use HOST:PORT, :PORT for every address, or 0 for none"
        )
    return (host[1:-1] if bracketed else host, int(port))


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return socket.inet_pton(socket.AF_INET, host)[0] == 127
    except OSError:
        return host == "::1"


def address_text(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def connect_protocol(
    accepted: socket.socket,
    protocol: asyncio.BaseProtocol,
    ssl: tls.SSLContext | None,
    handshake_seconds: float,
    shutdown_seconds: float,
) -> None:
    """Connect an accepted socket to its protocol, after the TLS handshake if there is a context.

    `shutdown_seconds` is how long the peer may take to end TLS when the connection is closed.
    """
    import asyncio

    if accepted.family != socket.AF_UNIX:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    await asyncio.get_running_loop().connect_accepted_socket(
        lambda: protocol,
        accepted,
        ssl=ssl,
        ssl_handshake_timeout=handshake_seconds if ssl else None,  # without TLS asyncio accepts None only
        ssl_shutdown_timeout=shutdown_seconds if ssl else None,
    )
