"""A byte stream cut into requests, without any I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pilotage.http.heads import CHUNKED, Refusal, RequestFields, RequestHead, find_bare_line_end, parse_request_head
from pilotage.http.limits import Limits


@dataclass(slots=True)
class RawRequest:
    """A complete request: its head and its body."""

    head: RequestHead
    body: bytes


class RequestReader:
    """Collects what a client sends and gives back whole requests, one at a time, in order.

    `feed` only stores; `take` parses as far as one request, so that what was sent ahead waits unparsed.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._scanned = 0  # of an incomplete head: looked at already
        self._head: RequestHead | None = None
        self._chunks: ChunkedReader | None = None
        self._continued = False
        self._known: RequestFields | None = None

    @property
    def buffered(self) -> int:
        """Bytes that wait, unparsed."""
        return len(self._buffer)

    @property
    def head(self) -> RequestHead | None:
        """The head of the request whose body is still coming."""
        return self._head

    @property
    def held(self) -> int:
        """Bytes held for the body that is being read."""
        if self._head is None:
            return 0
        return len(self._buffer) + (len(self._chunks.body) if self._chunks else 0)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def wants_continue(self) -> bool:
        """Whether the client waits for 100 Continue now; asks once for each request."""
        if self._head is None or not self._head.fields.expects_continue or self._continued:
            return False
        self._continued = True
        return not self._buffer

    def take(self) -> RawRequest | None:
        """The next request if it is there whole. Raises Refusal; nothing can be read after that."""
        if self._head is None:
            self._head = self._take_head()
            if self._head is None:
                return None
            self._continued = False
            if self._head.fields.length == CHUNKED:
                self._chunks = ChunkedReader(self._limits.body_bytes)
        body = self._take_body(self._head)
        if body is None:
            return None
        request = RawRequest(self._head, body)
        self._head = self._chunks = None
        return request

    def _take_head(self) -> RequestHead | None:
        buffer = self._buffer
        end = buffer.find(b"\r\n\r\n", self._scanned)
        size = (end + 4) if end >= 0 else len(buffer)
        if size > self._limits.header_bytes:
            raise Refusal(431, f"the head is larger than {self._limits.header_bytes} bytes")
        if end < 0:
            self._check_start()
            self._scanned = max(0, size - 3)
            return None
        head = parse_request_head(buffer[:size].decode("latin-1"), self._limits, self._known)
        self._known = head.fields if len(head.fields.text) <= _REMEMBERED else None
        del buffer[:size]
        self._scanned = 0
        return head

    def _check_start(self) -> None:
        """Refuse early what can never become a head, instead of waiting for its end until the deadline."""
        buffer = self._buffer
        if buffer and not 0x41 <= buffer[0] <= 0x5A:
            said = "this port speaks plain HTTP, not TLS" if buffer[0] == 0x16 else "a request starts with its method"
            raise Refusal(400, said)
        if find_bare_line_end(buffer, self._scanned):
            raise Refusal(400, "a header line is malformed (stray CR or LF)")

    def _take_body(self, head: RequestHead) -> bytes | None:
        if self._chunks is not None:
            return bytes(self._chunks.body) if self._chunks.read(self._buffer) else None
        length = head.fields.length
        if length == 0:
            return b""
        if len(self._buffer) < length:
            return None
        body = bytes(memoryview(self._buffer)[:length])
        del self._buffer[:length]
        return body


class ChunkedReader:
    """Decodes a chunked body strictly: no trailers, short extensions, CRLF everywhere."""

    def __init__(self, limit: int) -> None:
        self.body = bytearray()
        self._limit = limit
        self._left = -1  # bytes of the chunk that are still to come; -1: a size line comes next

    def read(self, buffer: bytearray) -> bool:
        """Take what can be taken from the front of `buffer`; True at the end of the body. Raises Refusal."""
        position = 0
        try:
            while True:
                if self._left < 0:
                    position, done = self._size(buffer, position)
                    if done or self._left < 0:
                        return done
                position = self._data(buffer, position)
                if self._left >= 0:
                    return False
        finally:
            del buffer[:position]

    def _size(self, buffer: bytearray, position: int) -> tuple[int, bool]:
        line = _SIZE_LINE.match(buffer, position)
        if line is None:
            if len(buffer) - position > _LONGEST_SIZE_LINE or _SIZE_PREFIX.fullmatch(buffer, position) is None:
                raise Refusal(400, "a chunk's size line is malformed or too long")
            return position, False
        size = int(line[1], 16)
        if size:
            if len(self.body) + size > self._limit:
                raise Refusal(413, f"the body is larger than {self._limit} bytes")
            self._left = size
            return line.end(), False
        end = line.end()
        last = buffer[end : end + 2]
        if not b"\r\n".startswith(last):
            raise Refusal(400, "trailers after a chunked body are not accepted")
        return (end + 2, True) if len(last) == 2 else (position, False)

    def _data(self, buffer: bytearray, position: int) -> int:
        """Take chunk data, and the CRLF after it once both its bytes are there."""
        take = min(self._left, len(buffer) - position)
        if take:
            self.body += memoryview(buffer)[position : position + take]
            self._left -= take
            position += take
        if self._left == 0:
            end = buffer[position : position + 2]
            if not b"\r\n".startswith(end):
                raise Refusal(400, "a chunk does not end where its size says")
            if len(end) == 2:
                self._left = -1
                position += 2
        return position


_REMEMBERED = 4096  # characters of header lines that are kept for comparison with the next request's
_LONGEST_SIZE_LINE = 8 + 256 + 2
_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,8})(?:;[\t\x20-\x7e\x80-\xff]{0,255})?\r\n")
_SIZE_PREFIX = re.compile(rb"(?:[0-9a-fA-F]{1,8}(?:;[\t\x20-\x7e\x80-\xff]{0,255})?\r?)?")
