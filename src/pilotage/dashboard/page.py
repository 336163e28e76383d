"""The file of the page: as it is served, and with data inside, as a report that opens without a server."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path

from pilotage.dashboard.access import HEADERS, policy_of
from pilotage.http.messages import HTTPResponse

FILE = Path(__file__).with_name("page.html")
"""The page. Tests set another one."""
_TITLE = re.compile(rb"<title>.*?</title>", re.DOTALL | re.IGNORECASE)
_HEAD = re.compile(rb"<head[^>]*>", re.IGNORECASE)


def page_response() -> HTTPResponse:
    """The page, which has no data and needs no token."""
    page, policy = _page(FILE)
    headers = (("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy), *HEADERS)
    return HTTPResponse(200, headers, page)


def report_page(data: bytes, title: str) -> bytes:
    """The page with JSON inside. The same policy holds, as an element; what it cannot state there is about frames."""
    page, policy = _page(FILE)
    policy = policy.replace("connect-src 'self'", "connect-src 'none'").partition("; frame-ancestors")[0]
    element = (
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'.encode()
        + b'<script type="application/json" id="pilotage-data">'
        + embedded(data)
        + b"</script>"
    )
    named = f"<title>{html.escape(title)}</title>".encode()
    page = _TITLE.sub(lambda _: named, page, count=1)
    found = _HEAD.search(page)
    if found is None:
        return element + page
    charset = b'<meta charset="utf-8">'
    return page[: found.end()] + charset + element + page[found.end() :]


def embedded(data: bytes) -> bytes:
    """JSON that can stand in an element of HTML, whatever texts it has."""
    for character, escaped in _ESCAPES:
        data = data.replace(character, escaped)
    return data


_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


@cache
def _page(file: Path) -> tuple[bytes, str]:
    page = file.read_bytes().replace(b"\r\n", b"\n")
    return page, policy_of(page)
