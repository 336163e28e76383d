"""Connections that are refused, with the reason.

A client gets SETTINGS first, as HTTP/2 wants it, and then GOAWAY with the reason. The GOAWAY waits a moment for the
client's first call. To grpc-go, a connection with SETTINGS is one that works: where it ends before a call was sent on
it, another one is made at once, and so on. A call that was sent fails with the reason, unless the GOAWAY excludes it by
its last stream.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from time import thread_time

from pilotage.grpc import frames
from pilotage.grpc.frames import ErrorCode

_AT_ONCE = 16
_PATIENCE = 0.25  # seconds for the first call
_LONGEST = 4096  # bytes that are looked through for a call
_SETTINGS = frames.settings({})


class RefusedConnections:
    """The last few of them. `spend` receives the CPU time that they take after they were accepted."""

    def __init__(self, loop: asyncio.AbstractEventLoop, spend: Callable[[float], None] = lambda seconds: None) -> None:
        self._loop = loop
        self._spend = spend
        self._old: deque[_Refused] = deque()
        self._new: deque[_Refused] = deque()

    def __len__(self) -> int:
        return len(self._old) + len(self._new)

    def say(self, accepted: socket.socket, code: ErrorCode, text: str) -> None:
        """Send SETTINGS, and soon the reason; close at the next sweep but one, or when many others come."""
        try:
            accepted.setblocking(False)
            accepted.send(_SETTINGS)
        except OSError:  # gone already
            accepted.close()
            return
        self._new.append(_Refused(self._loop, accepted, frames.refusal(code, text), self._spend))
        if len(self) > _AT_ONCE:
            (self._old or self._new).popleft().close()

    def sweep(self) -> None:
        """Close those that were there at the last sweep."""
        _close(self._old)
        self._old, self._new = self._new, self._old

    def close(self) -> None:
        """Close all."""
        _close(self._old)
        _close(self._new)


class _Refused:
    """One of them, until its first call or until it is too late for one."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, accepted: socket.socket, words: bytes, spend: Callable[[float], None]
    ) -> None:
        self._loop = loop
        self._socket = accepted
        self._words = words
        self._spend = spend
        self._data = b""
        self._answered = False
        loop.add_reader(accepted, self._read)
        self._timer = loop.call_later(_PATIENCE, self._say_why)

    def close(self) -> None:
        self._say_why()
        self._socket.close()

    def _read(self) -> None:
        began = thread_time()
        try:
            data = self._socket.recv(_LONGEST)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        self._data += data
        if not data or len(self._data) >= _LONGEST or has_call(self._data):
            self._say_why()
        self._spend(thread_time() - began)

    def _say_why(self) -> None:
        if self._answered:
            return
        self._answered, self._data = True, b""
        self._timer.cancel()
        self._loop.remove_reader(self._socket)
        try:
            self._socket.send(self._words)
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:  # gone, or it does not read
            pass


def has_call(data: bytes) -> bool:
    """Whether what a client has sent so far holds a call, or is not HTTP/2 at all."""
    if not frames.PREFACE.startswith(data[: len(frames.PREFACE)]):
        return True
    place = len(frames.PREFACE)
    while len(data) >= place + frames.HEAD_BYTES:
        high, low, kind, _, _ = frames.HEAD.unpack_from(data, place)
        if kind == frames.HEADERS:
            return True
        place += frames.HEAD_BYTES + (high << 8 | low)
    return False


def _close(several: deque[_Refused]) -> None:
    while several:
        several.popleft().close()
