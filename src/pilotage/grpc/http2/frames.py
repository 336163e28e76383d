"""The bytes of HTTP/2 frames and header blocks. Header fields are literals without indexing, so no state is kept."""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterable, Mapping

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD = struct.Struct(">HBBBL")
"""A frame's head: its length in two parts, type, flags, stream."""
HEAD_BYTES = 9
LARGEST_WINDOW = 2**31 - 1
DEFAULT_WINDOW = 65535
DEFAULT_FRAME_BYTES = 16384

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)

END_STREAM = 0x1
ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITISED = 0x20


class ErrorCode(enum.IntEnum):
    """Why a stream was reset or a connection ended."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    CONNECT_ERROR = 10
    ENHANCE_YOUR_CALM = 11
    INADEQUATE_SECURITY = 12
    HTTP_1_1_REQUIRED = 13

    @classmethod
    def read(cls, number: int) -> ErrorCode:
        """The code of a number; INTERNAL_ERROR for an unknown one (RFC 9113, 7)."""
        return cls(number) if 0 <= number <= 13 else cls.INTERNAL_ERROR


class Setting(enum.IntEnum):
    HEADER_TABLE_SIZE = 1
    ENABLE_PUSH = 2
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5
    MAX_HEADER_LIST_SIZE = 6


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return (len(payload) << 48 | kind << 40 | flags << 32 | stream).to_bytes(HEAD_BYTES, "big") + payload


def headers(stream: int, block: bytes, *, end: bool = False) -> bytes:
    """A header block as HEADERS and as many CONTINUATIONs as it takes."""
    flags = END_STREAM if end else 0
    # Every peer accepts frames of this size, and a block that is larger is rare: the peer's limit is not needed here.
    if len(block) <= DEFAULT_FRAME_BYTES:
        return frame(HEADERS, flags | END_HEADERS, stream, block)
    pieces = [block[at : at + DEFAULT_FRAME_BYTES] for at in range(0, len(block), DEFAULT_FRAME_BYTES)]
    # In one piece of bytes: no other frame may come between them (RFC 9113, 6.10).
    made = [frame(HEADERS, flags, stream, pieces[0])]
    made += [frame(CONTINUATION, 0, stream, piece) for piece in pieces[1:-1]]
    made.append(frame(CONTINUATION, END_HEADERS, stream, pieces[-1]))
    return b"".join(made)


def settings(values: Mapping[Setting, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HL", key, value) for key, value in values.items()))


def reset(stream: int, code: ErrorCode) -> bytes:
    return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


def goaway(last: int, code: ErrorCode, text: str = "") -> bytes:
    return frame(GOAWAY, 0, 0, struct.pack(">LL", last, code) + text.encode()[:1024])


def refusal(code: ErrorCode, text: str) -> bytes:
    """The GOAWAY of a refused connection.

    With an error its last stream is the largest possible: clients retry calls after the last stream without showing
    the reason. The client of this package recognises it by `is_refusal`.
    """
    return goaway(LARGEST_WINDOW if code is not ErrorCode.NO_ERROR else 0, code, text)


def is_refusal(last: int, code: ErrorCode) -> bool:
    """Whether a GOAWAY refuses the whole connection: no call was processed."""
    return last == LARGEST_WINDOW and code is not ErrorCode.NO_ERROR


def window_update(stream: int, increment: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))


NO_TABLE = b"\x20"
"""Starts the first header block of a connection: sets the size of the sender's dynamic table to 0."""


def block(fields: Iterable[tuple[str, str]]) -> bytes:
    """A header block: literal fields, which do not change the peer's dynamic table."""
    return b"".join(_field(name.encode("ascii"), value.encode("ascii")) for name, value in fields)


def _field(name: bytes, value: bytes) -> bytes:
    # 0x00: a literal without indexing and with a new name (RFC 7541, 6.2.2).
    return b"\x00" + _length(len(name)) + name + _length(len(value)) + value


def _length(number: int) -> bytes:
    """An integer of HPACK with a prefix of seven bits (RFC 7541, 5.1)."""
    if number < 127:
        return bytes((number,))
    made = bytearray((127,))
    number -= 127
    while number >= 128:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)
