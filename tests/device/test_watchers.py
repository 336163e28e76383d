"""Every watcher gets every change once and in order: many watchers, some of which disconnect and reconnect.

How long a change takes to reach them is measured by `make bench-device`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from pilotage.device.client.clientset import Devices
from pilotage.device.client.config import Config
from pilotage.device.client.gpus import GPUs
from pilotage.device.client.target import Target
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.device.v1alpha1 import GPU, GPUSpec, GPUStatus
from pilotage.errors import Conflict
from pilotage.grpc.options import ServerOptions
from pilotage.meta.models import Condition, ObjectMeta

UNLIMITED = ServerOptions(
    requests_per_second=0, connects_per_second=0, connections_per_uid=200, connections_per_process=200
)
NAMES = [f"gpu-{number}" for number in range(16)]
CHANGES = 60
PATIENCE = 60.0


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Target]:
    """A server with some GPUs."""
    target = Target(path=str(folder / "device-api.sock"))
    async with DeviceServer(DeviceServerOptions(targets=[target], gate_seconds=0, grpc=UNLIMITED)):
        async with connected(target) as gpus:
            for name in NAMES:
                await gpus.create(GPU(metadata=ObjectMeta(name=name), spec=GPUSpec(uuid=f"GPU-{name}")))
        yield target


@asynccontextmanager
async def connected(target: Target, provider: str = "") -> AsyncIterator[GPUs]:
    async with Devices(Config(target=target, provider_id=provider)) as devices:
        yield devices.v1alpha1.gpus


async def change(gpus: GPUs, kind: str, number: int) -> int:
    """Set a condition at the version that was read, again after each conflict; the new version."""
    while True:
        found = await gpus.get(NAMES[number % len(NAMES)])
        condition = Condition(type=kind, status="True", reason="Tested", message=f"number {number}")
        found.status = GPUStatus(conditions=[condition])
        try:
            return int((await gpus.update_status(found)).metadata.resource_version)
        except Conflict:
            continue


async def watch(gpus: GPUs, since: int, count: int) -> list[int]:
    """The versions of the next so many events."""
    versions: list[int] = []
    async with gpus.watch(resource_version=str(since)) as events:
        async for event in events:
            versions.append(int(event.header.resource_version))
            if len(versions) == count:
                break
    return versions


async def watch_in_pieces(target: Target, since: int, count: int, piece: int) -> list[int]:
    """The same, on a new connection after each piece."""
    versions: list[int] = []
    while len(versions) < count:
        async with connected(target) as gpus:
            versions += await watch(gpus, versions[-1] if versions else since, min(piece, count - len(versions)))
    return versions


async def test_no_watcher_that_reconnects_misses_a_version_while_writers_conflict(tmp_path: Path) -> None:
    async with served(tmp_path) as target, connected(target) as reader, asyncio.timeout(PATIENCE):
        since = int((await reader.list()).resource_version)
        async with asyncio.TaskGroup() as group:
            watchers = [
                group.create_task(watch_in_pieces(target, since, 2 * CHANGES, piece)) for piece in (3, 7, CHANGES)
            ]
            async with connected(target, "watchdog") as watchdog, connected(target, "monitor") as monitor:
                pairs = [
                    await asyncio.gather(change(watchdog, "Watched", number), change(monitor, "Monitored", number))
                    for number in range(CHANGES)
                ]
    written = sorted(version for pair in pairs for version in pair)
    assert [watcher.result() for watcher in watchers] == [written] * len(watchers)


async def test_a_change_reaches_each_of_64_watchers_once(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(served(tmp_path))
        clients = [await stack.enter_async_context(connected(target)) for _ in range(64)]
        writer = await stack.enter_async_context(connected(target, "tested"))
        since = int((await writer.list()).resource_version)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            watchers = [group.create_task(watch(gpus, since, CHANGES)) for gpus in clients]
            written = [await change(writer, "Ready", number) for number in range(CHANGES)]
    assert [watcher.result() for watcher in watchers] == [written] * len(watchers)
