"""A TCP relay that injects byte faults: it forwards bytes late, slowly, in part or not at all."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field

from pilotage.testing.faults import Bandwidth, Cut, Delay, Direction, Script, Stall

_BLOCK = 65536


@dataclass(slots=True, eq=False)
class RelayedConnection:
    """One connection through the relay: the client's side and the server's side."""

    number: int
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    passed: dict[Direction, int] = field(default_factory=lambda: {"up": 0, "down": 0})
    body_left: int | None = None
    """Cut the connection after this many bytes of the body of the next response; None: do not."""

    is_cut: bool = False
    _head_passed: bool = False

    @property
    def server_port(self) -> int:
        """The relay's own port on the server's side, by which the server can identify this connection."""
        port: int = self.server.get_extra_info("sockname")[1]
        return port

    def cut(self, *, reset: bool = False) -> None:
        """End both sides at once."""
        self.is_cut = True
        sock: socket.socket = self.client.get_extra_info("socket")
        if reset and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.client.transport.abort()
        self.client.close()
        self.server.transport.abort()

    def body_allowance(self, data: bytes, allowed: int) -> int:
        """How much of `data` may pass if the body of the answer is to be cut. Heads are taken to come in one piece."""
        if self.body_left is None:
            return allowed
        head = data.find(b"\r\n\r\n") + 4 if not self._head_passed else 0
        self._head_passed = True
        allowed = min(allowed, head + self.body_left)
        self.body_left -= allowed - head
        return allowed


class Relay:
    """Listens on a free port of the loopback and passes every connection on to one target."""

    def __init__(self, host: str, port: int, script: Script) -> None:
        self.accepted = 0
        """Connections so far."""
        self.passed: dict[Direction, int] = {"up": 0, "down": 0}
        """Bytes so far."""
        self._target = (host, port)
        self._script = script
        self._connections: dict[RelayedConnection, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._stopped = False

    @property
    def address(self) -> tuple[str, int]:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    @property
    def open(self) -> int:
        """Connections open now."""
        return len(self._connections)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def stop(self) -> None:
        """Cut everything; returns when nothing is left running."""
        assert self._server is not None
        self._stopped = True
        self._server.close()
        self.cut_all()
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)

    def cut_all(self, *, reset: bool = False) -> None:
        for connection in list(self._connections):
            connection.cut(reset=reset)

    def connection_of(self, server_port: int) -> RelayedConnection | None:
        """The connection that reaches the server from `server_port`."""
        return next((connection for connection in self._connections if connection.server_port == server_port), None)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._stopped:  # it was accepted in the same moment
            writer.transport.abort()
            return
        self.accepted += 1
        task = asyncio.get_running_loop().create_task(self._relay(self.accepted, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.close())  # also of a task that is cancelled before its first step

    async def _relay(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        connection = RelayedConnection(number, writer, server_writer)
        self._connections[connection] = None
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(connection, "up", reader, server_writer))
                group.create_task(self._pump(connection, "down", server_reader, writer))
        finally:
            del self._connections[connection]
            server_writer.close()

    async def _pump(
        self,
        connection: RelayedConnection,
        direction: Direction,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Pass bytes on in one direction until its end, or until a fault ends the connection."""
        with suppress(OSError):
            while await self._gate(connection, direction, 0) is not None and (data := await reader.read(_BLOCK)):
                while data:
                    allowed = await self._gate(connection, direction, len(data))
                    if allowed is None:
                        return
                    if direction == "down":
                        allowed = connection.body_allowance(data, allowed)
                    writer.write(data[:allowed])
                    await writer.drain()
                    connection.passed[direction] += allowed
                    self.passed[direction] += allowed
                    data = data[allowed:]
                    if connection.body_left == 0:
                        connection.cut()
            if not connection.is_cut and writer.can_write_eof():
                writer.write_eof()

    async def _gate(self, connection: RelayedConnection, direction: Direction, size: int) -> int | None:
        """How many of `size` bytes may pass, after the delays of the faults; None: the connection is cut."""
        seconds = 0.0
        allowed = size
        for fault in self._script.byte_faults(connection.number, direction):
            if isinstance(fault, Delay) and size:
                self._script.commit(fault)
                seconds += fault.seconds + fault.jitter * self._script.random.random()
            elif isinstance(fault, Bandwidth) and size:
                allowed = max(1, min(allowed, int(fault.bytes_per_second * _BANDWIDTH_STEP)))
                seconds += allowed / fault.bytes_per_second
        if seconds:
            await asyncio.sleep(seconds)
        return await self._gate_by_count(connection, direction, allowed)

    async def _gate_by_count(self, connection: RelayedConnection, direction: Direction, allowed: int) -> int | None:
        """The same for faults that wait for a number of bytes."""
        stalled = False
        while not connection.is_cut:
            stall = False
            for fault in self._script.byte_faults(connection.number, direction):
                if not isinstance(fault, Cut | Stall):
                    continue
                left = fault.after_bytes - connection.passed[direction]
                if left > 0:
                    allowed = min(allowed, left)
                elif isinstance(fault, Cut):
                    self._script.commit(fault)
                    connection.cut(reset=fault.reset)
                    self._script.poke()
                    return None
                else:
                    if not stalled:
                        self._script.commit(fault)
                    stall = stalled = True
            if not stall:
                return allowed
            await self._script.changed()
        return None


_BANDWIDTH_STEP = 0.05
