"""Continue tokens: where the next page of a list starts, and in which snapshot. Opaque to clients."""

from __future__ import annotations

import base64
import re

import msgspec

from pilotage.errors import BadRequest
from pilotage.meta.values import Value

_OUTSIDE = re.compile(r"[^A-Za-z0-9_-]")
_VERSION = "meta.k8s.io/v1"
LATEST = -1
"""The revision of a token that continues at the newest state, because its own snapshot has expired."""


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


class ContinueToken(Value, frozen=True):
    """The key (below the list's prefix) at which the next page starts, and the snapshot's revision."""

    revision: int
    start: str


def write(token: ContinueToken) -> str:
    data = msgspec.json.encode(_Token(_VERSION, token.revision, token.start))
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def read(text: str) -> ContinueToken:
    """Raises BadRequest for a token that this server has not issued."""
    if len(text) > 4096:
        raise invalid("it is too long")
    data = _decoded(text)
    try:
        token = msgspec.json.decode(data, type=_Token)
    except (msgspec.MsgspecError, UnicodeError) as error:
        from pilotage.meta.text import gojson

        raise invalid(gojson.syntax_error(data) or str(error)) from None
    if token.v != _VERSION:
        raise invalid(f"server does not recognize this encoded version {token.v[:40]}")
    if not token.start:
        raise invalid(f"encoded start key empty (version {_VERSION})")
    if token.rv == 0 or not LATEST <= token.rv < 2**63:
        raise invalid(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if ".." in token.start.split("/") or token.start.startswith("/"):
        raise invalid(token.start[:100])
    return ContinueToken(token.rv, token.start)


def _decoded(text: str) -> bytes:
    """URL-safe base64 without padding. Raises BadRequest in Go's words."""
    wrong = _OUTSIDE.search(text)
    if wrong is not None or len(text) % 4 == 1:
        at = wrong.start() if wrong is not None else len(text) - 1
        raise invalid(f"illegal base64 data at input byte {at}")
    return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))


def invalid(reason: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {reason}")
