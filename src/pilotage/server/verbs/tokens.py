"""Continue tokens: where the next page of a list starts, and in which snapshot. Opaque to clients."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import msgspec

from pilotage.errors import BadRequest

_VERSION = "meta.k8s.io/v1"
LATEST = -1
"""The revision of a token that goes on at the newest state, because its own snapshot has expired."""


class _Token(msgspec.Struct):
    v: str
    rv: int
    start: str


@dataclass(frozen=True, slots=True)
class ContinueToken:
    """The key (below the list's prefix) at which the next page starts, and the snapshot's revision."""

    revision: int
    start: str


def write(token: ContinueToken) -> str:
    data = msgspec.json.encode(_Token(_VERSION, token.revision, token.start))
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def read(text: str) -> ContinueToken:
    """Raises BadRequest for what this server has not written."""
    if len(text) > 4096:
        raise invalid("it is too long")
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        token = msgspec.json.decode(data, type=_Token)
    except (binascii.Error, msgspec.MsgspecError, UnicodeError) as error:
        raise invalid(str(error)) from None
    if token.v != _VERSION:
        raise invalid(f"server does not recognize this encoded version {token.v[:40]}")
    if not token.start:
        raise invalid(f"encoded start key empty (version {_VERSION})")
    if token.rv == 0 or not LATEST <= token.rv < 2**63:
        raise invalid(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if ".." in token.start.split("/") or token.start.startswith("/"):
        raise invalid(token.start[:100])
    return ContinueToken(token.rv, token.start)


def invalid(reason: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {reason}")
