"""Requests, responses and their headers, as values."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote_plus

from pilotage.meta.values import Value

R = TypeVar("R")
_SECRET_NAMES = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie", "sec-websocket-protocol"))

_PARAMETER = re.compile("([?&;])([^=&;]*)=[^&;]*")
_SECRET_PARAMETER = re.compile(
    "(?:(?:access|auth|bearer|id|refresh)[-_]?)?(?:token|authorization|password|passwd|secret|api[-_]?key)",
    re.IGNORECASE,
)


class Headers:
    """An immutable multi-map of header lines in their order; names in lower case."""

    __slots__ = ("_derived", "_first", "_pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = tuple((name.lower(), value) for name, value in pairs)
        self._first: dict[str, str] | None = None
        self._derived: dict[object, Any] | None = None

    @classmethod
    def of_lower(cls, pairs: tuple[tuple[str, str], ...]) -> Headers:
        """The same, from pairs whose names are in lower case already."""
        headers = cls.__new__(cls)
        headers._pairs = pairs
        headers._first = headers._derived = None
        return headers

    def get(self, name: str, default: str = "") -> str:
        """The first value of `name` (lower case)."""
        first = self._first
        if first is None:
            first = self._first = dict(reversed(self._pairs))
        return first.get(name, default)

    def derived(self, function: Callable[[Headers], R]) -> R:
        """The result of a function of these headers, computed once: most clients send the same ones again and again,
        and the requests of a connection share them."""
        if self._derived is None:
            self._derived = {}
        if function not in self._derived:
            self._derived[function] = function(self)
        found: R = self._derived[function]
        return found

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of `name` (lower case), in order."""
        return tuple(value for known, value in self._pairs if known == name)

    def __contains__(self, name: object) -> bool:
        return any(known == name for known, _ in self._pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return self._pairs == other._pairs if isinstance(other, Headers) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        shown = [(name, "<redacted>" if name in _SECRET_NAMES else value) for name, value in self._pairs]
        return f"Headers({shown!r})"


@dataclass(frozen=True, slots=True)
class Peer:
    """The client of a connection."""

    host: str = ""
    port: int = 0
    secure: bool = False
    """Whether the connection is TLS."""
    certificate: Mapping[str, Any] | None = field(default=None, hash=False)
    """The verified client certificate, as `ssl.SSLObject.getpeercert` returns it; None without one."""


def target_without_secrets(target: str) -> str:
    """A path and query as they may be logged: without the values of parameters in which clients of other servers send
    credentials."""
    return _PARAMETER.sub(_shown, target) if "?" in target else target


def _shown(parameter: re.Match[str]) -> str:
    mark, name = parameter.groups()
    return f"{mark}{name}=<redacted>" if _SECRET_PARAMETER.fullmatch(unquote_plus(name).strip()) else parameter[0]


class HTTPRequest(Value, frozen=True):
    """A request with its complete body. `target` is the raw path and query, not decoded."""

    __unshown__ = frozenset({"body"})

    method: str
    target: str
    headers: Headers = Headers()
    body: bytes = b""
    peer: Peer = Peer()
    too_large: bool = False
    """The body is larger than the limit of the server; it was not read, and `body` is empty. Only a handler that is
    served with `answers_too_large` gets such a request."""


class HTTPResponse(Value, frozen=True):
    """A response with its complete body. The server adds the headers that frame it; a handler must not."""

    __unshown__ = frozenset({"body"})

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


class Upgraded(Protocol):
    """The other protocol on a connection after a response with status 101."""

    name: str
    """What the header `Upgrade` calls it."""
    ended: bool
    """Whether the client has ended the stream."""

    def received(self, data: bytes) -> bytes:
        """Take what the client sends; the bytes that are to be sent for it."""

    def last(self) -> bytes:
        """The bytes that end the stream."""


@dataclass(frozen=True, slots=True)
class StreamingResponse:
    """A response whose body is written piece by piece. The iterator is closed when the client disconnects."""

    status: int
    headers: Sequence[tuple[str, str]]
    chunks: AsyncIterator[bytes]
    endless: bool = False
    """The stream does not end by itself, as a watch. When the server closes, it is ended between two chunks with a last
    chunk. Another stream would look complete without being so: the server waits for its end."""
    upgraded: Upgraded | None = None
    """With status 101: the connection has another protocol from here on, and `chunks` are written as they are."""


class ClientResponse(Value, frozen=True):
    """A response with its complete body, as the client received it."""

    __unshown__ = frozenset({"body"})

    status: int
    headers: Headers = Headers()
    body: bytes = b""


Authenticate = Callable[[Headers, Peer], bool]
"""Whether a request with these headers, from this peer, is authenticated."""

Handler = Callable[[HTTPRequest], Awaitable[HTTPResponse | StreamingResponse]]
"""Handles a request. If the client disconnects meanwhile, the handler is cancelled."""


def reason_phrase(status: int) -> str:
    """The standard reason phrase of a status; empty for an unknown one."""
    return _PHRASES.get(status, "")


_PHRASES = {status.value: status.phrase for status in HTTPStatus}
