"""The last reading of each GPU: how old it may be, how long a caller waits for it, and for how many it is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pilotage.device.server.telemetry import LatestTelemetry, TelemetryOptions
from pilotage.device.telemetry import Telemetry

pytestmark = pytest.mark.virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def reading(latest: LatestTelemetry, seconds: float = 0.5) -> AsyncIterator[list[float]]:
    """A provider in this process that needs so many seconds to read `gpu-1`; the times at which it has."""
    provider, times = latest.register_provider("nvml"), list[float]()

    async def read() -> None:
        while True:
            await provider.wanted.wait()
            await asyncio.sleep(seconds)
            times.append(now())
            latest.report("nvml", [Telemetry("gpu-1", temperature_celsius=len(times))])

    task = asyncio.create_task(read())
    try:
        yield times
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_provider_in_this_process_is_asked_and_waited_for() -> None:
    latest, begun = LatestTelemetry(), now()
    async with reading(latest) as times:
        [found] = await latest.read(["gpu-1"])
        assert (found.temperature_celsius, found.provider, now() - begun) == (1, "nvml", 0.5)
        await asyncio.sleep(0.9)
        assert (await latest.read(["gpu-1"]))[0].temperature_celsius == 1  # fresh enough
        await asyncio.sleep(0.2)
        assert (await latest.read(["gpu-1"]))[0].temperature_celsius == 2
        assert len(times) == 2


async def test_callers_at_the_same_time_share_one_reading() -> None:
    latest = LatestTelemetry()
    async with reading(latest) as times:
        found = await asyncio.gather(*(latest.read(["gpu-1"]) for _ in range(50)))
        assert {one.temperature_celsius for [one] in found} == {1}
        assert len(times) == 1


async def test_a_driver_that_hangs_is_an_error_after_three_seconds() -> None:
    latest = LatestTelemetry()
    async with reading(latest, seconds=0.0):
        await latest.read(["gpu-1"])
    await asyncio.sleep(20)
    begun = now()
    [found] = await latest.read(["gpu-1"])
    assert now() - begun == 3
    assert found.unavailable == "provider 'nvml' did not read it within 3 s; its last reading is 23 s old"
    assert found.temperature_celsius is None


async def test_a_gpu_that_cannot_be_read_is_reported_at_once_with_the_reason() -> None:
    latest = LatestTelemetry()
    provider = latest.register_provider("nvml")
    latest.report("nvml", [Telemetry("gpu-1", unavailable="the GPU is lost")])
    await asyncio.sleep(100)
    begun = now()
    assert (await latest.read(["gpu-1"]))[0].unavailable == "the GPU is lost"
    assert now() == begun
    assert provider.wanted.is_set()  # the next caller tries again


async def test_the_last_report_from_another_process_holds_for_thirty_seconds() -> None:
    latest = LatestTelemetry()
    latest.report("remote", [Telemetry("gpu-1", temperature_celsius=31)])
    await asyncio.sleep(30)
    begun = now()
    assert (await latest.read(["gpu-1"]))[0].temperature_celsius == 31
    await asyncio.sleep(1)
    [found] = await latest.read(["gpu-1"])
    assert found.unavailable == "provider 'remote' no longer reports it; its last reading is 31 s old"
    assert now() - begun == 1  # the call does not wait for a provider


async def test_a_gpu_of_no_provider_is_not_waited_for_once_all_have_reported() -> None:
    latest = LatestTelemetry()
    async with reading(latest):
        begun = now()
        first, other = await latest.read(["gpu-1", "other"])
        assert (first.temperature_celsius, now() - begun) == (1, 0.5)
        assert other.unavailable == "no provider reports telemetry of this GPU"


async def test_readings_are_kept_of_so_many_gpus_the_latest_reported() -> None:
    latest = LatestTelemetry(TelemetryOptions(most=2))
    for name in ("a", "b", "a", "c"):
        latest.report("remote", [Telemetry(name, temperature_celsius=1)])
    found = await latest.read(["a", "b", "c"])
    assert [one.temperature_celsius for one in found] == [1, None, 1]
