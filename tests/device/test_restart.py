"""The server killed and started again under its watchers, and clients that die under the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from pilotage import device
from pilotage.device.client.gpus import GPUs
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.meta.models import Condition, ObjectMeta

from .followers import Follower, following
from .servers import DeviceServerProcess, device_server

WATCHERS, CONNECTIONS = 20, 10
"""More watchers than a user has connections by default: they share them."""
BACK_WITHIN = 1.0
NAMES = [f"gpu-{number}" for number in range(8)]
PLAIN = ("--gate-seconds", "0", "--log-level", "error", "--requests-per-second", "1000")
"""All watchers are one user's here: what a user may ask for in a second is not what is tested."""
ROUNDS = [3, pytest.param(30, marks=[pytest.mark.long, pytest.mark.timeout(300)])]


@asynccontextmanager
async def connections(target: str, count: int) -> AsyncIterator[list[GPUs]]:
    async with AsyncExitStack() as stack:
        found = [await stack.enter_async_context(device.connect(target)) for _ in range(count)]
        yield [devices.v1alpha1.gpus for devices in found]


async def put(gpus: GPUs, name: str) -> None:
    await gpus.create(GPU(metadata=ObjectMeta(name=name), spec=GPUSpec(uuid=f"GPU-{name}")))


async def change(gpus: GPUs, name: str, number: int) -> int:
    """Write something new about a GPU; its new version."""
    found = await gpus.get(name)
    found.status.conditions = [Condition(type="Ready", status="True", reason="Tested", message=f"number {number}")]
    return int((await gpus.update_status(found)).metadata.resource_version)


async def server_state(gpus: GPUs) -> dict[str, str]:
    return {gpu.metadata.name: gpu.metadata.resource_version for gpu in await gpus.list()}


async def all_at(followers: list[Follower], state: dict[str, str], *, within: float) -> None:
    async with asyncio.timeout(within):
        for follower in followers:
            await follower.until(lambda follower=follower: follower.state() == state)  # type: ignore[misc]


async def restart(server: DeviceServerProcess) -> None:
    server.kill()
    await asyncio.to_thread(server.start)


@pytest.mark.parametrize("rounds", ROUNDS)
async def test_no_watcher_misses_a_change_when_a_server_on_sqlite_is_killed(tmp_path: Path, rounds: int) -> None:
    with device_server(tmp_path, "--storage", f"sqlite:{tmp_path}/gpus.db", *PLAIN) as server:
        async with connections(server.target, CONNECTIONS + 1) as (writer, *sources):
            for name in NAMES:
                await put(writer, name)
            async with following(*sources * (WATCHERS // CONNECTIONS)) as followers:
                written, slowest = [], 0.0
                for number in range(rounds):
                    written += [await change(writer, name, number) for name in NAMES[:4]]
                    await restart(server)
                    begun = time.monotonic()
                    written += [await change(writer, name, -1 - number) for name in NAMES[4:]]
                    await all_at(followers, await server_state(writer), within=20)
                    slowest = max(slowest, time.monotonic() - begun)
                for follower in followers:
                    assert follower.versions == written
                print("SLOWEST", slowest)
                assert slowest < BACK_WITHIN


@pytest.mark.parametrize("rounds", ROUNDS)
async def test_watchers_list_again_when_a_server_on_memory_is_killed(tmp_path: Path, rounds: int) -> None:
    with device_server(tmp_path, "--storage", "memory:", *PLAIN) as server:
        async with connections(server.target, CONNECTIONS + 1) as (writer, *sources):
            for name in NAMES:
                await put(writer, name)
            async with following(*sources * (WATCHERS // CONNECTIONS)) as followers:
                slowest, survivors = 0.0, NAMES
                for number in range(rounds):
                    await change(writer, survivors[0], number)
                    await restart(server)
                    begun = time.monotonic()
                    survivors = NAMES[number % 2 :: 2]  # another half each time, so that something is gone, and new
                    for name in survivors:
                        await put(writer, name)
                    await change(writer, survivors[0], number)
                    state = await server_state(writer)
                    await all_at(followers, state, within=20)
                    slowest = max(slowest, time.monotonic() - begun)
                    assert sorted(state) == sorted(survivors)
                print("SLOWEST", slowest)
                assert slowest < BACK_WITHIN


async def test_a_server_takes_the_place_of_a_killed_one_whose_socket_is_still_there(tmp_path: Path) -> None:
    with device_server(tmp_path, *PLAIN) as server:
        server.kill()
        assert server.path.is_socket()  # nobody was there to remove it
        server.start()
        async with device.connect(server.target) as devices:
            assert len(await devices.v1alpha1.gpus.list()) == 0
