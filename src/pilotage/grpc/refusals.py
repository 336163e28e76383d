"""Refuses connections with a reason that the client can show.

A client gets SETTINGS first, as HTTP/2 requires, and then GOAWAY with the reason. The GOAWAY is delayed until the
client's first call, for a moment at most. To grpc-go, a connection with SETTINGS is established: if it ends before a
call, grpc-go connects again at once, in a loop. A call that was sent fails with the reason, unless the GOAWAY excludes
it by its last stream.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from time import thread_time

from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode

_MAX_OPEN = 16
_FIRST_CALL_SECONDS = 0.25
_MAX_SCANNED = 4096  # bytes that are searched for a call
_SETTINGS = frames.settings({})


class RefusedConnections:
    """The last few refused connections. `spend` gets the CPU time that they take after they were accepted."""

    def __init__(self, loop: asyncio.AbstractEventLoop, spend: Callable[[float], None] = lambda seconds: None) -> None:
        self._loop = loop
        self._spend = spend
        self._old: deque[_Refused] = deque()
        self._new: deque[_Refused] = deque()

    def __len__(self) -> int:
        return len(self._old) + len(self._new)

    def refuse(self, accepted: socket.socket, code: ErrorCode, text: str) -> None:
        """Send SETTINGS, and soon the reason; close at the second sweep from now, or when many others are refused."""
        try:
            accepted.setblocking(False)
            accepted.send(_SETTINGS)
        except OSError:  # the client has closed it
            accepted.close()
            return
        self._new.append(_Refused(self._loop, accepted, frames.refusal(code, text), self._spend))
        if len(self) > _MAX_OPEN:
            (self._old or self._new).popleft().close()

    def sweep(self) -> None:
        """Close those that were there before the last sweep."""
        while self._old:
            self._old.popleft().close()
        self._old, self._new = self._new, self._old

    def close(self) -> None:
        """Close all."""
        self.sweep()
        self.sweep()


class _Refused:
    """A refused connection that waits for its first call."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, accepted: socket.socket, goaway: bytes, spend: Callable[[float], None]
    ) -> None:
        self._loop = loop
        self._socket = accepted
        self._goaway = goaway
        self._spend = spend
        self._data = b""
        self._answered = False
        loop.add_reader(accepted, self._read)
        self._timer = loop.call_later(_FIRST_CALL_SECONDS, self._send_reason)

    def close(self) -> None:
        self._send_reason()
        self._socket.close()

    def _read(self) -> None:
        began = thread_time()
        try:
            data = self._socket.recv(_MAX_SCANNED)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        self._data += data
        if not data or len(self._data) >= _MAX_SCANNED or has_call(self._data):
            self._send_reason()
        self._spend(thread_time() - began)

    def _send_reason(self) -> None:
        if self._answered:
            return
        self._answered, self._data = True, b""
        self._timer.cancel()
        self._loop.remove_reader(self._socket)
        try:
            self._socket.send(self._goaway)
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:  # closed, or the client does not read
            pass


def has_call(data: bytes) -> bool:
    """Whether the received bytes contain a call, or are not HTTP/2."""
    if not frames.PREFACE.startswith(data[: len(frames.PREFACE)]):
        return True
    offset = len(frames.PREFACE)
    while len(data) >= offset + frames.HEAD_BYTES:
        high, low, kind, _, _ = frames.HEAD.unpack_from(data, offset)
        if kind == frames.HEADERS:
            return True
        offset += frames.HEAD_BYTES + (high << 8 | low)
    return False
