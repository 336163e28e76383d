"""Who may read the page: closed by default, read only, and never from a page of another origin."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence

from pilotage.dashboard.values import Failure, encode
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.http.origins import foreign

_INLINE = {
    "script": re.compile(
        rb"<script(?![^>]*\b(?:src|type\s*=\s*[\"']application/json))[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE
    ),
    "style": re.compile(rb"<style[^>]*>(.*?)</style>", re.DOTALL | re.IGNORECASE),
}
HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)
"""The headers of every answer. None allows another origin."""
_DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"


def refusal(request: HTTPRequest, hosts: Sequence[str], scheme: str) -> HTTPResponse | None:
    """The answer to a request that is refused whatever its token; None where it may be answered. `hosts` are the names
    by which this server is reached; empty: any, where TLS proves the name."""
    if request.method not in ("GET", "HEAD"):
        return failure(405, f"the page is read only: {request.method[:20]} is not allowed", ("Allow", "GET, HEAD"))
    reason = foreign(request, lambda host: not hosts or host in hosts, scheme)
    return failure(403, f"{reason}: open the address that the program printed") if reason else None


def has_token(request: HTTPRequest, token: str) -> bool:
    """Whether a request has the token, compared in constant time."""
    scheme, _, given = request.headers.get("authorization").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


def policy_of(page: bytes) -> str:
    """The content security policy of a page: its own script and style by their hashes, and requests to this server."""
    sources = {
        name: " ".join(f"'sha256-{_digest(found)}'" for found in pattern.findall(page)) or "'none'"
        for name, pattern in _INLINE.items()
    }
    return (
        f"default-src 'none'; script-src {sources['script']}; style-src {sources['style']}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def failure(status: int, text: str, *more: tuple[str, str]) -> HTTPResponse:
    """An answer with the reason why there is no other."""
    return data_response(encode(Failure(text)), status, more)


def data_response(body: bytes, status: int = 200, more: Sequence[tuple[str, str]] = ()) -> HTTPResponse:
    return HTTPResponse(status, data_headers("application/json", *more), body)


def data_headers(content_type: str, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers of an answer that is not the page."""
    return (("Content-Type", content_type), ("Content-Security-Policy", _DATA_POLICY), *HEADERS, *more)


def _digest(text: bytes) -> str:
    return base64.b64encode(hashlib.sha256(text.replace(b"\r\n", b"\n")).digest()).decode()
