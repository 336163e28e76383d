from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from pilotage.client.client import Client
from pilotage.device.server.admission import Limits
from pilotage.device.server.registry import Caller, DeviceRegistry
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.errors import AlreadyExists, BadRequest, MethodNotSupported, NotFound, RequestTooLarge, TooManyRequests
from pilotage.grpc.rpc import Peer
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.models import Condition, ObjectMeta
from pilotage.rest import APIRequest, PatchType, Verb
from pilotage.storage import open_storage
from tests.server.registries import Pausing

from .fakes import FIRST, Api, api, condition, gpu, registry, status


async def test_a_client_works_on_it_as_on_any_api_server() -> None:
    async with registry() as opened:
        client = Client(opened.transport(Caller("nvml")))
        created = await client.create(GPU(metadata=ObjectMeta(name="gpu-0"), spec=GPUSpec(uuid="GPU-0")))
        created.status.conditions.append(Condition(type="Ready", status="True", reason="Tested"))
        await client.update_status(created)
        found = await client.get(GPU, "gpu-0")
        assert found.status.conditions[0].last_transition_time is not None
        assert [one.metadata.name for one in await client.list(GPU)] == ["gpu-0"]
        await client.delete(found)
        assert await client.find(GPU, "gpu-0") is None


async def test_who_names_no_provider_writes_as_its_user() -> None:
    assert Caller("nvml", Peer(uid=7)).identity == "nvml"
    assert Caller(peer=Peer(uid=7)).identity == "uid:7"
    assert Caller().identity == "unknown"
    async with registry() as opened:
        one, other = (Api(opened.transport(Caller(peer=Peer(uid=uid)))) for uid in (7, 8))
        await one.create(gpu(status=status(condition())))
        await other.set_status("gpu-0", condition("Degraded", "False"))
        await other.set_status("gpu-0")
        assert [found["type"] for found in (await one.get())["status"]["conditions"]] == ["Ready"]


async def test_the_providers_that_a_caller_claims_are_not_trusted() -> None:
    async with registry() as opened:
        forged = gpu(
            status=status(condition(provider="dcgm")) | {"providers": {"dcgm": {"recommendedAction": "RESTART_BM"}}}
        )
        created = await api(opened).create(forged)
        assert "providers" not in created["status"]
        assert "provider" not in created["status"]["conditions"][0]
        entry = await opened.context.storage.get(f"{opened.prefix}gpu-0")
        assert entry is not None
        stored = json.loads(entry.value)["status"]
        assert stored["conditions"][0]["provider"] == "nvml"
        assert "providers" not in stored


@pytest.mark.parametrize("seed", range(3))
def test_providers_that_write_at_once_lose_nothing(seed: int) -> None:
    from pilotage.testing import loop

    async def run() -> None:
        async with registry(Pausing(first_revision=FIRST)) as opened:
            await api(opened).create(gpu())

            async def provide(provider: str) -> None:
                for state in ("True", "False", "True", "Unknown"):
                    await api(opened, provider).set_status("gpu-0", condition(f"{provider}Ready", state))

            names = [f"P{number}" for number in range(6)]
            await asyncio.gather(*map(provide, names))
            found = (await api(opened).get())["status"]["conditions"]
            assert {one["type"]: one["status"] for one in found} == {f"{name}Ready": "Unknown" for name in names}

    loop.run(run(), seed=seed)


async def test_one_condition_can_be_set_beside_the_others() -> None:
    async with registry() as opened:
        await api(opened).create(gpu(status=status(condition("Ready"), action="RESTART_VM")))
        await opened.set_condition(Caller("nvml"), "gpu-0", condition("Degraded", "True"))
        await opened.set_condition(Caller("dcgm"), "gpu-0", condition("Ready", "False"))
        found = (await api(opened).get())["status"]
        assert {one["type"]: one["status"] for one in found["conditions"]} == {"Ready": "True", "Degraded": "True"}
        assert found["recommendedAction"] == "RESTART_VM"


async def test_who_writes_one_condition_does_not_make_the_action_of_another_its_own() -> None:
    async with registry() as opened:
        nvml, dcgm = api(opened, "nvml"), api(opened, "dcgm")
        await nvml.create(gpu(status=status(action="RESTART_BM")))
        await opened.set_condition(Caller("dcgm"), "gpu-0", condition("DCGMHealth"))
        patch = {"status": {"conditions": [condition("DCGMHealth", "False")]}}
        await dcgm.patch("gpu-0", patch, PatchType.STRATEGIC, "status")
        assert (await nvml.get())["status"]["recommendedAction"] == "RESTART_BM"
        await nvml.set_status("gpu-0")
        assert "recommendedAction" not in (await nvml.get())["status"]


async def test_an_action_that_is_patched_is_the_callers_own_even_if_it_is_shown_already() -> None:
    async with registry() as opened:
        nvml, dcgm = api(opened, "nvml"), api(opened, "dcgm")
        await nvml.create(gpu(status=status(action="RESTART_BM")))
        await dcgm.patch("gpu-0", {"status": {"recommendedAction": "RESTART_BM"}}, subresource="status")
        await nvml.set_status("gpu-0")
        assert (await nvml.get())["status"]["recommendedAction"] == "RESTART_BM"
        await opened.set_condition(Caller("dcgm"), "gpu-0", condition("DCGMHealth"))
        assert (await nvml.get())["status"]["recommendedAction"] == "RESTART_BM"


