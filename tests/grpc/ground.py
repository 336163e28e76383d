"""Fixtures of the tests of this package: a server on a socket in a separate folder, and a channel to it."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from pilotage.grpc.channel import GRPCChannel
from pilotage.grpc.dialer import Address
from pilotage.grpc.options import ChannelOptions, ServerOptions
from pilotage.grpc.rpc import Call, Code, Handlers, Outgoing, Reply, RPCError, frame
from pilotage.grpc.server import Admit, Server, admit_all, serve

ECHO = "/test.Service/Echo"
FAIL = "/test.Service/Fail"
BREAK = "/test.Service/Break"
HANG = "/test.Service/Hang"
LARGE = "/test.Service/Large"
COUNT = "/test.Service/Count"
WATCH = "/test.Service/Watch"
SHOUT = "/test.Service/Shout"

UNLIMITED = ServerOptions(requests_per_second=0, connects_per_second=0)


class Service:
    """A service whose state a test can inspect."""

    def __init__(self) -> None:
        self.hanging = 0
        self.cancelled = 0
        self.watchers: list[Outgoing] = []
        self.calls: list[Call] = []
        self.changed = asyncio.Condition()

    def handlers(self) -> Handlers:
        unary = {ECHO: self.echo, FAIL: self.fail, BREAK: self.break_down, HANG: self.hang, LARGE: self.large}
        return Handlers(unary, {COUNT: self.count, WATCH: self.watch}, {SHOUT: self.shout})

    async def echo(self, call: Call, message: bytes) -> Reply:
        self.calls.append(call)
        return Reply(message, {"x-method": call.name})

    async def fail(self, call: Call, message: bytes) -> Reply:
        raise RPCError(Code.NOT_FOUND, "no such thing: 100% größer\n", trailers={"details-bin": b'{"code":404}'})

    async def break_down(self, call: Call, message: bytes) -> Reply:
        raise LookupError("a secret")

    async def hang(self, call: Call, message: bytes) -> Reply:
        await self._counted("hanging")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await self._counted("cancelled")
            raise
        return Reply(b"")

    async def large(self, call: Call, message: bytes) -> Reply:
        return Reply(bytes(1 << 20))

    async def count(self, call: Call, message: bytes, outgoing: Outgoing) -> None:
        """`<how many>:<how large>`."""
        number, size = message.split(b":")
        for at in range(int(number)):
            one = frame(str(at).encode().ljust(int(size)))
            while not outgoing.write([one]):
                await outgoing.wait_drained()

    async def watch(self, call: Call, message: bytes, outgoing: Outgoing) -> None:
        await outgoing.open({"x-open": "yes"})
        self.watchers.append(outgoing)
        await self._counted("hanging")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await self._counted("cancelled")
            raise

    async def shout(self, call: Call, messages: AsyncIterator[bytes], outgoing: Outgoing) -> None:
        async for message in messages:
            while not outgoing.write([frame(message.upper())]):
                await outgoing.wait_drained()

    async def until(self, *, hanging: int | None = None, cancelled: int | None = None) -> None:
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(
                lambda: (
                    (hanging is None or self.hanging >= hanging) and (cancelled is None or self.cancelled >= cancelled)
                )
            )

    async def _counted(self, what: str) -> None:
        setattr(self, what, getattr(self, what) + 1)
        async with self.changed:
            self.changed.notify_all()


@contextmanager
def socket_path() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="grpc-") as folder:
        yield f"{folder}/s"


@asynccontextmanager
async def served(
    handlers: Handlers | None = None, options: ServerOptions = UNLIMITED, admit: Admit = admit_all
) -> AsyncIterator[Server]:
    """A server on a Unix socket; its address is the path."""
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        async with serve(handlers or Service().handlers(), sock=listener, options=options, admit=admit) as listening:
            yield listening


@asynccontextmanager
async def channel(listening: Server | str, options: ChannelOptions | None = None) -> AsyncIterator[GRPCChannel]:
    path = listening if isinstance(listening, str) else str(listening.address)
    opened = GRPCChannel(Address(path=path), options)
    try:
        yield opened
    finally:
        await opened.close()


def port(listening: Server) -> int:
    """Where a server listens that has no path."""
    assert isinstance(listening.address, tuple)
    return listening.address[1]
