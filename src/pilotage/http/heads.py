"""Parses the heads of messages by one strict grammar: what is not well-formed is refused.

The block up to the empty line is matched as a whole, then split into lines, for both sides. Parsers that accept more
(llhttp, for old programs) disagree about where a message ends, which is how requests are smuggled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pilotage.http.limits import HTTPLimits
from pilotage.http.messages import Headers, reason_phrase

CHUNKED = -1
"""The length of a chunked body."""
UNTIL_CLOSE = -2
"""The length of a body that ends with the connection (responses only)."""


class Refusal(Exception):
    """A message that is not accepted: the status of the response, and the reason."""

    def __init__(self, status: int, message: str, *, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


@dataclass(slots=True)
class RequestFields:
    """The header lines of a request and what follows from them; `length` is the length of the body, or CHUNKED."""

    text: str
    headers: Headers
    length: int
    keep_alive: bool
    modern: bool
    """HTTP/1.1: the response may be chunked, and 100 Continue may be sent."""
    expects_continue: bool


@dataclass(slots=True)
class RequestHead:
    """The head of a request."""

    method: str
    target: str
    fields: RequestFields


@dataclass(slots=True)
class ResponseHead:
    """The head of a response; `length` is the length of the body, CHUNKED or UNTIL_CLOSE."""

    status: int
    headers: Headers
    length: int
    keep_alive: bool


def parse_request_head(block: str, limits: HTTPLimits, known: RequestFields | None = None) -> RequestHead:
    """Parse the head of a request: `block` is latin-1 text and ends with the empty line. Raises Refusal.

    `known` are the fields of the previous request: most clients send the same ones, which are not parsed again.
    """
    line = _REQUEST_LINE.match(block)
    if line is None:
        raise _bad_request_line(block)
    method, target, version = line.groups()
    if version not in _VERSIONS:
        raise Refusal(505, "only HTTP/1.1 and HTTP/1.0 are supported")
    if len(target) > limits.target_bytes:
        raise Refusal(414, f"the request target is longer than {limits.target_bytes} bytes")
    if target[0] != "/" and (target != "*" or method != "OPTIONS"):
        raise Refusal(400, "the request target must be a path that starts with /")
    modern = version == "1.1"
    text = block[line.end() :]
    # The version too: with the same lines, HTTP/1.0 has other rules for the body and for keep-alive.
    if known is None or known.text != text or known.modern is not modern:
        known = _request_fields(text, modern, limits)
    return RequestHead(method, target, known)


def parse_response_head(block: str, method: str, limits: HTTPLimits) -> ResponseHead:
    """Parse the head of the response to a request of `method`. Raises Refusal, whose status has no meaning here."""
    line = _STATUS_LINE.match(block)
    if line is None:
        raise Refusal(400, f"not an HTTP/1.1 status line: {block[:40]!r}")
    modern, status = line[1] == "1", int(line[2])
    pairs = _header_pairs(block, line.end(), limits)
    values = _parsed_values(pairs)
    length = _length(values, modern)
    # They have no body whatever their headers say (RFC 9112, 6.3).
    if method == "HEAD" or status in (204, 304) or status < 200 or (method == "CONNECT" and status < 300):
        length = 0
    elif length is None:
        length = UNTIL_CLOSE
    connection = _tokens(values.get("connection", _NO_VALUES))
    close = "close" in connection or (not modern and "keep-alive" not in connection) or length == UNTIL_CLOSE
    return ResponseHead(status, Headers.of_lower(pairs), length, not close)


def header_lines(headers: Iterable[tuple[str, str]]) -> bytes:
    """The bytes of header lines. Raises ValueError for what would break the message or contradict its framing."""
    return b"".join([_header_line(name, value) for name, value in headers])


@lru_cache(maxsize=512)
def _header_line(name: str, value: str) -> bytes:
    # Each line is kept by itself: most are the same in every message, and some, as `audit-id`, in none.
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"not a valid header: the name {name[:60]!r} has a character that a name cannot have")
    if not is_header_value(value):  # the value is not in the error: it may be a token
        raise ValueError(f"not a valid header: the value of {name} has {_UNSENDABLE}")
    if name.lower() in _FRAMING_NAMES:
        raise ValueError(f"the header {name} must not be set: it frames the message, and is set by the sender")
    return f"{name}: {value}\r\n".encode()


def is_header_value(text: str) -> bool:
    """Whether a header can have this value."""
    return _VALUE.fullmatch(text) is not None


@lru_cache(maxsize=256)
def status_line(status: int) -> bytes:
    """The first line of a response."""
    if not 200 <= status <= 999 and status != 101:  # a client reads a code that it does not know by its first digit
        raise ValueError(f"a handler cannot respond with status {status}")
    return f"HTTP/1.1 {status} {reason_phrase(status)}\r\n".encode("latin-1")


def check_request_line(method: str, target: str) -> None:
    """Raise ValueError for a method or target that does not form one well-formed request line."""
    if _METHOD.fullmatch(method) is None or _TARGET.fullmatch(target) is None:
        raise ValueError(f"not a valid request line: {method!r} {target!r} (percent-encode the target)")


def find_bare_line_end(block: bytes | bytearray, start: int) -> bool:
    """Whether there is a lone CR or LF, or a NUL, at or after `start`; an LF may still follow a CR at the end."""
    return _BARE.search(block, start) is not None


_UNSENDABLE = "a line break, or another character that a header cannot have"
_NAME_CHARACTER = r"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_METHOD = re.compile(r"[A-Z]{1,24}")
_TARGET = re.compile(r"[\x21\x22\x24-\x7e]++")  # visible, and no fragment
_REQUEST_LINE = re.compile(r"([A-Z]{1,24}) ([\x21\x22\x24-\x7e]++) HTTP/([0-9]\.[0-9])\r\n")
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*+)?\r\n")
# Possessive (`++`): a match of hostile input takes linear time, because nothing is tried again.
_HEADER_BLOCK = re.compile(rf"(?:{_NAME_CHARACTER}++:[\t\x20-\x7e\x80-\xff]*+\r\n)*+\r\n")
_NAME = re.compile(rf"{_NAME_CHARACTER}++")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\ud7ff\ue000-\U0010ffff]*+")
_BARE = re.compile(rb"(?<!\r)\n|\r(?![\n]|\Z)|\x00")
# `int` alone also reads `+5`, `1_0` and digits of other scripts.
_DIGITS = re.compile(r"[0-9]{1,15}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*")
_VERSIONS = ("1.1", "1.0")
_FRAMING_NAMES = frozenset(("content-length", "transfer-encoding", "connection", "trailer", "upgrade", "keep-alive"))
_PARSED_NAMES = frozenset(("transfer-encoding", "content-length", "connection", "host", "expect"))
_NO_VALUES: tuple[str, ...] = ()


def _header_pairs(block: str, start: int, limits: HTTPLimits) -> tuple[tuple[str, str], ...]:
    if block.count("\r\n", start) - 1 > limits.header_count:
        raise Refusal(431, f"more than {limits.header_count} header lines")
    if _HEADER_BLOCK.fullmatch(block, start) is None:
        raise Refusal(
            400, "a header line is malformed (stray CR or LF, folding, space before the colon, control character)"
        )
    pairs = []
    text = block[start:-4]
    if not text.isascii():
        text = text.encode("latin-1").decode(errors="replace")  # the names are ASCII
    for line in text.split("\r\n") if len(block) > start + 2 else ():
        name, _, value = line.partition(":")
        pairs.append((name.lower(), value.strip(" \t")))
    return tuple(pairs)


def _request_fields(text: str, modern: bool, limits: HTTPLimits) -> RequestFields:
    pairs = _header_pairs(text, 0, limits)
    values = _parsed_values(pairs)
    host, expect = values.get("host", _NO_VALUES), ",".join(values.get("expect", _NO_VALUES))
    # RFC 9112 (3.2) requires the refusal: two parties may disagree about which host is meant.
    if len(host) > 1 or (modern and not host):
        raise Refusal(400, "exactly one Host header is required")
    if host and _HOST.fullmatch(host[0]) is None:
        raise Refusal(400, "the Host header is malformed")
    length = _length(values, modern) or 0
    if expect and expect.lower() != "100-continue":
        raise Refusal(417, "the only supported expectation is 100-continue")
    connection = _tokens(values.get("connection", _NO_VALUES))
    keep_alive = "close" not in connection and (modern or "keep-alive" in connection)
    # HTTP/1.0 must not get 100 Continue, and a client without a body does not wait for it (RFC 9110, 10.1.1).
    expects_continue = bool(expect) and modern and length != 0
    return RequestFields(text, Headers.of_lower(pairs), length, keep_alive, modern, expects_continue)


def _parsed_values(pairs: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """The values of the headers that decide where a message ends and what follows it."""
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in _PARSED_NAMES:
            values.setdefault(name, []).append(value)
    return values


def _length(values: Mapping[str, list[str]], modern: bool) -> int | None:
    """The one framing rule: Transfer-Encoding `chunked`, once and alone; or Content-Length once; or neither (None)."""
    encodings, lengths = values.get("transfer-encoding", _NO_VALUES), values.get("content-length", _NO_VALUES)
    if not encodings and not lengths:
        return None
    if encodings:
        # RFC 9112 (6.1) lets a server ignore Content-Length here; a proxy that ignores the other one sees another end.
        if lengths or len(encodings) > 1 or not modern:
            raise Refusal(400, "Transfer-Encoding must stand alone: once, without Content-Length, in HTTP/1.1")
        if encodings[0].lower() != "chunked":
            raise Refusal(501, "the only supported transfer encoding is chunked")
        return CHUNKED
    if len(lengths) > 1 or _DIGITS.fullmatch(lengths[0]) is None:
        raise Refusal(400, "Content-Length must be one decimal number, given once")
    return int(lengths[0])


def _tokens(values: Sequence[str]) -> set[str]:
    return {part.strip(" \t").lower() for value in values for part in value.split(",")}


def _bad_request_line(block: str) -> Refusal:
    if block.startswith("PRI * HTTP/2"):
        return Refusal(505, "HTTP/2 is not supported, use HTTP/1.1")
    return Refusal(400, "the request line is malformed; expected: METHOD /path HTTP/1.1")
