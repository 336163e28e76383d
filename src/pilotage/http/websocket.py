"""WebSocket on the server's side, without I/O: the handshake, and streams of messages to a client.

What the client sends is only read for pings and for its close; its messages are discarded as they arrive.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence
from urllib.parse import urlsplit

from pilotage.http.heads import Refusal
from pilotage.http.messages import Headers

VERSION = "13"
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of RFC 6455
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
_FINAL, _MASKED = 0x80, 0x80
_NORMAL, _PROTOCOL_ERROR = 1000, 1002
_MAX_CONTROL = 125
"""Bytes of a control frame."""


def is_upgrade(headers: Headers) -> bool:
    """Whether a request asks for a WebSocket."""
    return "upgrade" in tokens(headers, "connection") and "websocket" in tokens(headers, "upgrade")


def tokens(headers: Headers, name: str) -> list[str]:
    """The tokens of all header lines of this name, in lower case."""
    return [part.strip().lower() for value in headers.all(name) for part in value.split(",") if part.strip()]


def accept(headers: Headers, protocols: Sequence[str]) -> list[tuple[str, str]]:
    """The headers of the response with status 101. `protocols` are those that the client offers: at most one.

    Raises Refusal. As in kube-apiserver, a client has to name its origin, which any browser does.
    """
    if headers.get("sec-websocket-version") != VERSION:
        raise Refusal(400, "missing or bad WebSocket Version")
    key = headers.get("sec-websocket-key")
    if not key:
        raise Refusal(400, "mismatch challenge/response")
    if not _is_origin(headers.get("origin")):
        raise Refusal(403, "the header Origin is missing, or is not a URL")
    if len(protocols) > 1:
        raise Refusal(400, "more than one subprotocol is offered")
    digest = hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()
    accepted = [("sec-websocket-accept", base64.b64encode(digest).decode())]
    return accepted + [("sec-websocket-protocol", protocol) for protocol in protocols]


def message(data: bytes, *, binary: bool = False) -> bytes:
    """One message to the client, as a frame."""
    return _frame(_BINARY if binary else _TEXT, data)


class WebSocket:
    """What arrives on a connection after the handshake. An `http.messages.Upgraded`."""

    def __init__(self) -> None:
        self.name = "websocket"
        self.ended = False
        self._rest = b""  # the beginning of a frame
        self._discarded = 0  # bytes of the last frame that are still to come, and do not matter
        self._code = _NORMAL

    def received(self, data: bytes) -> bytes:
        """The answers to the pings in `data`. After a close, or what no client may send, the stream has `ended`."""
        if self.ended:
            return b""
        if self._rest:
            data = self._rest + data
        answers: list[bytes] = []
        position = 0
        while not self.ended:
            skipped = min(self._discarded, len(data) - position)
            self._discarded -= skipped
            position += skipped
            end = self._take(data, position, answers)
            if end == position:
                break
            position = end
        self._rest = b"" if self.ended else data[position:]
        return b"".join(answers)

    def last(self) -> bytes:
        """The close of the server, which ends the stream."""
        return _frame(_CLOSE, struct.pack(">H", self._code))

    def _take(self, data: bytes, start: int, answers: list[bytes]) -> int:
        """Read the frame at `start` if its head, and its content if it matters, have arrived. Its end; else `start`."""
        if len(data) < start + 2:
            return start
        opcode, length, position = data[start] & 0x0F, data[start + 1] & 0x7F, start + 2
        if not data[start + 1] & _MASKED:
            self.ended, self._code = True, _PROTOCOL_ERROR
            return start
        if extended := {126: 2, 127: 8}.get(length, 0):
            length = int.from_bytes(data[position : position + extended], "big")
            position += extended
        content = min(length, _MAX_CONTROL) if opcode == _PING else 0
        if len(data) < position + 4 + content:
            return start
        mask, position = data[position : position + 4], position + 4
        if opcode == _CLOSE:
            self.ended = True
        elif opcode == _PING:
            sent = data[position : position + content]
            answers.append(_frame(_PONG, bytes(byte ^ mask[at & 3] for at, byte in enumerate(sent))))
        self._discarded = length - content
        return position + content


def _frame(opcode: int, data: bytes) -> bytes:
    length = len(data)
    if length <= _MAX_CONTROL:
        head = bytes((_FINAL | opcode, length))
    elif length < 1 << 16:
        head = struct.pack(">BBH", _FINAL | opcode, 126, length)
    else:
        head = struct.pack(">BBQ", _FINAL | opcode, 127, length)
    return head + data


def _is_origin(text: str) -> bool:
    try:
        found = urlsplit(text)
    except ValueError:
        return False
    return text.startswith("/") or bool(found.scheme and found.netloc)