async def test_a_status_field_that_is_not_kept_is_warned_of() -> None:
    warnings: list[str] = []
    async with registry() as opened:
        await api(opened).create(gpu())
        client = Client(api(opened).transport, warning_handler=lambda warning: warnings.append(str(warning)))
        patch = {"status": {"recomendedAction": "RESTART_BM", "conditions": [condition(sevrity="high")]}}
        await client.patch(GPU, patch, name="gpu-0", subresource="status")
    assert sorted(warnings) == [
        'GPU gpu-0: unknown field "status.conditions[0].sevrity"',
        'GPU gpu-0: unknown field "status.recomendedAction"',
    ]


async def test_a_strategic_patch_takes_one_condition_away() -> None:
    async with registry() as opened:
        await api(opened).create(gpu(status=status(condition("Ready"), condition("Degraded"))))
        patch = {"status": {"conditions": [{"$patch": "delete", "type": "Degraded"}]}}
        patched = await api(opened).patch("gpu-0", patch, PatchType.STRATEGIC, "status")
        assert [one["type"] for one in patched["status"]["conditions"]] == ["Ready"]


async def test_a_patch_of_the_status_leaves_the_conditions_of_others() -> None:
    async with registry() as opened:
        await api(opened).create(gpu(status=status(condition("Ready"))))
        patch = {"status": {"conditions": [condition("DCGMHealth")]}}  # replaces the list, as merge patches do
        patched = await api(opened, "dcgm").patch("gpu-0", patch, PatchType.MERGE, "status")
        assert [one["type"] for one in patched["status"]["conditions"]] == ["Ready", "DCGMHealth"]


async def test_there_is_room_for_so_many_and_those_that_are_there_can_still_be_asked_for() -> None:
    async with registry(limits=Limits(objects=2)) as opened:
        await asyncio.gather(*(api(opened).create(gpu(f"gpu-{number}")) for number in range(2)))
        with pytest.raises(TooManyRequests) as refused:
            await api(opened).create(gpu("gpu-2"))
        assert not refused.value.retry_after_seconds  # a retry would not help
        with pytest.raises(AlreadyExists):
            await api(opened).create(gpu("gpu-0"))
        await api(opened).delete("gpu-0")
        await api(opened).create(gpu("gpu-2"))


async def test_creating_at_once_does_not_go_beyond_the_bound() -> None:
    async with registry(Pausing(first_revision=FIRST), limits=Limits(objects=3)) as opened:
        tries = (api(opened).create(gpu(f"gpu-{number}")) for number in range(10))
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(one, TooManyRequests) for one in results) == 7
        assert await opened.count() == 3


async def test_bodies_are_bounded_before_they_are_read() -> None:
    async with registry() as opened:
        with pytest.raises(RequestTooLarge):
            await opened.transport().call(APIRequest(Verb.CREATE, _gpus(), body=b"[" * 300_000))


async def test_there_is_one_resource_and_one_subresource() -> None:
    async with registry() as opened:
        transport = opened.transport()
        with pytest.raises(NotFound):
            await transport.list(APIRequest(Verb.LIST, GroupVersionResource("", "v1", "namespaces")))
        assert [mapping.resource for mapping in await transport.resources()] == [_gpus()]
        await api(opened).create(gpu())
        with pytest.raises(MethodNotSupported):
            await api(opened).call(Verb.UPDATE, name="gpu-0", subresource="scale", body=gpu())


async def test_another_name_in_the_body_is_refused() -> None:
    async with registry() as opened:
        await api(opened).create(gpu())
        with pytest.raises(BadRequest):
            await api(opened).call(Verb.UPDATE, name="gpu-0", body=gpu("gpu-1"))
        with pytest.raises(BadRequest):
            await api(opened).patch("gpu-0", {"metadata": {"name": "gpu-1"}})


async def test_gpus_on_a_file_are_there_again_after_a_restart_at_once(tmp_path: Path) -> None:
    for expected in ([], ["gpu-0"]):
        storage = await open_storage(f"sqlite:{tmp_path / 'state.db'}")
        async with DeviceRegistry(storage) as opened:
            assert opened.gate.is_open is bool(expected)
            assert await api(opened).names() == expected
            if not expected:
                await api(opened).create(gpu(status=status(condition())))
        await storage.close()


def _gpus() -> GroupVersionResource:
    return GroupVersionResource("device.nvidia.com", "v1alpha1", "gpus")


async def test_a_storage_keeps_its_id_and_another_one_has_another(tmp_path: Path) -> None:
    ids = []
    for name in ("a.db", "a.db", "b.db"):
        storage = await open_storage(f"sqlite:{tmp_path / name}")
        async with DeviceRegistry(storage) as opened:
            ids.append(opened.storage_id)
        await storage.close()
    assert ids[0] == ids[1] != ids[2]
    assert all(ids)


async def test_two_servers_can_start_on_a_new_storage_at_the_same_time() -> None:
    storage = Pausing(first_revision=FIRST)
    async with AsyncExitStack() as stack:
        one, other = await asyncio.gather(*(stack.enter_async_context(DeviceRegistry(storage)) for _ in range(2)))
        assert one.storage_id == other.storage_id
