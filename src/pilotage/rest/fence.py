"""Fences: conditions that a leader attaches to its writes, so that no write of a former leader is sent or committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pilotage.errors import BadRequest
from pilotage.meta.values import Value

HEADER = "pilotage-lease"
"""The header with the terms of a write. Other API servers ignore it."""
MAX_TERMS = 4
_SEPARATOR = ","


class LeaderTerm(Value, frozen=True):
    """One holder's tenure of a Lease. It ends when the holder or the number of transitions changes."""

    namespace: str
    name: str
    holder: str
    transitions: int

    def __str__(self) -> str:
        return f"the lease {self.namespace}/{self.name}, held by {self.holder} since transition {self.transitions}"


def _allow() -> None:
    """The check of a write that was received: its sender has checked its own deadline."""


class Fence(Value, frozen=True, eq=False):
    """Allows a write while a lease is held.

    `check` is called right before a write is sent or committed, and refuses it by raising: the holder's own deadline.
    `term` is sent along, and the API server that has the lease refuses the write when the term has ended.
    """

    __unshown__ = frozenset({"check", "server"})

    term: LeaderTerm | None = None
    check: Callable[[], None] = _allow
    server: object = None
    """The API server that has the lease. Only requests to it carry the term."""

    def __eq__(self, other: object) -> bool:
        return (self.term, self.check) == (other.term, other.check) if isinstance(other, Fence) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.term, self.check))

    def toward(self, server: object) -> Fence:
        """The fence of a request to `server`."""
        return self if self.server is server or self.term is None else Fence(None, self.check)


Fences = Callable[[], tuple[Fence, ...]]
"""Returns the fences of a write when it is sent."""


def check_all(fences: Iterable[Fence]) -> None:
    """Raise the error of the first fence that refuses."""
    for fence in fences:
        fence.check()


def header_of(fences: Iterable[Fence]) -> str:
    """The header's value; empty if no fence has a term."""
    return _SEPARATOR.join(_text(fence.term) for fence in fences if fence.term is not None)


def parse_header(value: str) -> tuple[Fence, ...]:
    """The fences of a header. Raises BadRequest."""
    parts = value.split(_SEPARATOR)
    if len(parts) > MAX_TERMS:
        raise BadRequest(f"the header {HEADER} has {len(parts)} leases, and at most {MAX_TERMS} are allowed")
    return tuple(Fence(_term(part)) for part in parts)


def _text(term: LeaderTerm) -> str:
    from urllib.parse import quote  # most programs have no lease to name in a header

    namespace, name, holder = (quote(part, safe="") for part in (term.namespace, term.name, term.holder))
    return f"{namespace}/{name}/{term.transitions}/{holder}"


def _term(text: str) -> LeaderTerm:
    from urllib.parse import unquote

    match text.strip().split("/"):
        case [namespace, name, number, holder] if number.isascii() and number.isdecimal() and len(number) <= 10:
            return LeaderTerm(unquote(namespace), unquote(name), unquote(holder), int(number))
    raise BadRequest(f"the header {HEADER} must be NAMESPACE/NAME/TRANSITIONS/HOLDER, not {text[:100]!r}")
