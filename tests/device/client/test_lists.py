"""Lists of GPUs over a socket: selectors and pages, as every list has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilotage import device
from pilotage.device.client.gpus import GPUs
from pilotage.device.server.deviceserver import DeviceServer
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.device.wire.generation import Generation
from pilotage.errors import BadRequest, Gone
from pilotage.meta.models import ObjectMeta

from ..server.fakes import server_options

GENERATIONS = [Generation.V6, Generation.V8]


@asynccontextmanager
async def gpus_of(folder: Path, generation: Generation = Generation.V6) -> AsyncIterator[tuple[GPUs, DeviceServer]]:
    """Five GPUs `gpu-1` to `gpu-5`, the odd ones with the label `tier: gold`."""
    async with (
        DeviceServer(server_options(folder, profile=generation)) as server,
        device.connect(server.target, wire=generation.value) as devices,
    ):
        gpus = devices.v1alpha1.gpus
        for number in range(1, 6):
            labels = {"tier": "gold"} if number % 2 else {}
            meta = ObjectMeta(name=f"gpu-{number}", labels=labels)
            await gpus.create(GPU(metadata=meta, spec=GPUSpec(uuid=f"GPU-{number}")))
        yield gpus, server


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_a_list_is_chosen_by_labels_and_fields(tmp_path: Path, generation: Generation) -> None:
    async with gpus_of(tmp_path, generation) as (gpus, _):
        assert (await gpus.list(labels={"tier": "gold"})).names == ["gpu-1", "gpu-3", "gpu-5"]
        assert (await gpus.list(fields={"metadata.name": "gpu-2"})).names == ["gpu-2"]
        assert (await gpus.list(fields={"spec.uuid": "GPU-4"})).names == ["gpu-4"]
        assert (await gpus.list(labels="tier=gold", fields="spec.uuid!=GPU-3")).names == ["gpu-1", "gpu-5"]
        with pytest.raises(BadRequest, match=r"field label not supported: status\.phase"):
            await gpus.list(fields={"status.phase": "x"})


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_pages_are_of_one_snapshot_and_have_a_token_and_the_rest(tmp_path: Path, generation: Generation) -> None:
    async with gpus_of(tmp_path, generation) as (gpus, _):
        first = await gpus.list(limit=2)
        assert (first.names, first.remaining_item_count) == (["gpu-1", "gpu-2"], 3)
        await gpus.delete("gpu-3")
        second = await gpus.list(limit=2, continue_token=first.continue_token)
        assert (second.names, second.resource_version) == (["gpu-3", "gpu-4"], first.resource_version)
        last = await gpus.list(limit=2, continue_token=second.continue_token)
        assert (last.names, last.continue_token, last.remaining_item_count) == (["gpu-5"], "", None)
        assert (await gpus.list()).names == ["gpu-1", "gpu-2", "gpu-4", "gpu-5"]


async def test_pages_of_a_selection_hold_what_is_selected_alone(tmp_path: Path) -> None:
    async with gpus_of(tmp_path) as (gpus, _):
        first = await gpus.list(labels="tier=gold", limit=2)
        rest = await gpus.list(labels="tier=gold", limit=2, continue_token=first.continue_token)
        assert [*first.names, *rest.names] == ["gpu-1", "gpu-3", "gpu-5"]


async def test_a_token_whose_snapshot_is_forgotten_is_gone_and_one_that_is_none_is_refused(tmp_path: Path) -> None:
    async with gpus_of(tmp_path) as (gpus, server):
        first = await gpus.list(limit=2)
        await gpus.delete("gpu-5")
        storage = server.registry.context.storage
        await storage.compact(storage.revision)
        with pytest.raises(Gone):
            await gpus.list(limit=2, continue_token=first.continue_token)
        with pytest.raises(BadRequest, match="invalid continue token"):
            await gpus.list(limit=2, continue_token="nonsense")


async def test_a_watch_and_a_follower_are_chosen_by_fields(tmp_path: Path) -> None:
    async with gpus_of(tmp_path) as (gpus, _):
        async with gpus.watch(fields={"metadata.name": "gpu-4"}) as events:
            event = await anext(events)
            assert (event.type, event.object.metadata.name) == ("ADDED", "gpu-4")
        async with gpus.follow(fields={"spec.uuid": "GPU-4"}) as events:
            assert (await anext(events)).object.metadata.name == "gpu-4"
            await gpus.delete("gpu-3")
            await gpus.delete("gpu-4")
            event = await anext(events)
            assert (event.type, event.object.metadata.name) == ("DELETED", "gpu-4")
