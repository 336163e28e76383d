"""A GPU that is damaged in the storage: the others are served, and it can be deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import pilotage as pt
from pilotage import device
from pilotage.device.client.target import Target
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.errors import ApiError
from pilotage.storage import Put, open_storage


@pytest.mark.parametrize("change", [None, {"spec": 5}, {"spec": {"uuid": []}}, {"status": {"conditions": [5]}}])
async def test_a_damaged_gpu_does_not_keep_the_others_from_being_served(
    change: dict[str, Any] | None, tmp_path: Path
) -> None:
    target = Target(path=f"{tmp_path}/s")
    options = DeviceServerOptions(targets=[target], storage=f"sqlite:{tmp_path}/gpus.db", gate_seconds=0)
    async with DeviceServer(options) as server, device.connect(str(target)) as devices:
        await devices.v1alpha1.gpus.create(GPU(metadata=pt.ObjectMeta(name="good"), spec=GPUSpec(uuid="GPU-1")))
        prefix = server.registry.prefix
    storage = await open_storage(options.storage)
    (entry,) = (await storage.list(prefix)).entries
    document = msgspec.json.decode(entry.value)
    document["metadata"] |= {"name": "bad", "uid": "another"}
    value: object = [] if change is None else document | change
    await storage.commit(Put(f"{prefix}bad", msgspec.json.encode(value)))
    await storage.close()
    async with DeviceServer(options), device.connect(str(target)) as devices:
        gpus = devices.v1alpha1.gpus
        assert (await gpus.list()).names == ["good"]
        with pytest.raises(ApiError, match="cannot be read from the storage"):
            await gpus.get("bad")
        await gpus.delete("bad")
        assert await gpus.find("bad") is None
