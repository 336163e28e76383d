from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from datetime import timedelta

import pytest

from pilotage.device.providers.fake import FakeChange, FakeGPUs, FakeOptions, FakeProvider
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.errors import InvalidDefinition
from pilotage.meta.models import ObjectMeta

from .fakes import BEGINNING, device_api, virtual_clock

UUID = re.compile(r"GPU-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def provider(**options: object) -> FakeProvider:
    return FakeProvider(FakeOptions(**options), clock=virtual_clock)  # type: ignore[arg-type]  # each its own type


@pytest.mark.virtual_time
async def test_eight_gpus_are_ready_at_the_start() -> None:
    async with device_api() as api, api.running(provider()):
        await asyncio.sleep(1)
        gpus = await api.gpus()
        assert [gpu.metadata.name for gpu in gpus] == [f"gpu-{number}" for number in range(1, 9)]
        assert all(UUID.fullmatch(gpu.spec.uuid) for gpu in gpus)
        assert len({gpu.spec.uuid for gpu in gpus}) == 8
        for gpu in gpus:
            [condition] = gpu.status.conditions
            assert (condition.type, condition.status, condition.reason) == ("Ready", "True", "DriverReady")
            assert condition.message == "driver is posting ready status"
            assert gpu.status.recommended_action is None


@pytest.mark.virtual_time
async def test_every_period_one_gpu_flips_and_its_reason_and_message_match_its_status() -> None:
    async with device_api() as api, api.running(provider(seed=1)):
        await asyncio.sleep(1)
        before = await api.gpus()
        for tick in range(1, 20):
            await asyncio.sleep(2)
            after = await api.gpus()
            [(old, new)] = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
            [was], [now] = old.status.conditions, new.status.conditions
            assert {(each.status, each.reason, each.message) for each in (was, now)} == {
                ("True", "DriverReady", "driver is posting ready status"),
                ("False", "DriverNotReady", "driver is not posting ready status (simulated)"),
            }
            assert now.last_transition_time == BEGINNING + timedelta(seconds=2 * tick)
            before = after


@pytest.mark.virtual_time
async def test_same_seed_gives_the_same_uuids_and_changes_and_no_seed_other_changes() -> None:
    async def seen(seed: int | None, count: int = 8) -> list[tuple[str, str]]:
        async with device_api() as api, api.running(provider(seed=seed, count=count)):
            await asyncio.sleep(31)
            return [(gpu.spec.uuid, gpu.status.conditions[0].status) for gpu in await api.gpus()]

    assert await seen(7) == await seen(7)
    assert await seen(7) != await seen(8)
    assert await seen(None, 100) != await seen(None, 100), "the same 15 of 100 flip with a chance below 10 ** -17"


def test_without_a_seed_the_uuids_are_the_same_after_a_restart_and_others_on_other_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def uuids(machine: str, count: int = 8) -> list[str]:
        monkeypatch.setattr("socket.gethostname", lambda: machine)
        return [gpu.uuid for gpu in FakeGPUs(FakeOptions(count=count), random.Random()).gpus]

    assert uuids("a") == uuids("a")
    assert uuids("a")[:2] == uuids("a", count=2)
    assert not set(uuids("a")) & set(uuids("b"))


@pytest.mark.virtual_time
async def test_new_run_takes_over_its_gpus_gives_them_new_uuids_and_removes_only_its_own() -> None:
    async with device_api() as api:
        async with api.running(provider(count=3, seed=1)):
            await asyncio.sleep(1)
        first = await api.gpus()
        await api.client.create(GPU(metadata=ObjectMeta(name="other"), spec=GPUSpec(uuid="GPU-other")))
        async with api.running(provider(count=2, seed=2)):
            await asyncio.sleep(1)
            second = await api.gpus()
        assert [gpu.metadata.name for gpu in second] == ["gpu-1", "gpu-2", "other"]
        assert [gpu.metadata.uid for gpu in second[:2]] == [gpu.metadata.uid for gpu in first[:2]]
        assert second[0].spec.uuid != first[0].spec.uuid


@pytest.mark.virtual_time
async def test_failures_ask_for_a_reset_and_are_repaired() -> None:
    async with device_api() as api, api.running(provider(seed=3, failures=1.0)):
        await asyncio.sleep(3)
        [broken] = [gpu for gpu in await api.gpus() if gpu.status.recommended_action]
        assert broken.status.recommended_action == "COMPONENT_RESET"
        assert {c.type: c.status for c in broken.status.conditions} == {"Ready": "False", "ResetRequired": "True"}
        assert {c.reason for c in broken.status.conditions} == {"DoubleBitECCError"}
        await asyncio.sleep(2)
        mended = await api.client.get(GPU, broken.metadata.name)
        assert {c.type: c.status for c in mended.status.conditions} == {"Ready": "True", "ResetRequired": "False"}
        assert mended.status.recommended_action is None


@pytest.mark.virtual_time
async def test_removed_gpu_comes_again_with_its_uuid() -> None:
    async with device_api() as api, api.running(provider(seed=3, removals=1.0)):
        await asyncio.sleep(1)
        before = {gpu.metadata.name: gpu.spec.uuid for gpu in await api.gpus()}
        await asyncio.sleep(2)
        assert len(await api.gpus()) == 7
        await asyncio.sleep(2)
        assert {gpu.metadata.name: gpu.spec.uuid for gpu in await api.gpus()} == before


@pytest.mark.virtual_time
async def test_heartbeats_keep_the_conditions_known_and_their_end_does_not() -> None:
    async with device_api() as api:
        async with api.running(provider(period=0)):
            await asyncio.sleep(120)
            assert {gpu.status.conditions[0].status for gpu in await api.gpus()} == {"True"}
        await asyncio.sleep(40)
        assert {gpu.status.conditions[0].status for gpu in await api.gpus()} == {"Unknown"}


@pytest.mark.virtual_time
async def test_no_gpus_at_all_is_a_complete_inventory() -> None:
    async with device_api() as api, api.running(provider(count=0)):
        await asyncio.sleep(5)
        assert await api.gpus() == []
        assert api.registry.gate.is_open


def test_shares_of_changes_are_those_asked_for() -> None:
    fakes = FakeGPUs(FakeOptions(failures=0.2, removals=0.1), random.Random(1))
    changes = Counter(happened[1] for happened in (fakes.tick() for _ in range(5000)) if happened)
    assert set(changes) == set(FakeChange)
    assert 0.15 < (changes[FakeChange.FAILED] + changes[FakeChange.REPAIRED]) / 5000 < 0.25
    assert 0.05 < (changes[FakeChange.REMOVED] + changes[FakeChange.RETURNED]) / 5000 < 0.15


@pytest.mark.parametrize(
    "options",
    [{"count": -1}, {"count": 5000}, {"period": -1}, {"period": float("nan")}, {"failures": 1.5}, {"removals": -0.1}],
)
def test_options_that_cannot_work_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidDefinition):
        FakeOptions(**options)  # type: ignore[arg-type]  # each its own type


@pytest.mark.virtual_time
async def test_gpus_are_written_again_to_a_server_that_lost_them() -> None:
    async with device_api() as api, api.running(provider(count=3, period=0)):
        await asyncio.sleep(1)
        before = await api.gpus()
        for gpu in before[1:]:
            await api.client.delete(gpu)
        await asyncio.sleep(11)  # a heartbeat later
        after = await api.gpus()
        assert [gpu.spec.uuid for gpu in after] == [gpu.spec.uuid for gpu in before]
