"""Limits of the server and the client: sizes, numbers and times."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.meta.bounds.optionfields import (
    OptionalSecondsField,
    SecondsField,
    check_fields,
    count_field,
    seconds_field,
)

KIBIBYTE = 1024
MEBIBYTE = 1024 * KIBIBYTE


@dataclass(frozen=True, slots=True)
class HTTPLimits:
    """Limits of a server and of a client. Sizes are bytes, times are seconds."""

    header_bytes: int = count_field(64 * KIBIBYTE)
    """The head of a message. Larger requests get 431. (kube-apiserver allows 1 MiB.)"""

    header_count: int = count_field(128)
    """Header lines of a message: many short ones cost more than a long one."""

    target_bytes: int = count_field(16 * KIBIBYTE)
    """The request target (path and query). Longer ones get 414."""

    body_bytes: int = count_field(3 * MEBIBYTE)
    """The body of a request; kube-apiserver's limit. Checked before reading if declared, else while reading."""

    body_budget_bytes: int = count_field(32 * MEBIBYTE)
    """Server: bodies being read or handled on all connections. Above it a request gets 503 and Retry-After."""

    small_body_bytes: int = count_field(64 * KIBIBYTE)
    """Server: a body up to this size is accepted even above the budget, so that large or slow requests do not block
    ordinary ones."""

    pipelined_bytes: int = count_field(64 * KIBIBYTE)
    """Server: bytes that a client may send while its request is being handled; above it the socket is not read."""

    connections: int = count_field(4096)
    """Server: open connections. At the limit a new client waits until one ends; for it the longest idle connection is
    closed. At most three quarters of the process's file descriptors are used."""

    unauthenticated: int = count_field(256)
    """Server: connections that have not authenticated yet, including TLS handshakes. At the limit the oldest is closed,
    so that a flood of them neither fills the memory nor blocks new clients. At most a quarter of the process's file
    descriptors are used for them."""

    unauthenticated_body_bytes: int = count_field(4 * MEBIBYTE)
    """Server: bodies being read on all such connections. Above it a request gets 401: a client authenticates in the
    head, before its body counts."""

    handshake_seconds: SecondsField = seconds_field(10.0)
    """A TLS handshake, on both sides."""

    header_seconds: SecondsField = seconds_field(10.0)
    """Server: from the first byte of a request (or from the accept) to the end of its head."""

    body_seconds: SecondsField = seconds_field(30.0)
    """Server: from the head to the end of the body."""

    idle_seconds: SecondsField = seconds_field(75.0)
    """Server: how long a connection may wait for its next request. The client's pool closes earlier, on purpose."""

    write_buffer_bytes: int = count_field(64 * KIBIBYTE)
    """Bytes of a response that wait for a slow peer before the producer is paused."""

    write_stall_seconds: SecondsField = seconds_field(10.0)
    """Server: in each such period a client must read `write_buffer_bytes` (or everything that waits for it), else its
    connection is closed. So a watcher that does not read costs little and not for long."""

    linger_seconds: SecondsField = seconds_field(1.0)
    """Server: how long a refused connection is still read and the bytes discarded, so that the error arrives."""

    grace_seconds: SecondsField = seconds_field(10.0)
    """Server: how long running requests may take to finish when the server closes."""

    read_buffer_bytes: int = count_field(256 * KIBIBYTE)
    """Client: bytes of a stream that wait for a slow consumer before reading is paused."""

    response_bytes: int = count_field(256 * MEBIBYTE)
    """Client: the body of a response that is read completely. Request large lists in pages."""

    pool_connections: int = count_field(64)
    """Client: idle connections; above it the longest idle one is closed, and the next burst of requests pays for a TLS
    handshake."""

    concurrent_requests: int = count_field(128)
    """Client: concurrent requests; further ones wait. Streams do not count, because they are open for long."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a client waits for each step, in seconds. None: no limit."""

    connect: OptionalSecondsField = seconds_field(10.0, optional=True)
    """To open a TCP connection, including the name lookup."""

    handshake: SecondsField = seconds_field(10.0)
    """The TLS handshake."""

    response: OptionalSecondsField = seconds_field(60.0, optional=True)
    """From sending a request to the end of the response's head; kube-apiserver times out after 60 s itself."""

    body: OptionalSecondsField = seconds_field(60.0, optional=True)
    """To read the body of a response to `request`."""

    silence: OptionalSecondsField = seconds_field(None)
    """Between two pieces of a stream. None: a watch has its own liveness deadline."""

    idle: SecondsField = seconds_field(60.0)
    """How long an unused connection is kept: less than on servers (75 s here, 90 s and more elsewhere), so that a
    request is seldom sent on a connection that the server is closing."""

    dead_peer: OptionalSecondsField = seconds_field(45.0, optional=True)
    """TCP keepalive and TCP_USER_TIMEOUT: a peer that acknowledges nothing for this long counts as lost."""

    def __post_init__(self) -> None:
        check_fields(self)
