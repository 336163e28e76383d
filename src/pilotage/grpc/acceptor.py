"""Takes connections from a listening socket. Who is turned away and comes again may not keep the loop busy."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from time import thread_time

from pilotage.grpc.guard import Share
from pilotage.telemetry.logs import logger

log = logger("pilotage.grpc")

Take = Callable[[socket.socket], bool]
"""Serve an accepted connection, or turn it away and say False."""

_AT_ONCE = 16
# Of a core's time. While it is used up nobody is accepted, and new clients wait in the kernel's queue, where all users
# are alike. Less would be better for those who are connected, more for those who want to be.
_REFUSING = 0.1
_BURST = 0.001  # seconds
_PAUSE = 0.1  # seconds after which what failed may work
_SAID_EVERY = 60.0


class Acceptor:
    """Accepts between `open` and `close`. The socket stays the caller's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, listener: socket.socket, take: Take) -> None:
        self._loop = loop
        self._listener = listener
        self._take = take
        self._refusing = Share(_REFUSING, _BURST, loop.time())
        self._resting: asyncio.TimerHandle | None = None
        self._said = float("-inf")

    def open(self) -> None:
        self._listener.setblocking(False)
        self._listen()

    def close(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        self._loop.remove_reader(self._listener)

    def spend(self, seconds: float) -> None:
        """Count CPU time that a refused connection took later."""
        self._refusing.spend(seconds)

    def _listen(self) -> None:
        self._resting = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """One that is served, or some that are not; more in another turn."""
        for _ in range(_AT_ONCE):
            wait = self._refusing.wait(self._loop.time())
            if wait:
                self._rest(wait)
                return
            began = thread_time()
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # mostly: out of file descriptors
                self._say(error)
                self._rest(_PAUSE)
                return
            if self._take(accepted):
                return
            self._refusing.spend(thread_time() - began)

    def _rest(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._resting = self._loop.call_later(seconds, self._listen)

    def _say(self, error: OSError) -> None:
        now = self._loop.time()
        if now - self._said > _SAID_EVERY:
            self._said = now
            log.warning("cannot accept connections, trying again until it works", error=str(error))
