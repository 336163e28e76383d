"""Every bound of the server and of the channel. Sizes are bytes, times are seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl as tls

KIBIBYTE = 1024
_LEAST_SHARE = 16
MEBIBYTE = 1024 * KIBIBYTE


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What a server grants its clients."""

    message_bytes: int = 4 * MEBIBYTE
    """A request; a larger one gets RESOURCE_EXHAUSTED as soon as its length is known."""
    reply_bytes: int = 16 * MEBIBYTE
    """A reply; a larger one becomes RESOURCE_EXHAUSTED, which says so."""
    metadata_bytes: int = 8 * KIBIBYTE
    """The metadata of a call, as HTTP/2 counts them; more ends the connection. gRPC's specification
    suggests this size."""
    buffer_bytes: int = 8 * MEBIBYTE
    """On one connection: requests that have not come whole, and answers that wait for the client (one larger answer is
    let through). A call over it gets RESOURCE_EXHAUSTED."""
    total_buffer_bytes: int = 64 * MEBIBYTE
    """The same, on all connections together; small calls are taken though it is used up."""
    streams: int = 100
    """Calls at once on one connection; further ones are refused, and may be sent again."""
    connections: int = 256
    """Connections at once."""
    connections_per_uid: int = 64
    """Further connections are refused. Who has no uid (TCP) counts by address. Four users can have all they may."""
    connections_per_process: int = 0
    """Of one process; 0: a quarter of those of its uid, and at least 16. Where all agents of a node are root, none of
    them takes the connections of the others. A process whose pid is not known, because it is in another pid namespace,
    counts by its uid alone."""
    connects_per_second: float = 20.0
    """New connections that one uid may open each second, beyond the burst; 0: no limit."""
    connect_burst: int = 64
    """New connections of one uid; 0 a second: as many as they like."""
    requests_per_second: float = 100.0
    """Calls that one uid may send each second, beyond the burst; 0: no limit."""
    request_burst: int = 10
    """Calls of one uid; 0 a second: as many as they like."""
    request_patience: float = 1.0
    """How long a call beyond the burst waits for its turn; one that would wait longer gets RESOURCE_EXHAUSTED."""
    receive_share: float = 0.05
    """The part of one core that those of one uid may use by what they send; who uses more is read from more slowly.
    Ordinary calls at the rate above use a quarter of this. 0, or no limit of calls: as much as it takes."""
    handshake_seconds: float = 10.0
    """From the connection to HTTP/2's settings, and for TLS."""
    request_seconds: float = 10.0
    """From a call's headers to the end of its message; then DEADLINE_EXCEEDED."""
    stall_seconds: float = 30.0
    """How long a client may leave what was sent to it unread before its connection is cut, and how long a reply waits
    for the client's window."""
    idle_seconds: float = 600.0
    """How long a connection may have no call before it is asked to go; 0: for ever."""
    keepalive_seconds: float = 60.0
    """Silence after which a client is asked for a sign of life; 0: never."""
    keepalive_timeout: float = 20.0
    """How long the answer to that may take before the connection is closed."""
    ping_seconds: float = 5.0
    """How often a client may ask for a sign of life while nothing is sent to it; the third time too often ends it."""
    grace_seconds: float = 5.0
    """What running calls have to finish when the server stops."""
    window_bytes: int = MEBIBYTE
    """What a client may send ahead."""
    write_buffer_bytes: int = 64 * KIBIBYTE
    """What waits for a client besides what the kernel holds, before `write` says that there is no room."""

    @property
    def process_share(self) -> int:
        """How many connections one process may have."""
        return self.connections_per_process or max(_LEAST_SHARE, self.connections_per_uid // 4)


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """How a client connects, and what it takes."""

    ssl: tls.SSLContext | None = None
    """For a host and a port; a Unix socket needs none."""
    server_name: str = ""
    """The name that the server's certificate is to have, where it is not the target's host."""
    user_agent: str = ""
    """Empty: `grpc-python-pilotage/<version>`."""
    unreachable_hint: str = ""
    """What to do where no server listens, for the error: which program to start, which setting names another target."""
    message_bytes: int = 16 * MEBIBYTE
    """A message received; a larger one raises RPCError, RESOURCE_EXHAUSTED."""
    metadata_bytes: int = 64 * KIBIBYTE
    """The metadata of an answer, as HTTP/2 counts them; more ends the connection."""
    connect_seconds: float = 5.0
    """To connect, with TLS and the server's settings."""
    open_seconds: float = 0.2
    """How long a stream waits for the server's headers: some servers send them with the first message only."""
    keepalive_seconds: float = 300.0
    """Silence after which the server is asked for a sign of life; 0: never."""
    keepalive_timeout: float = 20.0
    """How long the answer to that may take before the connection is closed."""
    keepalive_without_calls: bool = True
    """Whether the server is asked for it while no call is under way, too."""
    window_bytes: int = MEBIBYTE
    """What a server may send ahead of who reads."""


def default_user_agent() -> str:
    """`grpc-python-pilotage/0.1.0`: the form that gRPC's specification gives."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"grpc-python-pilotage/{version('pilotage')}"
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "grpc-python-pilotage/devel"
