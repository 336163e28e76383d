"""A client that sends given frames one by one, and keeps the received ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hpack import Decoder

from hack.device.attacks import HELLO, frame, request
from pilotage.grpc.http2 import frames
from pilotage.grpc.http2.frames import ErrorCode

__all__ = ["HELLO", "Raw", "connected", "frame", "request"]


class Raw:
    """One connection. `closed` is how it ended, once it has."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = Decoder()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def frame(self) -> tuple[int, int, int, bytes]:
        """The next frame: type, flags, stream, payload. Raises EOFError."""
        async with asyncio.timeout(60):
            high, low, kind, flags, stream = frames.HEAD.unpack(await self._reader.readexactly(9))
            return kind, flags, stream, await self._reader.readexactly(high << 8 | low)

    async def until(self, wanted: int, stream: int | None = None) -> tuple[int, bytes]:
        """The flags and payload of the next frame of a type."""
        while True:
            kind, flags, number, payload = await self.frame()
            if kind == frames.HEADERS:
                fields = self._decoder.decode(payload, raw=True)
                payload = b"\n".join(name + b": " + value for name, value in fields)
            if kind == wanted and (stream is None or number == stream):
                return flags, payload

    async def goaway(self) -> tuple[ErrorCode, str]:
        """The code and the text of the server's GOAWAY; after an error the server must close the connection."""
        _, payload = await self.until(frames.GOAWAY)
        code, text = ErrorCode(int.from_bytes(payload[4:8], "big")), payload[8:].decode()
        if code is not ErrorCode.NO_ERROR:
            await self.end()
        return code, text

    async def end(self) -> None:
        """Wait until the server has closed the connection."""
        async with asyncio.timeout(60):
            try:
                while await self._reader.read(65536):
                    pass
            except ConnectionError:
                pass

    def abort(self) -> None:
        self._writer.transport.abort()


@asynccontextmanager
async def connected(path: object, greeting: bytes = HELLO) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        raw = Raw(reader, writer)
        await raw.send(greeting)
        yield raw
    finally:
        writer.transport.abort()
