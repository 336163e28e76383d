"""Opens the connection of a client. Its errors state the reason and what to do."""

from __future__ import annotations

import asyncio
import grp
import os
import socket
import ssl as tls
import stat
from dataclasses import dataclass
from typing import Protocol

from pilotage.errors import ConnectionLost
from pilotage.grpc.clientconnection import ClientConnection
from pilotage.grpc.options import ChannelOptions
from pilotage.net.sockets import address_text

_RETRY_SECONDS = 0.005  # while the accept queue of the server is full


class Endpoint(Protocol):
    """The address of a server: `path` of a Unix socket, or `host` and `port`. Errors contain its `str`."""

    @property
    def path(self) -> str: ...

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Address:
    """A plain `Endpoint`."""

    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return f"unix://{self.path}"
        return address_text(self.host, self.port)


async def connect(endpoint: Endpoint, options: ChannelOptions) -> ClientConnection:
    """Open a connection that is ready for calls. Raises ConnectionLost."""
    loop = asyncio.get_running_loop()
    connection = ClientConnection(loop, options, str(endpoint))
    try:
        async with asyncio.timeout(options.connect_seconds):
            await _open(loop, endpoint, options, connection)
            await connection.ready
    except TimeoutError as error:
        connection.abort("timed out")
        text = f"{endpoint}: the server did not respond within {options.connect_seconds:g} s; check that it is running"
        raise ConnectionLost(text, sent=False, timed_out=True) from error
    except (OSError, tls.SSLError) as error:
        connection.abort("not connected")
        raise ConnectionLost(_failure_text(endpoint, error, options.unreachable_hint), sent=False) from error
    except BaseException:
        connection.abort("cancelled")
        raise
    if connection.gone:
        connection.abort("the server ended the connection")
        raise ConnectionLost(_refused_text(endpoint, connection), sent=False)
    return connection


async def _open(
    loop: asyncio.AbstractEventLoop, endpoint: Endpoint, options: ChannelOptions, connection: ClientConnection
) -> None:
    if endpoint.path:
        await loop.create_unix_connection(lambda: connection, sock=await _unix_socket(endpoint.path))
    elif options.ssl is None:
        await loop.create_connection(lambda: connection, endpoint.host, endpoint.port)
    else:
        options.ssl.set_alpn_protocols(["h2"])
        name = options.server_name or endpoint.host
        await loop.create_connection(
            lambda: connection, endpoint.host, endpoint.port, ssl=options.ssl, server_hostname=name
        )


async def _unix_socket(path: str) -> socket.socket:
    """A connected socket. asyncio takes EAGAIN, which means that the server's accept queue is full, for success."""
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.setblocking(False)
        while True:
            try:
                connected.connect(path)
                return connected
            except BlockingIOError:
                await asyncio.sleep(_RETRY_SECONDS)
    except BaseException:
        connected.close()
        raise


def _failure_text(endpoint: Endpoint, error: OSError, hint: str) -> str:
    hint = f"; {hint}" if hint else ""
    if isinstance(error, tls.SSLCertVerificationError):
        return f"{endpoint}: the server's certificate is not trusted: {error.verify_message}"
    if isinstance(error, tls.SSLError):
        return f"{endpoint}: the TLS handshake failed: {error.reason or error}"
    if isinstance(error, ConnectionResetError) and not error.args:  # asyncio's, in a handshake
        return f"{endpoint}: the server closed the connection in the TLS handshake: it may expect one without TLS"
    if isinstance(error, FileNotFoundError):
        return f"{endpoint}: there is no such socket: the server is not running, or its directory is not mounted{hint}"
    if isinstance(error, PermissionError) and endpoint.path:
        return f"{endpoint}: permission denied: {_owners(endpoint.path)}"
    if isinstance(error, ConnectionRefusedError):
        if endpoint.path and (found := _other_file(endpoint.path)):
            return f"{endpoint}: this is {found} and not a socket: give the path of the server's socket"
        return f"{endpoint}: connection refused: no server listens there{hint}"
    return f"{endpoint}: cannot connect: {error.strerror or error}"


def _other_file(path: str) -> str:
    """What a path is, in words; empty for a socket."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    if stat.S_ISSOCK(mode):
        return ""
    return "a directory" if stat.S_ISDIR(mode) else "a file"


def _owners(path: str) -> str:
    """The owner and mode of a socket, for the error of a process without permission."""
    try:
        info = os.stat(path)
    except OSError:
        folder = os.path.dirname(path)
        return (
            f"this process (uid {os.geteuid()}) has no access to {folder}: run it as a member of the group that owns it"
        )
    try:
        group = grp.getgrgid(info.st_gid).gr_name
    except KeyError:
        group = "no name on this system"
    mode = stat.S_IMODE(info.st_mode)
    return (
        f"the socket belongs to uid {info.st_uid} and gid {info.st_gid} ({group}), mode {mode:04o}, and this process "
        f"is uid {os.geteuid()}: run it as a member of that group (in a pod: supplementalGroups: [{info.st_gid}])"
    )


def _refused_text(endpoint: Endpoint, connection: ClientConnection) -> str:
    if connection.goaway_reason:
        return f"{endpoint}: {connection.goaway_reason}"
    who = f"this process (uid {os.geteuid()}, gid {os.getegid()})" if endpoint.path else "this client"
    return (
        f"{endpoint}: the server closed the connection at once ({connection.lost}): it does not admit {who}, "
        "or has too many connections; see its log"
    )
