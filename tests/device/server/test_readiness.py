from __future__ import annotations

import asyncio

import pytest

from pilotage.device.server.readiness import ReadinessGate
from pilotage.device.server.registry import Caller
from pilotage.errors import ServiceUnavailable
from pilotage.grpc.rpc import Peer

from .fakes import Api, api, gpu, registry, virtual_clock

pytestmark = pytest.mark.virtual_time


async def test_readers_are_put_off_until_there_is_a_gpu_and_providers_are_not() -> None:
    async with registry(gate_seconds=30, clock=virtual_clock) as opened:
        reader = Api(opened.transport(Caller(peer=Peer(uid=1000))))
        with pytest.raises(ServiceUnavailable) as refused:
            await reader.list()
        assert refused.value.retry_after_seconds
        with pytest.raises(ServiceUnavailable):
            await reader.get()
        with pytest.raises(ServiceUnavailable):
            async with reader.watch():
                pass
        provider = api(opened)
        assert await provider.names() == []
        opened.heartbeat("nvml")
        await provider.create(gpu())
        assert await reader.names() == ["gpu-0"]
        await provider.delete()
        assert await reader.names() == []


async def test_who_has_no_provider_id_may_write_all_the_same() -> None:
    async with registry(gate_seconds=30, clock=virtual_clock) as opened:
        await Api(opened.transport(Caller(peer=Peer(uid=0)))).create(gpu())
        assert opened.gate.is_open


async def test_an_inventory_that_is_complete_opens_the_gate_even_if_it_is_empty() -> None:
    async with registry(gate_seconds=30, clock=virtual_clock) as opened:
        opened.inventory_complete()
        opened.inventory_complete()
        assert await Api(opened.transport()).names() == []


async def test_the_gate_opens_after_a_while_whatever_happens() -> None:
    async with registry(gate_seconds=30, clock=virtual_clock) as opened:
        reader = Api(opened.transport())
        await asyncio.sleep(29)
        with pytest.raises(ServiceUnavailable):
            await reader.list()
        await asyncio.sleep(1.1)
        assert await reader.names() == []


async def test_a_listener_is_called_once_for_the_opening_and_at_once_if_it_is_over() -> None:
    heard: list[int] = []
    gate = ReadinessGate(5)
    gate.start()
    gate.on_open(lambda: heard.append(1))
    assert not heard
    await gate.wait()
    gate.open()
    gate.on_open(lambda: heard.append(2))
    assert heard == [1, 2]


async def test_a_gate_that_is_stopped_stays_shut() -> None:
    gate = ReadinessGate(5)
    gate.start()
    gate.stop()
    await asyncio.sleep(10)
    assert not gate.is_open
