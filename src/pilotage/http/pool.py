"""A client's connections: those at work, and the idle ones kept for the next request."""

from __future__ import annotations

import asyncio
import select
from collections import deque

from pilotage.errors import ConnectionLost
from pilotage.http.connector import Address, connect
from pilotage.http.exchange import ClientConnection
from pilotage.http.limits import Limits, Timeouts


class Pool:
    """Opens connections and keeps the most recently used, a bounded number for a bounded time."""

    def __init__(self, address: Address, limits: Limits, timeouts: Timeouts) -> None:
        self.address = address
        self._limits = limits
        self._timeouts = timeouts
        self._busy: set[ClientConnection] = set()
        self._outdated: set[ClientConnection] = set()  # at work, but opened before the address was renewed
        self._idle: deque[tuple[float, ClientConnection]] = deque()  # the longest idle first
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
        """Open connections otherwise from now on; those that are there are not used for another exchange."""
        self.address = address
        self._outdated.update(self._busy)
        while self._idle:
            self._idle.popleft()[1].close()

    def take(self) -> ClientConnection | None:
        """The connection used last, if one is still good."""
        while self._idle:
            _, connection = self._idle.pop()
            if connection.reusable and not _readable(connection):
                self._busy.add(connection)
                return connection
            connection.abort()
        return None

    async def open(self) -> ClientConnection:
        """A fresh connection."""
        connection = await connect(self.address, self._limits, self._timeouts)
        if self._closed:
            connection.abort()
            raise ConnectionLost("the client was closed", sent=False)
        self.opened += 1
        self._busy.add(connection)
        return connection

    def give_back(self, connection: ClientConnection) -> None:
        """The exchange is over; the connection is kept if it can be used again."""
        self._busy.discard(connection)
        connection.release()
        if self._closed or not connection.reusable or connection in self._outdated:
            self._outdated.discard(connection)
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        self._idle.append((loop.time(), connection))
        if len(self._idle) > self._limits.pool_connections:
            self._idle.popleft()[1].close()
        if self._timer is None:
            self._timer = loop.call_later(self._timeouts.idle, self._expire)

    async def close(self) -> None:
        """Close every connection, and wait until the sockets are gone."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        connections = [connection for _, connection in self._idle]
        for connection in connections:
            connection.close()
        self._idle.clear()
        for connection in self._busy:
            connection.fail("the client was closed")
            connections.append(connection)
        for connection in connections:
            await connection.closed()

    def _expire(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._idle and self._idle[0][0] + self._timeouts.idle <= loop.time():
            self._idle.popleft()[1].close()
        if self._idle:
            self._timer = loop.call_at(self._idle[0][0] + self._timeouts.idle, self._expire)


def _readable(connection: ClientConnection) -> bool:
    """Whether something came that the loop has not looked at yet: on an idle connection that can only be its end.

    So a write that may not be repeated is seldom lost on a connection that the server has just closed.
    """
    descriptor = connection.file_descriptor()
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
