"""The anchor of the fan-out: the same changes sent by a plain grpclib server, one queue and one send for each watcher.

Run as a process of its own: `python -m bench.device.anchor SOCKET SIZE RATE`. It prints `ready`; each line of standard
input is a number of changes to make, at RATE a second; when they are made it prints the last one's version. It ends
with its standard input.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from grpclib.const import Cardinality, Handler
from grpclib.encoding.base import CodecBase
from grpclib.server import Server, Stream

from bench.device.stamps import stamp
from pilotage.device.wire.generation import method_path

METHOD = method_path("WatchGpus")


class Plain(CodecBase):
    """Messages that are already encoded: only the sending is measured."""

    __content_subtype__ = "proto"

    def encode(self, message: bytes, message_type: Any) -> bytes:
        return message

    def decode(self, data: bytes, message_type: Any) -> bytes:
        return data


class Watched:
    """A service with one method, which sends every change to every caller."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._queues: set[asyncio.Queue[bytes]] = set()
        self._version = 0

    def change(self) -> int:
        """Send the change to all watchers, encoded once."""
        self._version += 1
        text = stamp(time.monotonic_ns(), self._version).encode()
        message = text.ljust(self._size, b".")
        for queue in self._queues:
            queue.put_nowait(message)
        return self._version

    async def watch(self, stream: Stream[bytes, bytes]) -> None:
        await stream.recv_message()
        await stream.send_initial_metadata()
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._queues.add(queue)
        try:
            while True:
                await stream.send_message(await queue.get())
        finally:
            self._queues.discard(queue)

    def __mapping__(self) -> dict[str, Handler]:
        return {METHOD: Handler(self.watch, Cardinality.UNARY_STREAM, bytes, bytes)}


async def main(path: str, size: int, rate: float) -> None:
    watched = Watched(size)
    server = Server([watched], codec=Plain())
    await server.start(path=path)
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        began, version = time.monotonic(), 0
        for number in range(int(line)):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            version = watched.change()
        print(version, flush=True)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
