"""What goes through HTTP: requests, responses and their headers, as values."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

_SECRET_NAMES = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie"))


class Headers:
    """An immutable multi-map of header lines: names in lower case, in the order they came."""

    __slots__ = ("_first", "_pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = tuple((name.lower(), value) for name, value in pairs)
        self._first: dict[str, str] | None = None

    @classmethod
    def of_lower(cls, pairs: tuple[tuple[str, str], ...]) -> Headers:
        """The same, from pairs whose names are in lower case already."""
        headers = cls.__new__(cls)
        headers._pairs = pairs
        headers._first = None
        return headers

    def get(self, name: str, default: str = "") -> str:
        """The first value of `name` (lower case)."""
        first = self._first
        if first is None:
            first = self._first = dict(reversed(self._pairs))
        return first.get(name, default)

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
    """Who is at the other end of a connection."""

    host: str = ""
    port: int = 0
    secure: bool = False
    """Whether the connection is TLS."""
    certificate: Mapping[str, Any] | None = field(default=None, hash=False)
    """The verified client certificate, as `ssl.SSLObject.getpeercert` gives it; None if there was none."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in, its body read whole. `target` is the raw path and query; decode it yourself."""

    method: str
    target: str
    headers: Headers = field(default_factory=Headers)
    body: bytes = field(default=b"", repr=False)
    peer: Peer = field(default_factory=Peer)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer with its body whole. The server adds the headers that frame it; a handler must not."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class StreamingResponse:
    """An answer whose body is written as it comes. The iterator is closed when the client goes away."""

    status: int
    headers: Sequence[tuple[str, str]]
    chunks: AsyncIterator[bytes]
    endless: bool = False
    """It has no end of its own, as a watch. When the server closes it is ended between two chunks, with a proper last
    chunk; any other stream would look complete and is not, so it is waited for."""


@dataclass(frozen=True, slots=True)
class ClientResponse:
    """An answer as the client got it, its body read whole."""

    status: int
    headers: Headers = field(default_factory=Headers)
    body: bytes = field(default=b"", repr=False)


Authenticate = Callable[[Headers, Peer], bool]
"""Whether a request with these headers, from this peer, comes from a client that the server knows."""

Handler = Callable[[Request], Awaitable[Response | StreamingResponse]]
"""Answers a request. If the client goes away meanwhile, the handler is cancelled."""


def reason_phrase(status: int) -> str:
    """The standard words for a status; empty for a code that has none."""
    return _PHRASES.get(status, "")


_PHRASES = {status.value: status.phrase for status in HTTPStatus}
