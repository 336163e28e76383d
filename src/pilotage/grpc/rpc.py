"""Calls as values: codes, errors, peers, and the two halves of a stream. It does not depend on the transport."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from pilotage.errors import PilotageError


class Code(enum.IntEnum):
    """gRPC's status codes."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RPCError(PilotageError):
    """A call ended with a code that is not OK.

    `trailers` are the binary trailing metadata that came with it; their keys end with `-bin`.
    """

    def __init__(self, code: Code, message: str, *, trailers: Mapping[str, bytes] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.trailers = trailers or {}


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection, as the kernel reports it. The pid is for logs and limits: it may be reused."""

    uid: int = -1
    """-1 if not known: the connection is not a Unix socket."""
    gid: int = -1
    pid: int = 0
    groups: tuple[int, ...] = ()
    """The supplementary groups, if the kernel reports them (SO_PEERGROUPS)."""
    address: str = ""

    @property
    def account(self) -> str:
        """The key of the limits: the uid, or the address if the uid is not known."""
        return f"uid:{self.uid}" if self.uid >= 0 else self.address.rpartition(":")[0]


@dataclass(frozen=True, slots=True)
class Call:
    """One incoming call."""

    method: str
    """The full name: `/etcdserverpb.KV/Range`."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Keys in lower case."""
    peer: Peer = Peer()

    @property
    def name(self) -> str:
        """The name without the service: `Range`."""
        return self.method.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Reply:
    """The response to a unary call, with its initial metadata."""

    message: bytes
    metadata: Mapping[str, str] = field(default_factory=dict)
    connection_number: int = field(default=0, compare=False)
    """The number of the connection that carried it. Another connection may reach another server process."""


class Outgoing(Protocol):
    """The sending half of a server's stream. A frame is `frame(message)`, encoded once for all receivers."""

    async def open(self, metadata: Mapping[str, str] | None = None) -> None:
        """Send the initial metadata, which show the caller that the stream is open."""

    def write(self, frames: Sequence[bytes]) -> bool:
        """Send frames, all or none; returns False if the window is full: then `await wait_drained()`, and retry.

        Never waits. It queues at most the part of one call that did not fit into the caller's window, and returns False
        until that part is sent. Raises RPCError (CANCELLED) after the end of the stream.
        """

    async def wait_drained(self) -> None:
        """Wait until `write` may succeed. Raises RPCError (CANCELLED) after the end of the stream."""

    async def wait_closed(self) -> None:
        """Wait until the caller ends the call."""


UnaryHandler = Callable[[Call, bytes], Awaitable[Reply]]
"""Handles a call. Raises RPCError; any other exception is logged, and the caller gets INTERNAL without its text."""

StreamHandler = Callable[[Call, bytes, Outgoing], Awaitable[None]]
"""Handles a call with a stream of responses, which ends when this returns (OK) or raises (RPCError). It is cancelled
when the caller ends the call."""

BidiHandler = Callable[[Call, AsyncIterator[bytes], Outgoing], Awaitable[None]]
"""Handles a stream of messages with a stream of responses; otherwise as a StreamHandler. The messages end when the
caller's half does."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """The handlers of a server, by the full name of the method."""

    unary: Mapping[str, UnaryHandler]
    stream: Mapping[str, StreamHandler]
    bidi: Mapping[str, BidiHandler] = field(default_factory=dict)


class Channel(Protocol):
    """The calling side: it connects on demand, and again after the connection is lost."""

    async def unary(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None, timeout: float | None = None
    ) -> Reply:
        """Raises RPCError for the server's error, ConnectionLost if no response came."""

    def stream(
        self, method: str, message: bytes, *, metadata: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Incoming]:
        """A stream of messages, open when the block is entered; the end of the block ends it."""

    async def close(self) -> None:
        """Close the connection."""


class Incoming(Protocol):
    """The receiving half of a stream: its messages, until the server ends it."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """The initial metadata; empty before they arrive (some servers send them with the first message)."""

    @property
    def connection_number(self) -> int:
        """As in a Reply."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Raises RPCError if the stream ends with one, ConnectionLost if the connection is lost."""


def frame(message: bytes) -> bytes:
    """A message with its gRPC prefix: not compressed, and its length."""
    return b"\x00" + len(message).to_bytes(4, "big") + message
