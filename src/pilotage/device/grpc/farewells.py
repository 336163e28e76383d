"""Connections that are turned away, with a word of why.

They stay open for a moment: the client is about to send its first words, and one that cannot send them does not read.
"""

from __future__ import annotations

import socket
from collections import deque

from pilotage.device.grpc import frames
from pilotage.device.grpc.frames import ErrorCode

_AT_ONCE = 16


class Farewells:
    """The last few of them."""

    def __init__(self) -> None:
        self._old: deque[socket.socket] = deque()
        self._new: deque[socket.socket] = deque()

    def say(self, accepted: socket.socket, code: ErrorCode, text: str) -> None:
        """Tell why; the connection is closed at the next sweep but one, or when many others come."""
        try:
            # Without SETTINGS: with them grpc-go would take it for a connection that worked, and come again at once.
            accepted.send(frames.goaway(0, code, text), socket.MSG_DONTWAIT)
            accepted.shutdown(socket.SHUT_WR)
        except OSError:  # gone already
            accepted.close()
            return
        self._new.append(accepted)
        if len(self._old) + len(self._new) > _AT_ONCE:
            (self._old or self._new).popleft().close()

    def sweep(self) -> None:
        """Close those that were there at the last sweep."""
        _close(self._old)
        self._old, self._new = self._new, self._old

    def close(self) -> None:
        """Close all."""
        _close(self._old)
        _close(self._new)


def _close(sockets: deque[socket.socket]) -> None:
    while sockets:
        sockets.popleft().close()
