"""Sockets of a server: one that listens, and accepted ones under a protocol."""

from __future__ import annotations

import asyncio
import socket
import ssl as tls
from dataclasses import dataclass

_BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class TLSOptions:
    """TLS of accepted connections; without a context they are not encrypted."""

    context: tls.SSLContext | None
    handshake_seconds: float
    shutdown_seconds: float


def listen(host: str, port: int) -> socket.socket:
    """A listening TCP socket. `host` "" is every address of this machine, `port` 0 a free one."""
    if host == "" and socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


async def connect_protocol(accepted: socket.socket, protocol: asyncio.BaseProtocol, options: TLSOptions) -> None:
    """Connect an accepted socket to its protocol, after the TLS handshake where there is one."""
    if accepted.family != socket.AF_UNIX:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    loop = asyncio.get_running_loop()
    if options.context is None:  # asyncio refuses the time-outs of TLS without a context
        await loop.connect_accepted_socket(lambda: protocol, accepted)
        return
    await loop.connect_accepted_socket(
        lambda: protocol,
        accepted,
        ssl=options.context,
        ssl_handshake_timeout=options.handshake_seconds,
        ssl_shutdown_timeout=options.shutdown_seconds,
    )
