"""Limits on size, number and time, of the server and the client."""

from __future__ import annotations

from dataclasses import dataclass

KIBIBYTE = 1024
MEBIBYTE = 1024 * KIBIBYTE


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on size, number and time. Sizes are bytes, times are seconds."""

    header_bytes: int = 64 * KIBIBYTE
    """The whole head of a message. Larger requests get 431. (kube-apiserver allows 1 MiB.)"""

    header_count: int = 128
    """Header lines in a message: many short ones cost more than a long one."""

    target_bytes: int = 16 * KIBIBYTE
    """The request target (path and query). Longer ones get 414."""

    body_bytes: int = 3 * MEBIBYTE
    """A request's body, kube-apiserver's bound. Checked before reading if declared, else while reading."""

    body_budget_bytes: int = 32 * MEBIBYTE
    """Server: bodies being read or handled, of all connections together. Over it a request gets 503 and Retry-After."""

    small_body_bytes: int = 64 * KIBIBYTE
    """Server: a body up to this size is taken though the budget is spent: large ones, or slow ones that hold it, must
    not keep ordinary requests out."""

    pipelined_bytes: int = 64 * KIBIBYTE
    """Server: what a client may send ahead while its request is being handled; then its socket is not read."""

    connections: int = 4096
    """Server: open connections. At the bound the longest idle is closed, and none is accepted until one ends. At most
    three quarters of the process's file descriptors are used."""

    strangers: int = 256
    """Server: connections that have not authenticated yet, TLS handshakes included. At the bound the oldest is closed,
    so a flood of them neither fills the memory nor keeps new clients out. At most a quarter of the process's file
    descriptors are used for them."""

    stranger_body_bytes: int = 4 * MEBIBYTE
    """Server: bodies being read from such connections, all together. Over it a request gets 401: a client that
    authenticates does so in the head, before its body counts."""

    handshake_seconds: float = 10.0
    """A TLS handshake, on either side."""

    header_seconds: float = 10.0
    """Server: from a connection's first byte of a request (or from its opening) to the end of the head."""

    body_seconds: float = 30.0
    """Server: from the head to the end of the body."""

    idle_seconds: float = 75.0
    """Server: how long a connection may wait for its next request. The client's pool gives up earlier, on purpose."""

    write_buffer_bytes: int = 64 * KIBIBYTE
    """Bytes of an answer that wait for a slow peer before its producer is stopped."""

    write_stall_seconds: float = 10.0
    """Server: in each such time a client must take `write_buffer_bytes` of what waits for it (or all of it), else it is
    cut. So a watcher that does not read costs little and not for long."""

    linger_seconds: float = 1.0
    """Server: how long a refused connection is still read (and what comes thrown away), so that the refusal arrives."""

    grace_seconds: float = 10.0
    """Server: how long running requests may take to finish when the server closes."""

    read_buffer_bytes: int = 256 * KIBIBYTE
    """Client: bytes of a stream that wait for a slow consumer before the socket is no longer read."""

    response_bytes: int = 256 * MEBIBYTE
    """Client: the body of an answer that is read whole. Large lists are to be asked for in pages."""

    pool_connections: int = 32
    """Client: idle connections kept; the longest idle goes first."""

    concurrent_requests: int = 128
    """Client: requests on their way at once; further ones wait. Streams do not count: they are held for long."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a client waits for each step, in seconds. None: for ever."""

    connect: float | None = 10.0
    """To open a TCP connection, name lookup included."""

    handshake: float = 10.0
    """To agree on TLS."""

    response: float | None = 60.0
    """From sending a request to the end of the answer's head; kube-apiserver itself gives up after 60."""

    body: float | None = 60.0
    """To read the whole body of an answer to `request`."""

    silence: float | None = None
    """Between two pieces of a stream. None: a watch has a liveness deadline of its own."""

    idle: float = 60.0
    """How long an unused connection is kept: less than servers keep theirs (75 here, 90 and more elsewhere), so that
    a request seldom meets a connection that is just being closed."""

    dead_peer: float | None = 45.0
    """TCP keepalive and TCP_USER_TIMEOUT: a peer that acknowledges nothing for so long counts as lost."""
