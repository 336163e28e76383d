from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pilotage.device.server import metrics
from pilotage.device.server import registry as module
from pilotage.device.server.admission import Limits
from pilotage.device.server.merging import PROVIDER_LOST
from pilotage.device.server.registry import Caller, DeviceRegistry, RegistryOptions
from pilotage.errors import BadRequest, TooManyRequests
from pilotage.meta.documents import Document
from pilotage.storage import open_storage
from pilotage.storage.interface import Operation, Put
from pilotage.storage.memory import MemoryStorage
from pilotage.telemetry.metrics import REGISTRY

from .fakes import FIRST, Api, api, condition, gpu, registry, status, virtual_clock


def by_type(document: Document) -> dict[str, Document]:
    return {one["type"]: one for one in document["status"]["conditions"]}


async def beat(opened: DeviceRegistry, seconds: float, provider: str = "nvml") -> None:
    """Heartbeats every ten seconds, for so long."""
    for _ in range(int(seconds // 10)):
        opened.heartbeat(provider, ["gpu-0"])
        await asyncio.sleep(10)


@pytest.mark.virtual_time
async def test_a_provider_that_falls_silent_leaves_its_conditions_unknown_and_others_as_they_are() -> None:
    async with registry(clock=virtual_clock) as opened:
        nvml, dcgm = api(opened, "nvml"), api(opened, "dcgm")
        await nvml.create(gpu(status=status(condition("Ready"), action="RESTART_BM")))
        await dcgm.set_status("gpu-0", condition("DCGMHealth"))
        await beat(opened, 60)
        before = await nvml.get()
        assert by_type(before)["Ready"]["status"] == "True"
        await asyncio.sleep(21)
        after = await nvml.get()
        ready = by_type(after)["Ready"]
        assert (ready["status"], ready["reason"]) == ("Unknown", PROVIDER_LOST)
        assert "'nvml'" in ready["message"]
        assert ready["lastTransitionTime"] != by_type(before)["Ready"]["lastTransitionTime"]
        assert by_type(after)["DCGMHealth"] == by_type(before)["DCGMHealth"]
        assert after["status"]["recommendedAction"] == "RESTART_BM"
        await asyncio.sleep(600)
        assert (await nvml.get())["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


@pytest.mark.virtual_time
async def test_a_provider_that_never_sent_a_heartbeat_is_not_missed() -> None:
    async with registry(clock=virtual_clock) as opened:
        await api(opened).create(gpu(status=status(condition())))
        await asyncio.sleep(3600)
        assert by_type(await api(opened).get())["Ready"]["status"] == "True"


@pytest.mark.virtual_time
async def test_a_provider_that_returns_learns_that_it_was_lost_and_is_present_after_it_has_written() -> None:
    async with registry(clock=virtual_clock) as opened:
        nvml = api(opened)
        await nvml.create(gpu(status=status(condition())))
        assert opened.heartbeat("nvml", ["gpu-0"])
        await asyncio.sleep(31)
        assert not opened.heartbeat("nvml", ["gpu-0"])
        assert opened.heartbeat("nvml", ["gpu-0"])
        assert by_type(await nvml.get())["Ready"]["status"] == "Unknown"
        await nvml.set_status("gpu-0", condition())
        assert by_type(await nvml.get())["Ready"]["status"] == "True"
        await asyncio.sleep(31)  # and can be lost again
        assert by_type(await nvml.get())["Ready"]["status"] == "Unknown"


@pytest.mark.virtual_time
async def test_a_write_is_as_good_as_a_heartbeat() -> None:
    async with registry(clock=virtual_clock) as opened:
        nvml = api(opened)
        await nvml.create(gpu())
        opened.heartbeat("nvml", ["gpu-0"])
        for number in range(6):
            await asyncio.sleep(20)
            await nvml.set_status("gpu-0", condition(status="True" if number % 2 else "False"))
        assert by_type(await nvml.get())["Ready"]["reason"] == "Tested"


@pytest.mark.virtual_time
async def test_another_provider_may_take_over_what_is_lost_but_not_what_is_alive() -> None:
    async with registry(clock=virtual_clock) as opened:
        nvml, dcgm = api(opened, "nvml"), api(opened, "dcgm")
        await nvml.create(gpu(status=status(condition())))
        opened.heartbeat("nvml")
        await dcgm.set_status("gpu-0", condition(status="False", reason="Probed"))
        assert by_type(await nvml.get())["Ready"]["reason"] == "Tested"
        await asyncio.sleep(31)
        await dcgm.set_status("gpu-0", condition(status="False", reason="Probed"))
        assert by_type(await nvml.get())["Ready"]["reason"] == "Probed"
        await nvml.set_status("gpu-0", condition())
        assert by_type(await nvml.get())["Ready"]["reason"] == "Probed"


@pytest.mark.virtual_time
async def test_a_heartbeat_is_no_change_of_a_gpu() -> None:
    async with registry(clock=virtual_clock) as opened:
        created = await api(opened).create(gpu(status=status(condition())))
        await beat(opened, 100)
        assert (await api(opened).get())["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_who_sends_heartbeats_is_remembered_beyond_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'state.db'}"
    storage = await open_storage(url)
    async with DeviceRegistry(storage) as opened:
        nvml = Api(opened.transport(Caller("nvml")))
        await nvml.create(gpu(status=status(condition())))
        opened.heartbeat("nvml", ["gpu-0"])
        async with nvml.watch(resource_version=str(storage.revision)) as events:
            await nvml.set_status("gpu-0", condition(status="False"))
            await anext(events)
        while not (await storage.list("/devices/heartbeats/")).entries:
            await nvml.get()
    await storage.close()
    storage = await open_storage(url)
    async with DeviceRegistry(storage, RegistryOptions(heartbeat_seconds=0.05)) as opened:
        assert opened.gate.is_open
        nvml = Api(opened.transport(Caller("nvml")))
        async with nvml.watch(resource_version="0") as events:
            reason = ""
            while reason != PROVIDER_LOST:
                _, document = await asyncio.wait_for(anext(events), 60)
                reason = by_type(document)["Ready"]["reason"]
    await storage.close()


@pytest.mark.virtual_time
async def test_a_silent_provider_without_gpus_is_forgotten() -> None:
    async with registry(clock=virtual_clock, limits=Limits(providers=2)) as opened:
        opened.heartbeat("one")
        opened.heartbeat("two")
        with pytest.raises(TooManyRequests):
            opened.heartbeat("three")
        await asyncio.sleep(31)
        assert opened.heartbeat("three")
        await asyncio.sleep(1)
        notes = await opened.context.storage.list("/devices/heartbeats/")
        assert [entry.key for entry in notes.entries] == ["/devices/heartbeats/three"]


@pytest.mark.virtual_time
async def test_providers_are_counted() -> None:
    async with registry(clock=virtual_clock) as opened:
        await api(opened, "counted").create(gpu(status=status(condition())))
        opened.heartbeat("counted")
        assert metrics.PROVIDER_STATE.labels("counted").value == 1
        await asyncio.sleep(31)
        assert metrics.PROVIDER_STATE.labels("counted").value == 0
        assert metrics.HEARTBEAT_TIMEOUTS.labels("counted").value == 1
        assert metrics.HEARTBEATS.labels("counted").value == 1


@pytest.mark.virtual_time
async def test_a_provider_that_writes_before_its_next_heartbeat_still_learns_that_it_was_lost() -> None:
    async with registry(clock=virtual_clock) as opened:
        nvml = api(opened)
        for name in ("gpu-0", "gpu-1"):
            await nvml.create(gpu(name, status=status(condition())))
        opened.heartbeat("nvml")
        await asyncio.sleep(31)
        await nvml.set_status("gpu-0", condition())  # and of gpu-1 it does not know that it is Unknown
        assert not opened.heartbeat("nvml")
        assert opened.heartbeat("nvml")


@pytest.mark.virtual_time
async def test_after_a_restart_providers_are_asked_to_write_everything_again() -> None:
    storage = MemoryStorage(first_revision=FIRST)
    async with registry(storage, clock=virtual_clock) as opened:
        await api(opened).create(gpu(status=status(condition())))
        opened.heartbeat("nvml")
        await asyncio.sleep(40)
    async with registry(storage, clock=virtual_clock) as opened:
        assert by_type(await api(opened).get())["Ready"]["status"] == "Unknown"
        assert not opened.heartbeat("nvml")
        assert opened.heartbeat("nvml")


@pytest.mark.virtual_time
async def test_a_provider_with_ever_new_names_does_not_fill_the_places_of_others() -> None:
    async with registry(clock=virtual_clock, limits=Limits(providers=3)) as opened:
        await api(opened, "pod-0").create(gpu(status=status(condition())))
        for number in range(8):  # each takes over what the one before has left, and is lost in its turn
            await api(opened, f"pod-{number}").set_status("gpu-0", condition(reason=f"Pod{number}"))
            assert opened.heartbeat(f"pod-{number}")
            await asyncio.sleep(31)
        notes = await opened.context.storage.list("/devices/heartbeats/")
        assert [entry.key.rpartition("/")[2] for entry in notes.entries] == ["pod-5", "pod-6", "pod-7"]
        assert "pod-0" not in REGISTRY.render()


@pytest.mark.virtual_time
async def test_living_providers_are_never_forgotten_for_new_ones() -> None:
    async with registry(clock=virtual_clock, limits=Limits(providers=2)) as opened:
        await api(opened, "one").create(gpu(status=status(condition())))
        opened.heartbeat("one")
        opened.heartbeat("two")
        with pytest.raises(TooManyRequests):
            opened.heartbeat("three")


class Overtaken(MemoryStorage):
    """Runs a function right before the first commit that marks a provider as lost."""

    before: Callable[[], Awaitable[object]] | None = None

    async def commit(self, *operations: Operation) -> int:
        if self.before is not None and any(_says_lost(operation) for operation in operations):
            before, self.before = self.before, None
            await before()
        return await super().commit(*operations)


def _says_lost(operation: Operation) -> bool:
    return isinstance(operation, Put) and PROVIDER_LOST.encode() in operation.value


@pytest.mark.virtual_time
async def test_what_a_provider_writes_when_it_is_about_to_be_missed_counts() -> None:
    storage = Overtaken(first_revision=FIRST)
    async with registry(storage, clock=virtual_clock) as opened:
        nvml = api(opened)
        await nvml.create(gpu(status=status(condition())))
        opened.heartbeat("nvml")
        storage.before = lambda: nvml.set_status("gpu-0", condition(status="False"))
        await asyncio.sleep(31)
        assert storage.before is None
        found = by_type(await nvml.get())["Ready"]
        assert (found["status"], found["reason"]) == ("False", "Tested")


class Stubborn(MemoryStorage):
    """Refuses to commit for a while."""

    refuses = False

    async def commit(self, *operations: Operation) -> int:
        if self.refuses:
            raise RuntimeError("not now")
        return await super().commit(*operations)


@pytest.mark.virtual_time
async def test_what_cannot_be_written_now_is_written_as_soon_as_it_can() -> None:
    storage = Stubborn(first_revision=FIRST)
    async with registry(storage, clock=virtual_clock) as opened:
        await api(opened).create(gpu(status=status(condition())))
        opened.heartbeat("nvml")
        await asyncio.sleep(1)
        storage.refuses = True
        await asyncio.sleep(60)
        assert by_type(await api(opened).get())["Ready"]["status"] == "True"
        storage.refuses = False
        await asyncio.sleep(2)
        assert by_type(await api(opened).get())["Ready"]["status"] == "Unknown"


@pytest.mark.virtual_time
@pytest.mark.parametrize("provider", ["", "x" * 129, "a\nb"])
async def test_a_providers_id_is_short_and_printable(provider: str) -> None:
    async with registry(clock=virtual_clock) as opened:
        with pytest.raises(BadRequest):
            opened.heartbeat(provider)


@pytest.mark.virtual_time
async def test_a_heartbeat_names_no_more_gpus_than_there_can_be() -> None:
    async with registry(clock=virtual_clock, limits=Limits(objects=2)) as opened:
        names: Any = ["gpu"] * 3
        with pytest.raises(BadRequest):
            opened.heartbeat("nvml", names)


@pytest.mark.virtual_time
async def test_ever_new_providers_do_not_fill_the_storages_history() -> None:
    """Each is noted when it sends its first heartbeat, and again when it is missed."""
    with mock.patch.object(module, "_COMPACT_AFTER_NOTES", 8):
        async with registry(clock=virtual_clock) as opened:
            await api(opened).create(gpu())
            for number in range(100):
                opened.heartbeat(f"provider-{number}")
                await asyncio.sleep(120)
            storage = opened.context.storage
            assert storage.revision - FIRST > 200
            assert storage.revision - storage.oldest <= 16
            assert await api(opened).names() == ["gpu-0"]
