from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pilotage import device
from pilotage.device.client.target import Target
from pilotage.device.providers.fake import FakeOptions, FakeProvider
from pilotage.device.providers.interface import Provider
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.provider import NVMLProvider
from pilotage.device.providers.nvml.worker import WorkerThread
from pilotage.device.providers.remote import RemoteAccess
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.errors import InvalidDefinition

from .fakes import MockLibrary, name_of


@pytest.mark.parametrize("kind", ["fake", "nvml"])
async def test_a_provider_in_another_process_reports_the_same(tmp_path: Path, kind: str) -> None:
    provider: Provider = (
        FakeProvider(FakeOptions(count=2, period=0))
        if kind == "fake"
        else NVMLProvider(NVMLOptions(poll_seconds=0.1), worker=lambda: WorkerThread(MockLibrary(2)))
    )
    names = ["gpu-1", "gpu-2"] if kind == "fake" else [name_of(0), name_of(1)]
    target = Target.parse(f"unix://{tmp_path}/api/device.sock")
    async with (
        asyncio.timeout(100),
        DeviceServer(DeviceServerOptions(targets=[target], gate_seconds=0)),
        device.connect(target, provider_id=kind) as told,
        device.connect(target) as read,
    ):
        running = asyncio.create_task(provider.run(RemoteAccess(told)))
        try:
            ready = set()
            async with read.v1alpha1.gpus.follow() as events:
                async for event in events:
                    if event.object.status.conditions:
                        assert event.object.status.conditions[0].status == "True"
                        ready.add(event.object.metadata.name)
                    if ready == set(names):
                        break
        finally:
            running.cancel()
            await asyncio.wait({running})


def test_access_without_a_providers_name_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="provider_id"):
        RemoteAccess(device.connect("unix:///tmp/none.sock"))
