"""Fences: what a leader attaches to its writes, so that no write of a former leader starts or is committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from pilotage.errors import BadRequest

HEADER = "pilotage-lease"
"""The header with the terms of a write. Other API servers ignore it."""
MAX_TERMS = 4
_SEPARATOR = ","


@dataclass(frozen=True, slots=True)
class Term:
    """One holder's tenure of a Lease. It ends when the holder or the number of transitions changes."""

    namespace: str
    name: str
    holder: str
    transitions: int

    def __str__(self) -> str:
        return f"the lease {self.namespace}/{self.name}, held by {self.holder} since transition {self.transitions}"


def _allow() -> None:
    """The check of a write that was received: its sender has checked its own deadline."""


@dataclass(frozen=True, slots=True)
class Fence:
    """Allows a write while a lease is held.

    `check` is called right before a write is sent or committed, and refuses it by raising: the holder's own deadline.
    `term` is sent along, and the API server that has the lease refuses the write when the term has ended.
    """

    term: Term | None = None
    check: Callable[[], None] = field(default=_allow, repr=False)
    server: object = field(default=None, compare=False, repr=False)
    """The API server that has the lease. Only requests to it carry the term."""

    def toward(self, server: object) -> Fence:
        """The fence of a request to `server`."""
        return self if self.server is server or self.term is None else Fence(None, self.check)


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


def _text(term: Term) -> str:
    namespace, name, holder = (quote(part, safe="") for part in (term.namespace, term.name, term.holder))
    return f"{namespace}/{name}/{term.transitions}/{holder}"


def _term(text: str) -> Term:
    match text.strip().split("/"):
        case [namespace, name, number, holder] if number.isascii() and number.isdecimal() and len(number) <= 10:
            return Term(unquote(namespace), unquote(name), unquote(holder), int(number))
    raise BadRequest(f"the header {HEADER} must be NAMESPACE/NAME/TRANSITIONS/HOLDER, not {text[:100]!r}")
