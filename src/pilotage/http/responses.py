"""The bytes of responses, as a server writes them."""

from __future__ import annotations

from pilotage.http.heads import Refusal, RequestHead, header_lines, status_line
from pilotage.http.messages import HTTPResponse, StreamingResponse, reason_phrase
from pilotage.meta.values import Value

LAST_CHUNK = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class ResponsePlan(Value, frozen=True):
    """How a response is written: decided before the first byte."""

    head: bytes
    has_body: bool
    chunked: bool
    keep_alive: bool


def plan(
    response: HTTPResponse | StreamingResponse, request: RequestHead, keep_alive: bool, date_line: bytes
) -> ResponsePlan:
    """Decide how `response` is written. Raises ValueError for headers or a status that a handler may not use."""
    bodiless = response.status in (204, 304)
    streaming = isinstance(response, StreamingResponse)
    upgraded = response.upgraded if isinstance(response, StreamingResponse) else None
    if (upgraded is None) == (response.status == 101):
        raise ValueError("status 101 is for a stream with `upgraded`, and only for such a stream")
    chunked = streaming and request.fields.modern and not bodiless and upgraded is None
    if isinstance(response, HTTPResponse):
        framing = b"" if bodiless else b"Content-Length: %d\r\n" % len(response.body)
    elif chunked:
        framing = b"Transfer-Encoding: chunked\r\n"
    else:  # HTTP/1.0, or another protocol: the end of the stream is the end of the connection
        framing, keep_alive = b"", keep_alive and bodiless
    if upgraded is not None:
        connection = f"Upgrade: {upgraded.name}\r\nConnection: Upgrade\r\n".encode()
    elif not keep_alive:
        connection = b"Connection: close\r\n"
    else:
        connection = b"" if request.fields.modern else b"Connection: keep-alive\r\n"
    lines = header_lines(response.headers)
    head = b"".join((status_line(response.status), lines, framing, connection, date_line, b"\r\n"))
    return ResponsePlan(head, not bodiless and request.method != "HEAD", chunked, keep_alive)


def chunk_bytes(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def refusal_bytes(refusal: Refusal) -> bytes:
    """The bytes of a short response that states the error."""
    words = f"{refusal.status} {reason_phrase(refusal.status)}"
    body = f"{words}: {refusal}\n".encode()
    retry = f"Retry-After: {refusal.retry_after}\r\n" if refusal.retry_after else ""
    head = (
        f"HTTP/1.1 {words}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n{retry}Connection: close\r\n\r\n"
    )
    return head.encode() + body
