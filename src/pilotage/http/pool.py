"""The connections of a client: those in use, and the idle ones."""

from __future__ import annotations

import asyncio
import select
from collections import deque
from collections.abc import Callable

from pilotage.errors import ConnectionLost
from pilotage.http.connector import Address, connect
from pilotage.http.exchange import ClientConnection
from pilotage.http.limits import HTTPLimits, Timeouts


class Pool:
    """Opens connections, and keeps a limited number of idle ones for a limited time."""

    def __init__(
        self, address: Address, limits: HTTPLimits, timeouts: Timeouts, resolved: Callable[[float], None] | None = None
    ) -> None:
        self.address = address
        self._resolved = resolved
        self._limits = limits
        self._timeouts = timeouts
        self._busy: set[ClientConnection] = set()
        self._outdated: set[ClientConnection] = set()  # in use, but opened before `renew`
        self._idle: deque[tuple[float, ClientConnection]] = deque()  # the longest idle first
        self._closing: list[ClientConnection] = []  # not idle any more; the end of TLS takes a round trip
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self.opened = 0

    @property
    def busy(self) -> int:
        return len(self._busy)

    @property
    def idle(self) -> int:
        return len(self._idle)

    def renew(self, address: Address) -> None:
        """Use another address for new connections; the open ones are not used for another exchange."""
        self.address = address
        self._outdated.update(self._busy)
        while self._idle:
            self._retire_idle()

    def take(self) -> ClientConnection | None:
        """The most recently used idle connection that is still open, or None."""
        while self._idle:
            _, connection = self._idle.pop()
            if connection.reusable and not _readable(connection):
                self._busy.add(connection)
                return connection
            connection.abort()
        return None

    async def open(self) -> ClientConnection:
        """Open a new connection."""
        connection = await connect(self.address, self._limits, self._timeouts, self._resolved)
        if self._closed:
            connection.abort()
            raise ConnectionLost("the client was closed", sent=False)
        self.opened += 1
        self._busy.add(connection)
        return connection

    def give_back(self, connection: ClientConnection) -> None:
        """Keep the connection after its exchange if it can be reused; else close it."""
        self._busy.discard(connection)
        connection.release()
        if self._closed or not connection.reusable or connection in self._outdated:
            self._outdated.discard(connection)
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        self._idle.append((loop.time(), connection))
        if len(self._idle) > self._limits.pool_connections:
            self._retire_idle()
        if self._timer is None:
            self._timer = loop.call_later(self._timeouts.idle, self._expire)

    async def close(self) -> None:
        """Close every connection, and wait until the sockets are closed."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._idle:
            self._retire_idle()
        for connection in self._busy:
            connection.fail("the client was closed")
        for connection in (*self._closing, *self._busy):
            await connection.wait_closed()

    def _retire_idle(self) -> None:
        """Close the connection that is idle for the longest time, and keep it until that is done."""
        _, connection = self._idle.popleft()
        connection.close()
        self._closing = [each for each in (*self._closing, connection) if not each.is_closed]

    def _expire(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._idle and self._idle[0][0] + self._timeouts.idle <= loop.time():
            self._retire_idle()
        if self._idle:
            self._timer = loop.call_at(self._idle[0][0] + self._timeouts.idle, self._expire)


def _readable(connection: ClientConnection) -> bool:
    """Whether bytes or the end have arrived that the loop has not read: on an idle connection that is its end.

    So a write that cannot be retried is seldom sent on a connection that the server has just closed.
    """
    descriptor = connection.file_descriptor()
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
