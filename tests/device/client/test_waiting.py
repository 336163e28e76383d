"""Waiting for a server that is just starting."""

from __future__ import annotations

import asyncio

import pytest

from pilotage.device.client.waiting import WaitingChannel
from pilotage.errors import ConnectionLost
from pilotage.grpc.rpc import Code, Reply, RPCError

from .fakes import RegistryChannel, ScriptedChannel, device_server, gpu

METHOD = "/nvidia.nvsentinel.v1alpha1.GpuService/ListGpus"


@pytest.mark.virtual_time
async def test_a_call_waits_until_a_server_listens() -> None:
    async with device_server(gpu("gpu-0")) as server:
        server.down = True
        asyncio.get_running_loop().call_later(0.5, lambda: setattr(server, "down", False))
        assert (await WaitingChannel(server).unary(METHOD, b"")).message
        assert asyncio.get_running_loop().time() < 0.7


@pytest.mark.virtual_time
async def test_a_stream_waits_too() -> None:
    async with device_server(gpu("gpu-0")) as server:
        server.down = True
        asyncio.get_running_loop().call_later(0.5, lambda: setattr(server, "down", False))
        async with WaitingChannel(server).stream(METHOD.replace("List", "Watch"), b"") as incoming:
            assert await anext(aiter(incoming))


@pytest.mark.virtual_time
async def test_after_a_second_it_gives_up() -> None:
    async with device_server() as server:
        server.down = True
        begun = asyncio.get_running_loop().time()
        with pytest.raises(ConnectionLost, match="nobody listens"):
            await WaitingChannel(server).unary(METHOD, b"")
        assert 0.8 < asyncio.get_running_loop().time() - begun <= 1.0
        assert 8 < len(server.sent) < 20


@pytest.mark.parametrize("error", [ConnectionLost("half an answer"), RPCError(Code.UNAVAILABLE, "not ready")])
async def test_what_was_sent_is_not_sent_again(error: Exception) -> None:
    def answer(method: str, message: bytes) -> Reply:
        raise error

    channel = ScriptedChannel(answer)
    with pytest.raises(type(error)):
        await WaitingChannel(channel).unary(METHOD, b"")
    assert len(channel.sent) == 1


async def test_closing_closes_what_is_below() -> None:
    async with device_server() as server:
        await WaitingChannel(server).close()
        assert isinstance(server, RegistryChannel)
        assert server.closed
