"""A client that speaks bytes, for what no honest client would send."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext

GUARD = 60.0
"""Seconds after which a test that hangs is ended."""


async def until(condition: Callable[[], object]) -> None:
    """Let the loop go round until `condition` holds."""
    async with asyncio.timeout(GUARD):
        while not condition():  # noqa: ASYNC110  # what is looked at has no event to wait for
            await asyncio.sleep(0.001)


class Raw:
    """A connection that sends any bytes and returns the received ones."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def receive(self) -> bytes:
        """Everything until the other side ends or cuts the connection."""
        received = b""
        try:
            async with asyncio.timeout(GUARD):
                while data := await self.reader.read(65536):
                    received += data
        except ConnectionError:
            pass
        return received

    async def response(self) -> bytes:
        """One response with a Content-Length, whole."""
        async with asyncio.timeout(GUARD):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            return head + await self.reader.readexactly(length)


@asynccontextmanager
async def connect(port: int, ssl: SSLContext | None = None) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=ssl)
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def exchange(port: int, data: bytes) -> bytes:
    """Send `data` on a new connection, end the sending side, and read until the connection ends."""
    async with connect(port) as raw:
        raw.send(data)
        raw.writer.write_eof()
        return await raw.receive()


def statuses(received: bytes) -> list[int]:
    """The statuses of the responses in what was received."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", received)]


def reset(client: Raw) -> None:
    """End the connection with a reset (RST)."""
    sock: socket.socket = client.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.writer.transport.abort()
