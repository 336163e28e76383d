"""Splits a byte stream into requests, without I/O."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.http.bodies import ChunkedBody
from pilotage.http.heads import CHUNKED, Refusal, RequestFields, RequestHead, find_bare_line_end, parse_request_head
from pilotage.http.limits import HTTPLimits


@dataclass(slots=True)
class RawRequest:
    """A complete request: its head and its body."""

    head: RequestHead
    body: bytes


class BodyTooLarge(Refusal):
    """A request with a body over the limit, which was not read."""

    def __init__(self, head: RequestHead, limit: int) -> None:
        super().__init__(413, f"the body is larger than {limit} bytes")
        self.head = head


class RequestReader:
    """Collects received bytes and returns complete requests, one at a time, in order.

    `feed` only stores; `take` parses one request, so that pipelined requests wait unparsed.
    """

    def __init__(self, limits: HTTPLimits) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._scanned = 0  # bytes of an incomplete head that were searched for its end
        self._head: RequestHead | None = None
        self._chunks: ChunkedBody | None = None
        self._body = bytearray()  # the decoded part of a chunked body
        self._continued = False
        self._known: RequestFields | None = None

    @property
    def buffered(self) -> int:
        """Bytes that are not parsed yet."""
        return len(self._buffer)

    @property
    def head(self) -> RequestHead | None:
        """The head of the request whose body is incomplete."""
        return self._head

    @property
    def held(self) -> int:
        """Bytes held for the body that is being read."""
        if self._head is None:
            return 0
        return len(self._buffer) + (self._chunks.size + len(self._chunks.rest) if self._chunks else 0)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def take_rest(self) -> bytes:
        """The bytes after the last request, which another protocol reads from here on."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    def wants_continue(self) -> bool:
        """Whether the client waits for 100 Continue; True once for each request."""
        if self._head is None or not self._head.fields.expects_continue or self._continued:
            return False
        self._continued = True
        return not self.held

    def take(self) -> RawRequest | None:
        """The next request if it is complete. Raises Refusal; nothing can be read after that."""
        if self._head is None:
            self._head = self._take_head()
            if self._head is None:
                return None
            self._continued = False
            if self._head.fields.length > self._limits.body_bytes:
                raise BodyTooLarge(self._head, self._limits.body_bytes)
            if self._head.fields.length == CHUNKED:
                self._chunks = ChunkedBody(self._limits.body_bytes, is_request=True)
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
        """Refuse early what cannot become a head, instead of waiting for its end until the deadline."""
        buffer = self._buffer
        if buffer and not 0x41 <= buffer[0] <= 0x5A:
            message = (
                "this port serves plain HTTP, not TLS" if buffer[0] == 0x16 else "a request starts with its method"
            )
            raise Refusal(400, message)
        if find_bare_line_end(buffer, self._scanned):
            raise Refusal(400, "a header line is malformed (stray CR or LF)")

    def _take_body(self, head: RequestHead) -> bytes | None:
        if self._chunks is not None:
            return self._take_chunks(head, self._chunks)
        length = head.fields.length
        if length == 0:
            return b""
        if len(self._buffer) < length:
            return None
        body = bytes(memoryview(self._buffer)[:length])
        del self._buffer[:length]
        return body

    def _take_chunks(self, head: RequestHead, chunks: ChunkedBody) -> bytes | None:
        data = bytes(self._buffer)
        self._buffer.clear()
        pieces: list[bytes] = []
        try:
            chunks.feed(data, pieces)
        except Refusal as refusal:
            if refusal.status != 413:
                raise
            self._body.clear()
            raise BodyTooLarge(head, self._limits.body_bytes) from None
        self._body += b"".join(pieces)  # joined now: a list of tiny chunks would take many times their size
        if not chunks.done:
            return None
        self._buffer += chunks.rest  # the next, pipelined request
        body, self._body = bytes(self._body), bytearray()
        return body


_REMEMBERED = 4096  # characters of header lines that are kept for comparison with the next request's
