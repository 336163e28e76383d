"""A connection opened, and what to do where it cannot be: told in words that help."""

from __future__ import annotations

import asyncio
import grp
import os
import socket
import ssl as tls
import stat
from typing import Protocol

from pilotage.errors import ConnectionLost
from pilotage.grpc.clientlink import ClientLink
from pilotage.grpc.options import ChannelOptions

_QUEUE_FULL = 0.005  # seconds until there may be room in a server's queue of connections
_ELSEWHERE = "name another with NVIDIA_DEVICE_API_TARGET"


class Endpoint(Protocol):
    """Where a server is: `path` of a Unix socket, or `host` and `port`. `str` is what errors call it."""

    @property
    def path(self) -> str: ...

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


async def connect(endpoint: Endpoint, options: ChannelOptions) -> ClientLink:
    """Raises ConnectionLost, which says what to do."""
    loop = asyncio.get_running_loop()
    link = ClientLink(loop, options, str(endpoint))
    try:
        async with asyncio.timeout(options.connect_seconds):
            await _open(loop, endpoint, options, link)
            await link.ready
    except TimeoutError as error:
        link.abort("gave up")
        text = f"{endpoint}: no answer within {options.connect_seconds:g} s: is the server alive?"
        raise ConnectionLost(text, sent=False, timed_out=True) from error
    except (OSError, tls.SSLError) as error:
        link.abort("not connected")
        raise ConnectionLost(_advice(endpoint, error), sent=False) from error
    except BaseException:
        link.abort("given up")
        raise
    if link.gone:
        link.abort("the server ended the connection")
        raise ConnectionLost(_dismissed(endpoint, link), sent=False)
    return link


async def _open(loop: asyncio.AbstractEventLoop, endpoint: Endpoint, options: ChannelOptions, link: ClientLink) -> None:
    if endpoint.path:
        await loop.create_unix_connection(lambda: link, sock=await _unix_socket(endpoint.path))
    elif options.ssl is None:
        await loop.create_connection(lambda: link, endpoint.host, endpoint.port)
    else:
        options.ssl.set_alpn_protocols(["h2"])
        name = options.server_name or endpoint.host
        await loop.create_connection(lambda: link, endpoint.host, endpoint.port, ssl=options.ssl, server_hostname=name)


async def _unix_socket(path: str) -> socket.socket:
    """A connected socket. asyncio would take one for connected that the server's queue had no room for."""
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.setblocking(False)
        while True:
            try:
                connected.connect(path)
                return connected
            except BlockingIOError:
                await asyncio.sleep(_QUEUE_FULL)
    except BaseException:
        connected.close()
        raise


def _advice(endpoint: Endpoint, error: OSError) -> str:
    if isinstance(error, tls.SSLCertVerificationError):
        return f"{endpoint}: the server's certificate is not trusted: {error.verify_message}"
    if isinstance(error, tls.SSLError):
        return f"{endpoint}: no TLS with this server: {error.reason or error}"
    if isinstance(error, FileNotFoundError):
        return (
            f"{endpoint}: there is no such socket: is the Device API server running on this node, and is its directory "
            f"mounted here? Start it, or {_ELSEWHERE}"
        )
    if isinstance(error, PermissionError):
        return f"{endpoint}: permission denied: {_owners(endpoint.path)}"
    if isinstance(error, ConnectionRefusedError):
        return f"{endpoint}: nobody listens there: the Device API server has stopped. Start it, or {_ELSEWHERE}"
    return f"{endpoint}: cannot connect: {error.strerror or error}"


def _owners(path: str) -> str:
    """Who may open a socket, for who may not."""
    try:
        info = os.stat(path)
    except OSError:
        folder = os.path.dirname(path)
        return f"this process (uid {os.geteuid()}) may not look into {folder}: join the group that owns it"
    try:
        group = grp.getgrgid(info.st_gid).gr_name
    except KeyError:
        group = "no name here"
    mode = stat.S_IMODE(info.st_mode)
    return (
        f"the socket belongs to uid {info.st_uid} and gid {info.st_gid} ({group}), mode {mode:04o}, and this process "
        f"is uid {os.geteuid()}: run it as a member of that group (in a pod: supplementalGroups: [{info.st_gid}])"
    )


def _dismissed(endpoint: Endpoint, link: ClientLink) -> str:
    if link.parting:
        return f"{endpoint}: {link.parting}"
    who = f"uid {os.geteuid()}, gid {os.getegid()}"
    return (
        f"{endpoint}: the server closed the connection at once ({link.lost}): it may not admit this process ({who}), "
        "or have too many connections; its log says which"
    )
