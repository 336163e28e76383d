"""Telemetry of providers: what NVML, the recording that ships and the fakes read, and how it travels."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from pilotage import device
from pilotage.device.providers.fake import FakeGPUs, FakeOptions, FakeProvider, FakeTelemetry
from pilotage.device.providers.fake_readings import Temperament, readings
from pilotage.device.providers.nvml.library import DeviceEvent, Library, NVMLError, Return
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.provider import NVMLProvider
from pilotage.device.providers.nvml.worker import DriverHangs, Inline
from pilotage.device.providers.recording import shipped
from pilotage.device.providers.remote import RemoteAccess
from pilotage.device.providers.replay import replay_provider
from pilotage.device.server.deviceserver import DeviceServer
from pilotage.device.telemetry import ECCErrors, Telemetry
from pilotage.grpc.rpc import Code, RPCError
from pilotage.telemetry.metrics import REGISTRY

from ..client.fakes import ScriptedChannel
from ..server.fakes import server_options
from .fakes import BEGINNING, DeviceAPI, MockLibrary, device_api, name_of, uuid_of, virtual_clock

T = TypeVar("T")


def nvml(library: MockLibrary, **options: float) -> NVMLProvider:
    chosen = NVMLOptions(**options)  # type: ignore[arg-type]  # each its own type
    return NVMLProvider(chosen, worker=lambda: Inline(library), clock=virtual_clock, booted=lambda: BEGINNING)


async def read(api: DeviceAPI, name: str) -> Telemetry:
    [found] = await api.registry.telemetry.read([name])
    return found


# NVML


@pytest.mark.virtual_time
async def test_what_nvml_reads_is_what_a_caller_gets_with_its_time() -> None:
    async with device_api() as api, api.running(nvml(MockLibrary())):
        await asyncio.sleep(4.5)
        found = await read(api, name_of(0))
        at = found.time
        assert at is not None
        assert virtual_clock() - at <= timedelta(seconds=1)
        assert found == Telemetry(
            name_of(0),
            uuid_of(0),
            "nvml",
            at,
            temperature_celsius=31,
            temperature_margin_celsius=55,
            power_usage_watts=76.5,
            power_limit_watts=700.0,
            gpu_utilization_percent=0,
            memory_utilization_percent=0,
            memory_used_bytes=600_000_000,
            memory_free_bytes=150_154_820_096,
            memory_total_bytes=150_754_820_096,
            clocks_megahertz={"graphics": 345, "sm": 345, "memory": 3201, "video": 765},
            ecc_errors=ECCErrors(0, 0, 3, 0),
            xid_errors={},
            processes=0,
        )


@pytest.mark.virtual_time
async def test_what_a_gpu_does_not_support_is_absent() -> None:
    library = MockLibrary(telling=0)
    for call in ("power", "power_limit", "memory", "ecc_corrected_volatile", "utilisation", "processes"):
        library.gpus[0][call] = NVMLError(Return.NOT_SUPPORTED, "Not Supported")
    async with device_api() as api, api.running(nvml(library)):
        await asyncio.sleep(1)
        found = await read(api, name_of(0))
        assert (found.temperature_celsius, found.unavailable) == (31, "")
        assert (found.power_usage_watts, found.power_limit_watts, found.processes) == (None, None, None)
        assert (found.memory_used_bytes, found.memory_free_bytes, found.memory_total_bytes) == (None, None, None)
        assert (found.gpu_utilization_percent, found.memory_utilization_percent) == (None, None)
        assert found.ecc_errors == ECCErrors(None, 0, 3, 0)
        assert found.xid_errors is None  # it reports no events


@pytest.mark.virtual_time
async def test_a_new_value_is_read_for_a_caller_long_before_the_next_poll() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(nvml(library, poll_seconds=600)):
        await asyncio.sleep(10)
        assert (await read(api, name_of(0))).temperature_celsius == 31
        await asyncio.sleep(10)
        library.gpus[0]["temperature"] = 64
        begun = asyncio.get_running_loop().time()
        assert (await read(api, name_of(0))).temperature_celsius == 64
        assert asyncio.get_running_loop().time() - begun <= 2


@pytest.mark.virtual_time
async def test_a_caller_who_asks_again_waits_for_a_fifth_of_a_second_at_most() -> None:
    async with device_api() as api, api.running(nvml(MockLibrary(), poll_seconds=600)):
        await asyncio.sleep(10)
        waits = []
        for _ in range(20):
            begun = asyncio.get_running_loop().time()
            assert not (await read(api, name_of(0))).unavailable
            waits.append(asyncio.get_running_loop().time() - begun)
            await asyncio.sleep(1.37)
        assert waits[0] <= 1
        assert all(0 <= wait < 0.201 for wait in waits[1:]), waits


@pytest.mark.virtual_time
async def test_metrics_and_telemetry_are_of_the_same_reading() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(nvml(library, poll_seconds=600)):
        await asyncio.sleep(5)
        library.gpus[0]["temperature"] = 71
        assert (await read(api, name_of(0))).temperature_celsius == 71
        labels = f'name="{name_of(0)}",uuid="{uuid_of(0)}"'
        assert f"device_api_server_gpu_temperature_celsius{{{labels}}} 71\n" in REGISTRY.render()


@pytest.mark.virtual_time
async def test_xids_are_counted() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(nvml(library)):
        for xid in (31, 31, 13):
            library.xid(xid)
        await asyncio.sleep(5)
        assert (await read(api, name_of(0))).xid_errors == {31: 2, 13: 1}


@pytest.mark.virtual_time
async def test_a_lost_gpu_is_an_error_and_the_others_are_read() -> None:
    library = MockLibrary(2)
    async with device_api() as api, api.running(nvml(library)):
        await asyncio.sleep(1)
        library.lose(0)
        await asyncio.sleep(15)
        lost, other = await api.registry.telemetry.read([name_of(0), name_of(1)])
        assert lost.unavailable == "the GPU is lost: GPU is lost"
        assert lost.temperature_celsius is None
        assert other.temperature_celsius == 31


@pytest.mark.virtual_time
async def test_no_driver_is_an_error_with_its_reason_at_once() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(nvml(library)):
        await asyncio.sleep(1)
        library.gone = library.open_error = NVMLError(Return.DRIVER_NOT_LOADED, "Driver Not Loaded")
        await asyncio.sleep(15)
        begun = asyncio.get_running_loop().time()
        assert "the NVIDIA driver is not loaded" in (await read(api, name_of(0))).unavailable
        assert asyncio.get_running_loop().time() == begun


class Hanging(Inline):
    """Answers nothing any more once it `hangs`."""

    hangs = False

    async def run(self, work: Callable[[Library], T], *, timeout: float) -> T:
        if self.hangs:
            await asyncio.sleep(timeout)
            raise DriverHangs(f"the NVIDIA driver has not responded for {timeout:g} s")
        return await super().run(work, timeout=timeout)

    async def wait(self, seconds: float) -> DeviceEvent | None:
        await asyncio.sleep(seconds)
        return None


@pytest.mark.virtual_time
async def test_a_driver_that_hangs_holds_a_caller_up_for_three_seconds_at_most() -> None:
    worker = Hanging(MockLibrary())
    provider = NVMLProvider(worker=lambda: worker, clock=virtual_clock, booted=lambda: BEGINNING)
    async with device_api() as api, api.running(provider):
        await asyncio.sleep(2)
        worker.hangs = True
        begun = asyncio.get_running_loop().time()
        assert "did not read it within 3 s" in (await read(api, name_of(0))).unavailable
        assert asyncio.get_running_loop().time() - begun == 3
        await asyncio.sleep(40)
        assert "has not responded for 30 s" in (await read(api, name_of(0))).unavailable


@pytest.mark.virtual_time
async def test_asking_often_does_not_change_how_health_is_judged() -> None:
    """A slowdown counts when two polls see it: readings for callers are no polls."""
    library = MockLibrary()
    async with device_api() as api, api.running(nvml(library, poll_seconds=60)):
        await asyncio.sleep(1)
        library.gpus[0]["clock_reasons"] = 0x40
        for _ in range(20):
            await read(api, name_of(0))
            await asyncio.sleep(2)
        assert (await api.states())["Degraded"] == "False NotDegraded"
        await asyncio.sleep(120)
        assert (await api.states())["Degraded"] == "True ThermalSlowdown"


# The recording that ships


@pytest.mark.virtual_time
async def test_the_recording_that_ships_shows_an_h200_at_rest_and_under_load() -> None:
    provider = replay_provider(shipped(), loop=True, clock=asyncio.get_running_loop().time)
    async with device_api() as api, api.running(provider):
        await asyncio.sleep(20)
        [name] = [gpu.metadata.name for gpu in await api.gpus()]
        rest = await read(api, name)
        await asyncio.sleep(50)
        load = await read(api, name)
        assert (rest.provider, rest.unavailable, load.unavailable) == ("replay", "", "")
        assert (rest.gpu_utilization_percent, load.gpu_utilization_percent) == (0, 100)
        assert rest.power_usage_watts is not None
        assert load.power_usage_watts is not None
        assert rest.power_usage_watts < 100 < 400 < load.power_usage_watts
        assert rest.memory_total_bytes == 150_754_820_096


# The fakes


def test_fake_readings_are_plausible_change_and_are_the_same_for_the_same_gpu_and_time() -> None:
    seen: dict[str, set[object]] = {"temperature": set(), "power": set(), "utilisation": set(), "memory_used": set()}
    for uuid in ("GPU-a", "GPU-b", "GPU-c"):
        temperament = Temperament.of(uuid)
        for seconds in range(0, 3600, 10):
            now = BEGINNING + timedelta(seconds=seconds)
            found = readings(temperament, now, BEGINNING)
            assert found == readings(Temperament.of(uuid), now, BEGINNING)
            assert 25 <= (found.temperature or 0) <= 85
            assert 70 <= (found.power or 0) <= (found.power_limit or 0) == 700
            assert 0 <= (found.utilisation or 0) <= 100
            assert 0 < (found.memory_used or 0) < (found.memory_total or 0)
            for name, values in seen.items():
                values.add(getattr(found, name))
    assert all(len(values) > 10 for values in seen.values()), seen
    assert 0 in seen["utilisation"]


@pytest.mark.virtual_time
async def test_fake_telemetry_changes_and_follows_from_the_seed_and_the_clock() -> None:
    async def seen(seed: int) -> list[Telemetry]:
        found, moments = [], [BEGINNING]
        provider = FakeProvider(FakeOptions(count=2, period=0, seed=seed), clock=lambda: moments[-1])
        async with device_api() as api, api.running(provider):
            await asyncio.sleep(1)
            for minute in range(4):
                moments.append(BEGINNING + timedelta(minutes=minute))
                await asyncio.sleep(5)
                found += await api.registry.telemetry.read(["gpu-1", "gpu-2"])
        return found

    first = await seen(7)
    assert first == await seen(7)
    assert first != await seen(8)
    assert len({one.power_usage_watts for one in first}) == 8
    assert {one.time for one in first} == {BEGINNING + timedelta(minutes=minute) for minute in range(4)}


def test_a_failure_of_a_fake_gpu_counts_as_an_xid_and_an_uncorrected_error() -> None:
    fakes = FakeGPUs(FakeOptions(count=1, failures=1.0), random.Random(1))
    telemetry = FakeTelemetry(fakes, lambda: BEGINNING)
    counts = []
    for _ in range(4):
        [found] = telemetry.read()
        counts.append((found.xid_errors, found.ecc_errors.uncorrected_volatile))
        fakes.tick()  # fails, is repaired, fails
    telemetry.clear()
    assert counts == [({}, 0), ({48: 1}, 1), ({48: 1}, 1), ({48: 2}, 2)]


@pytest.mark.virtual_time
async def test_metrics_of_fake_gpus_are_there_while_they_are() -> None:
    async with device_api() as api:
        async with api.running(FakeProvider(FakeOptions(count=1, period=0), clock=virtual_clock)):
            await asyncio.sleep(1)
            assert 'device_api_server_gpu_power_usage_watts{name="gpu-1"' in REGISTRY.render()
        assert 'device_api_server_gpu_power_usage_watts{name="gpu-1"' not in REGISTRY.render()


# Providers in a process of their own


@asynccontextmanager
async def running_remotely(provider: FakeProvider, devices: device.Devices) -> AsyncIterator[None]:
    task = asyncio.create_task(provider.run(RemoteAccess(devices)))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_a_provider_in_another_process_reports_its_telemetry(tmp_path: Path) -> None:
    provider = FakeProvider(FakeOptions(count=2, period=0))
    async with (
        asyncio.timeout(100),
        DeviceServer(server_options(tmp_path)) as server,
        device.connect(server.target, provider_id="fake") as told,
        device.connect(server.target) as reading,
        reading.v1alpha1.gpus.follow() as events,
        running_remotely(provider, told),
    ):
        await anext(events)
        gpus = reading.v1alpha1.gpus
        while (found := (await gpus.list_telemetry())[0]).unavailable:
            assert found.unavailable == "no provider reports telemetry of this GPU"
            await asyncio.sleep(0)
        assert (found.provider, found.name) == ("fake", "gpu-1")
        assert found.power_usage_watts is not None


async def test_a_server_that_takes_no_telemetry_is_sent_none_again() -> None:
    def unimplemented(method: str, message: bytes) -> object:
        raise RPCError(Code.UNIMPLEMENTED, f"unknown method {method}")

    channel = ScriptedChannel(unimplemented)  # type: ignore[arg-type]  # it never answers
    devices = device.Devices(device.Config(target=device.Target(path="/a.sock"), provider_id="fake"), channel=channel)
    access = RemoteAccess(devices)
    for _ in range(3):
        await access.report_telemetry([Telemetry("gpu-1")])
    assert len(channel.sent) == 1
    assert not access.telemetry_wanted().is_set()
