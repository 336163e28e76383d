"""grpclib, an independent implementation, calls our server, and serves our channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpclib.client
import grpclib.const
import grpclib.encoding.base
import grpclib.server
import pytest

from pilotage.grpc.rpc import Code, RPCError

from .ground import COUNT, ECHO, FAIL, LARGE, SHOUT, WATCH, Service, channel, served, socket_path


class Plain(grpclib.encoding.base.CodecBase):
    """Messages are bytes."""

    __content_subtype__ = "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> Any:
        return data


@asynccontextmanager
async def theirs(path: str) -> AsyncIterator[grpclib.client.Channel]:
    opened = grpclib.client.Channel(path=path, codec=Plain())
    try:
        yield opened
    finally:
        opened.close()


async def test_their_client_calls_our_server() -> None:
    async with served() as listening, theirs(str(listening.address)) as opened:
        unary = grpclib.client.UnaryUnaryMethod(opened, ECHO, bytes, bytes)
        assert await unary(b"hello", timeout=60) == b"hello"
        assert await unary(bytes(300_000)) == bytes(300_000)
        large = grpclib.client.UnaryUnaryMethod(opened, LARGE, bytes, bytes)
        assert await large(b"") == bytes(1 << 20)
        with pytest.raises(grpclib.GRPCError) as caught:
            await grpclib.client.UnaryUnaryMethod(opened, FAIL, bytes, bytes)(b"")
        assert caught.value.status is grpclib.const.Status.NOT_FOUND
        assert caught.value.message == "no such thing: 100% größer\n"
        count = grpclib.client.UnaryStreamMethod(opened, COUNT, bytes, bytes)
        assert len(await count(b"2000:500")) == 2000
        shout = grpclib.client.StreamStreamMethod(opened, SHOUT, bytes, bytes)
        assert await shout([b"a", b"b"]) == [b"A", b"B"]


async def test_their_client_that_leaves_a_stream_ends_its_handler() -> None:
    service = Service()
    async with served(service.handlers()) as listening, theirs(str(listening.address)) as opened:
        watch = grpclib.client.UnaryStreamMethod(opened, WATCH, bytes, bytes)
        async with watch.open() as stream:
            await stream.send_message(b"", end=True)
            await stream.recv_initial_metadata()
            await service.until(hanging=1)
            await stream.cancel()
        await service.until(cancelled=1)


class Theirs:
    """Handlers for grpclib's server."""

    def __mapping__(self) -> dict[str, grpclib.const.Handler]:
        unary, stream = grpclib.const.Cardinality.UNARY_UNARY, grpclib.const.Cardinality.UNARY_STREAM
        return {
            ECHO: grpclib.const.Handler(self.echo, unary, bytes, bytes),
            FAIL: grpclib.const.Handler(self.fail, unary, bytes, bytes),
            COUNT: grpclib.const.Handler(self.count, stream, bytes, bytes),
        }

    async def echo(self, stream: grpclib.server.Stream[bytes, bytes]) -> None:
        message = await stream.recv_message()
        await stream.send_initial_metadata(metadata={"a": "b"})
        await stream.send_message(message or b"")

    async def fail(self, stream: grpclib.server.Stream[bytes, bytes]) -> None:
        raise grpclib.GRPCError(grpclib.const.Status.OUT_OF_RANGE, "alt: ü")

    async def count(self, stream: grpclib.server.Stream[bytes, bytes]) -> None:
        for number in range(int(await stream.recv_message() or b"0")):
            await stream.send_message(str(number).encode())


async def test_our_channel_calls_their_server() -> None:
    with socket_path() as path:
        server = grpclib.server.Server([Theirs()], codec=Plain())
        await server.start(path=path)
        async with channel(path) as calling:
            reply = await calling.unary(ECHO, bytes(300_000), metadata={"k": "v"}, timeout=60)
            assert (reply.message, reply.metadata["a"]) == (bytes(300_000), "b")
            with pytest.raises(RPCError, match="alt: ü") as caught:
                await calling.unary(FAIL, b"")
            assert caught.value.code is Code.OUT_OF_RANGE
            async with calling.stream(COUNT, b"3000") as incoming:
                assert [int(message) async for message in incoming] == list(range(3000))
        server.close()
        async with asyncio.timeout(60):
            await server.wait_closed()
