"""Accepts connections from a listening socket while their number is below the limit, within a share of CPU time for
refusals."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from time import thread_time

from pilotage.net.cpushare import CPUShare
from pilotage.telemetry.logs import logger

log = logger("pilotage.net")

Serve = Callable[[socket.socket], bool]
"""Starts to serve an accepted connection and returns True, or refuses it and returns False."""

_REFUSALS_PER_TURN = 16
# Of a core's time. While it is used up no connection is accepted, and new clients wait in the kernel's accept queue,
# which has no order by user. A smaller share favours connected clients, a larger one new clients.
_REFUSAL_SHARE = 0.1
_REFUSAL_BURST = 0.001  # seconds
# A refusal takes a tenth of this. The rest of a longer one is work of the program, for example a run of the garbage
# collector, and must not delay new clients of other users by ten times its length.
_MAX_REFUSAL = 0.002  # seconds
_PAUSE = 0.1  # seconds until accepting is tried again
_LOG_INTERVAL = 60.0


class Acceptor:
    """Accepts between `open` and `close`. The socket remains the caller's.

    While `has_room` returns False no connection is accepted, and `make_room` may close one: both are called only when
    a client waits. `resume` accepts again at once, else it is tried again after a moment.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        serve: Serve,
        *,
        has_room: Callable[[], bool] = lambda: True,
        make_room: Callable[[], None] = lambda: None,
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._serve = serve
        self._has_room = has_room
        self._make_room = make_room
        self._refusals = CPUShare(_REFUSAL_SHARE, _REFUSAL_BURST, loop.time())
        self._paused: asyncio.TimerHandle | None = None
        self._full = False
        self._logged_at = float("-inf")

    def open(self) -> None:
        self._listener.setblocking(False)
        self._listen()

    def close(self) -> None:
        """Call it before the socket is closed: the loop polls the socket until then."""
        if self._paused is not None:
            self._paused.cancel()
        self._full = False
        self._loop.remove_reader(self._listener)

    def resume(self) -> None:
        """Accept again if the limit was reached: a connection has ended."""
        if self._full and self._paused is not None:
            self._paused.cancel()
            self._listen()

    def spend(self, seconds: float) -> None:
        """Count CPU time that a refused connection took, also after it was accepted."""
        self._refusals.spend(min(seconds, _MAX_REFUSAL))

    def _listen(self) -> None:
        self._paused = None
        self._full = False
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accept one connection that is served, or some that are refused. The loop calls this again for the rest."""
        for _ in range(_REFUSALS_PER_TURN):
            wait = self._refusals.wait(self._loop.time())
            if wait:
                self._pause(wait)
                return
            if not self._has_room():
                self._full = True
                self._make_room()
                self._pause(_PAUSE)
                return
            began = thread_time()
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # in most cases: out of file descriptors
                self._log_failure(error)
                self._make_room()
                self._pause(_PAUSE)
                return
            if self._serve(accepted):
                return
            self.spend(thread_time() - began)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._paused = self._loop.call_later(seconds, self._listen)

    def _log_failure(self, error: OSError) -> None:
        now = self._loop.time()
        if now - self._logged_at > _LOG_INTERVAL:
            self._logged_at = now
            address = self._listener.getsockname()
            log.warning("Cannot accept connections, retrying", address=address, seconds=_PAUSE, error=error)
