"""Every limit of the server and of the channel. Sizes are bytes, times are seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pilotage.meta.bounds.optionfields import SecondsField, check_fields, count_field, seconds_field
from pilotage.version import installed_version

if TYPE_CHECKING:
    import ssl as tls

KIBIBYTE = 1024
_LEAST_SHARE = 16
MEBIBYTE = 1024 * KIBIBYTE


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The limits of a server."""

    message_bytes: int = count_field(4 * MEBIBYTE)
    """The size of a request; a larger one gets RESOURCE_EXHAUSTED as soon as its length is known."""
    reply_bytes: int = count_field(16 * MEBIBYTE)
    """The size of a response; a larger one becomes RESOURCE_EXHAUSTED."""
    metadata_bytes: int = count_field(8 * KIBIBYTE)
    """The metadata of a call, in HTTP/2's measure; more closes the connection. gRPC's specification suggests this."""
    buffer_bytes: int = count_field(8 * MEBIBYTE)
    """For each connection: incomplete requests, and responses that wait for the client (a single larger response is
    allowed). A call above it gets RESOURCE_EXHAUSTED."""
    total_buffer_bytes: int = count_field(64 * MEBIBYTE)
    """The same for all connections together; small calls are accepted above it."""
    streams: int = count_field(100)
    """Concurrent calls on one connection; further ones are refused and can be retried."""
    connections: int = count_field(256)
    """Open connections."""
    connections_per_uid: int = count_field(64)
    """Open connections of one uid; further ones are refused. TCP clients have no uid and count by address."""
    connections_per_process: int = count_field(0)
    """Open connections of one process; 0: a quarter of the connections of its uid, at least 16. If all agents of a node
    are root, no agent can use up the connections of the others. A process in another pid namespace has no known pid and
    counts by its uid only."""
    connects_per_second: float = 20.0
    """New connections of one uid per second, beyond the burst; 0: no limit."""
    connect_burst: int = count_field(64)
    """New connections of one uid at once; without effect if `connects_per_second` is 0."""
    requests_per_second: float = 100.0
    """Calls of one uid per second, beyond the burst; 0: no limit."""
    request_burst: int = count_field(10)
    """Calls of one uid at once; without effect if `requests_per_second` is 0."""
    request_patience: SecondsField = seconds_field(1.0)
    """How long a call beyond the burst waits for its turn; one that would wait longer gets RESOURCE_EXHAUSTED."""
    receive_share: float = 0.05
    """The share of one core for processing what one uid sends; above it the connections of that uid are read more
    slowly. Ordinary calls at the rate above use a quarter of it. 0, or no limit of calls: no limit."""
    handshake_seconds: SecondsField = seconds_field(10.0)
    """From the connection to HTTP/2's SETTINGS; also for TLS."""
    request_seconds: SecondsField = seconds_field(10.0)
    """From the headers of a call to the end of its message; then DEADLINE_EXCEEDED."""
    stall_seconds: SecondsField = seconds_field(30.0)
    """How long a client may read nothing before its connection is closed, and how long a response waits for the
    client's window."""
    idle_seconds: SecondsField = seconds_field(600.0)
    """How long a connection may have no call before it is closed with GOAWAY; 0: no limit."""
    keepalive_seconds: SecondsField = seconds_field(60.0)
    """Silence after which the server sends a PING; 0: never."""
    keepalive_timeout: SecondsField = seconds_field(20.0)
    """How long the acknowledgement may take before the connection is closed."""
    ping_seconds: SecondsField = seconds_field(5.0)
    """The shortest interval between a client's PINGs while nothing is sent to it; the third violation closes the
    connection."""
    grace_seconds: SecondsField = seconds_field(5.0)
    """How long running calls may take to finish when the server stops."""
    window_bytes: int = count_field(MEBIBYTE)
    """The flow-control window of a client, for each stream and for the connection."""
    write_buffer_bytes: int = count_field(64 * KIBIBYTE)
    """Unsent bytes for one client, besides those in the kernel, above which `write` returns False."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def process_share(self) -> int:
        """Open connections of one process."""
        return self.connections_per_process or max(_LEAST_SHARE, self.connections_per_uid // 4)


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """How a client connects, and its limits."""

    ssl: tls.SSLContext | None = None
    """TLS for a host and a port; not used for a Unix socket."""
    server_name: str = ""
    """The name in the server's certificate, if it is not the target's host."""
    user_agent: str = ""
    """Empty: `grpc-python-pilotage/<version>`."""
    unreachable_hint: str = ""
    """Added to the error if no server listens: which program to start, which setting selects another target."""
    message_bytes: int = count_field(16 * MEBIBYTE)
    """The size of a received message; a larger one raises RPCError, RESOURCE_EXHAUSTED."""
    metadata_bytes: int = count_field(64 * KIBIBYTE)
    """The metadata of a response, in HTTP/2's measure; more closes the connection."""
    connect_seconds: SecondsField = seconds_field(5.0)
    """To connect, including TLS and the server's SETTINGS."""
    open_seconds: SecondsField = seconds_field(0.2)
    """How long a stream waits for the server's headers: some servers send them with the first message only."""
    keepalive_seconds: SecondsField = seconds_field(300.0)
    """Silence after which the client sends a PING; 0: never."""
    keepalive_timeout: SecondsField = seconds_field(20.0)
    """How long the acknowledgement may take before the connection is closed."""
    keepalive_without_calls: bool = True
    """Whether PINGs are also sent while no call runs."""
    window_bytes: int = count_field(MEBIBYTE)
    """The flow-control window of the server, for each stream and for the connection."""

    def __post_init__(self) -> None:
        check_fields(self)


def default_user_agent() -> str:
    """`grpc-python-pilotage/0.1.0`: the form that gRPC's specification gives."""
    return f"grpc-python-pilotage/{installed_version('devel')}"
