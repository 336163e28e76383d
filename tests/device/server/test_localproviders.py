from __future__ import annotations

import asyncio

import pytest

from pilotage.device.providers.interface import ProviderAccess
from pilotage.device.server.localproviders import BACKOFF, LocalProviders
from pilotage.device.v1alpha1 import GPU, GPUSpec, GPUStatus
from pilotage.meta.models import Condition, ObjectMeta

from .fakes import api, registry, virtual_clock

pytestmark = pytest.mark.virtual_time


class Scripted:
    """A provider that fails on request."""

    name = "scripted"

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.starts: list[float] = []
        self.running = asyncio.Event()
        self.fail = asyncio.Event()

    async def run(self, devices: ProviderAccess) -> None:
        self.starts.append(asyncio.get_running_loop().time())
        if self.failures:
            self.failures -= 1
            raise RuntimeError("broken")
        if await devices.client.find(GPU, "gpu-0") is None:
            ready = Condition(type="Ready", status="True", reason="Tested")
            made = GPU(metadata=ObjectMeta(name="gpu-0"), spec=GPUSpec(uuid="GPU-0"), status=GPUStatus())
            made.status.conditions.append(ready)
            await devices.client.create(made)
        devices.inventory_complete()
        self.running.set()
        while not self.fail.is_set():
            await devices.heartbeat(["gpu-0"])
            await asyncio.sleep(10)
        self.failures = 10**6
        raise RuntimeError("broken for good")


async def test_a_provider_in_the_process_writes_as_itself_and_opens_the_gate() -> None:
    async with registry(gate_seconds=30, clock=virtual_clock) as opened:
        tasks = LocalProviders(opened)
        provider = Scripted()
        tasks.start([provider])
        await provider.running.wait()
        assert opened.gate.is_open
        entry = await opened.context.storage.get(f"{opened.prefix}gpu-0")
        assert entry is not None
        assert b'"provider":"scripted"' in entry.value
        await tasks.close()
        await tasks.close()


async def test_one_that_fails_is_started_again_and_again_ever_more_slowly() -> None:
    async with registry(clock=virtual_clock) as opened:
        tasks = LocalProviders(opened)
        provider = Scripted(failures=8)
        tasks.start([provider])
        await provider.running.wait()
        pauses = [later - earlier for earlier, later in zip(provider.starts, provider.starts[1:], strict=False)]
        assert BACKOFF.first <= pauses[0] <= 1.2 * BACKOFF.first
        assert all(one <= 1.2 * BACKOFF.limit for one in pauses)
        assert pauses[-1] >= BACKOFF.limit
        await tasks.close()


async def test_one_that_stays_down_leaves_its_gpus_unknown_and_others_alone() -> None:
    async with registry(clock=virtual_clock) as opened:
        tasks = LocalProviders(opened)
        provider = Scripted()
        tasks.start([provider])
        await provider.running.wait()
        provider.fail.set()
        await asyncio.sleep(45)
        found = (await api(opened).get())["status"]["conditions"][0]
        assert (found["status"], found["reason"]) == ("Unknown", "ProviderLost")
        await tasks.close()


class Brief:
    name = "brief"

    def __init__(self) -> None:
        self.runs = 0

    async def run(self, devices: ProviderAccess) -> None:
        self.runs += 1


async def test_one_that_ends_by_itself_is_left_at_that() -> None:
    async with registry(clock=virtual_clock) as opened:
        tasks = LocalProviders(opened)
        provider = Brief()
        tasks.start([provider])
        await asyncio.sleep(100)
        assert provider.runs == 1
        await tasks.close()
