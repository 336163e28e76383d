"""Bodies of messages, without I/O: which of the received bytes belong to a body, and where it ends."""

from __future__ import annotations

import math
import re

from pilotage.http.heads import CHUNKED, UNTIL_CLOSE, Refusal


def body_for(length: int) -> Body:
    """The body after the head of a response that declares `length` (or CHUNKED, or UNTIL_CLOSE).

    Bytes after its end are an error: no request is running to which they could belong.
    """
    if length == CHUNKED:
        return ChunkedBody()
    return SizedBody(math.inf if length == UNTIL_CLOSE else length)


class SizedBody:
    """A body of a declared length; infinite if the server ends it by closing the connection."""

    def __init__(self, length: float) -> None:
        self._left = length
        self.done = length == 0

    def feed(self, data: bytes, pieces: list[bytes]) -> int:
        """Append the body's bytes in `data` to `pieces`, and return their number. Raises Refusal."""
        size = len(data)
        if size > self._left:  # the declared part is valid, the connection cannot be reused
            pieces.append(data[: int(self._left)])
            self.done = True
            raise Refusal(400, "the body is longer than its Content-Length")
        self._left -= size
        self.done = self._left == 0
        pieces.append(data)
        return size


class ChunkedBody:
    """Decodes a chunked body strictly: short size lines, CRLF everywhere.

    Trailers of a request are refused, because a proxy in front of this server could take them for the next request
    (smuggling); bytes after the body are the next request. Trailers of a response are discarded, and bytes after it are
    an error.
    """

    def __init__(self, limit: float = math.inf, *, is_request: bool = False) -> None:
        self.done = False
        self.size = 0
        """Bytes of the body so far."""
        self.rest = b""
        """Bytes that are not decoded yet: the beginning of a size line, or what follows the body."""
        self._limit = limit
        self._is_request = is_request
        self._inside = False  # a chunk has begun, and the CRLF after it has not arrived
        self._left = 0  # bytes of that chunk that have not arrived

    def feed(self, data: bytes, pieces: list[bytes]) -> int:
        """Append the body's bytes in `data` to `pieces`, and return their number. Raises Refusal."""
        if self.rest:
            data = self.rest + data
        before, position = self.size, 0
        while position < len(data) and not self.done:
            if self._inside:
                position = self._take(data, position, pieces)
                if self._inside:
                    break
            line = _SIZE_LINE.match(data, position)
            if line is None:
                _check_size_prefix(data, position)
                break
            start, size = line.end(), int(line[1], 16)
            if size == 0:
                end = self._end(data, start)
                if end < 0:
                    break
                self.done, position = True, end
            elif self.size + size > self._limit:  # refused before its bytes arrive, so that they are not kept
                raise Refusal(413, f"the body is larger than {self._limit} bytes")
            elif data[start + size : start + size + 2] == b"\r\n":  # complete, as most watch events are: one slice
                pieces.append(data[start : start + size])
                self.size += size
                position = start + size + 2
            else:
                self._inside, self._left, position = True, size, start
        self.rest = data[position:]
        if self.done and self.rest and not self._is_request:
            raise Refusal(400, "bytes after the last chunk")
        return self.size - before

    def _take(self, data: bytes, position: int, pieces: list[bytes]) -> int:
        """Consume what has arrived of a chunk, and the CRLF after it when both bytes are there."""
        if self._left:
            piece = data[position : position + self._left]
            if piece:
                pieces.append(piece)
                self.size += len(piece)
                self._left -= len(piece)
                position += len(piece)
            if self._left:
                return position
        end = data[position : position + 2]
        if end == b"\r\n":
            self._inside = False
            return position + 2
        # One byte of the CRLF may have arrived, or none.
        if not b"\r\n".startswith(end):
            raise Refusal(400, "a chunk does not end where its size says")
        return position

    def _end(self, data: bytes, start: int) -> int:
        """The end of the body after its last size line; -1 if it has not arrived."""
        if data.startswith(b"\r\n", start):
            return start + 2
        if self._is_request and not b"\r\n".startswith(data[start:]):
            raise Refusal(400, "trailers after a chunked body are not accepted")
        end = data.find(b"\r\n\r\n", start)
        if (end if end >= 0 else len(data)) - start > _LONGEST_TRAILERS:
            raise Refusal(400, f"the trailers after a chunked body are longer than {_LONGEST_TRAILERS} bytes")
        return end + 4 if end >= 0 else -1


Body = SizedBody | ChunkedBody


def _check_size_prefix(data: bytes, position: int) -> None:
    if len(data) - position > _LONGEST_SIZE_LINE or _SIZE_PREFIX.fullmatch(data, position) is None:
        raise Refusal(400, "a chunk's size line is malformed or too long")


_LONGEST_SIZE_LINE = 8 + 256 + 2
_LONGEST_TRAILERS = 8192
# Eight digits: a size that overflows in another parser would end the body elsewhere (RFC 9112, 7.1).
_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,8})(?:;[\t\x20-\x7e\x80-\xff]{0,255})?\r\n")
_SIZE_PREFIX = re.compile(rb"(?:[0-9a-fA-F]{1,8}(?:;[\t\x20-\x7e\x80-\xff]{0,255})?\r?)?")
