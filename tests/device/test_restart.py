"""The server killed and started again under its watchers, and clients that die under the server."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from hack.device.running import DeviceServerProcess, device_server
from pilotage import device
from pilotage.device.client.gpus import GPUs
from pilotage.device.client.target import Target
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.errors import ConnectionLost, ServiceUnavailable
from pilotage.grpc.options import ServerOptions
from pilotage.meta.models import Condition, ObjectMeta

from .followers import Follower, each, following

WATCHERS, CONNECTIONS = 20, 10
"""More watchers than a user has connections by default: they share them."""
NAMES = [f"gpu-{number}" for number in range(8)]
PLAIN = ("--gate-seconds", "0", "--log-level", "error", "--requests-per-second", "1000")
"""All watchers are one user's here: what a user may ask for in a second is not what is tested."""
UNLIMITED = ServerOptions(requests_per_second=0)
ROUNDS = [1, pytest.param(30, marks=pytest.mark.long)]


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


def holding(state: dict[str, str]) -> Callable[[Follower], bool]:
    return lambda follower: follower.state() == state


def reached(version: int) -> Callable[[Follower], bool]:
    return lambda follower: follower.reached(version)


async def restart(server: DeviceServerProcess) -> None:
    server.kill()
    await asyncio.to_thread(server.start)


class Writer:
    """Changes one GPU after the other, also while the server restarts, and records the acknowledged writes."""

    def __init__(self, gpus: GPUs) -> None:
        self._gpus = gpus
        self.acknowledged: list[int] = []
        self._done = asyncio.Event()

    async def run(self) -> None:
        for number in itertools.count():
            try:
                self.acknowledged.append(await change(self._gpus, NAMES[number % len(NAMES)], number))
            except (ConnectionLost, ServiceUnavailable):
                await asyncio.sleep(0.01)  # whether it took effect is not known
            self._done.set()

    async def next(self) -> int:
        """Wait for the next write that is done; its version."""
        known = len(self.acknowledged)
        while len(self.acknowledged) == known:
            self._done.clear()
            await self._done.wait()
        return self.acknowledged[-1]


@pytest.mark.covers("F33")
@pytest.mark.parametrize("rounds", ROUNDS)
async def test_no_watcher_misses_a_change_when_a_server_on_sqlite_is_killed(tmp_path: Path, rounds: int) -> None:
    with device_server(tmp_path, "--storage", f"sqlite:{tmp_path}/gpus.db", *PLAIN) as server:
        async with connections(server.target, CONNECTIONS + 1) as (gpus, *sources):
            for name in NAMES:
                await put(gpus, name)
            async with following(*sources * (WATCHERS // CONNECTIONS)) as followers, asyncio.TaskGroup() as group:
                writer = Writer(gpus)
                writing = group.create_task(writer.run())
                for _ in range(rounds):
                    await writer.next()
                    await restart(server)
                    version = await writer.next()
                    await each(followers, reached(version))
                writing.cancel()
                await asyncio.wait([writing])
                await each(followers, holding(await server_state(gpus)))
                for follower in followers:
                    assert follower.versions == followers[0].versions
                    assert follower.versions == sorted(set(follower.versions))
                    assert set(writer.acknowledged) <= set(follower.versions)


@pytest.mark.covers("F33")
@pytest.mark.parametrize("rounds", ROUNDS)
async def test_watchers_list_again_when_a_server_on_memory_is_killed(tmp_path: Path, rounds: int) -> None:
    with device_server(tmp_path, "--storage", "memory:", *PLAIN) as server:
        async with connections(server.target, CONNECTIONS + 1) as (writer, *sources):
            for name in NAMES:
                await put(writer, name)
            async with following(*sources * (WATCHERS // CONNECTIONS)) as followers:
                survivors = NAMES
                for number in range(rounds):
                    await change(writer, survivors[0], number)
                    await restart(server)
                    survivors = NAMES[number % 2 :: 2]  # another half each time, so that something is gone, and new
                    for name in survivors:
                        await put(writer, name)
                    await change(writer, survivors[0], number)
                    state = await server_state(writer)
                    await each(followers, holding(state))
                    assert sorted(state) == sorted(survivors)


@pytest.mark.covers("F33")
async def test_a_server_takes_the_place_of_a_killed_one_whose_socket_is_still_there(tmp_path: Path) -> None:
    with device_server(tmp_path, *PLAIN) as server:
        server.kill()
        assert server.path.is_socket()  # no process was left to remove it
        server.start()
        async with device.connect(server.target) as devices:
            assert len(await devices.v1alpha1.gpus.list()) == 0


async def test_a_server_that_is_asked_to_stop_does_not_wait_for_its_watchers(tmp_path: Path) -> None:
    patient = ("--shutdown-grace-period", "600")
    with device_server(tmp_path, "--storage", f"sqlite:{tmp_path}/gpus.db", *patient, *PLAIN) as server:
        async with connections(server.target, CONNECTIONS + 1) as (writer, *sources):
            await put(writer, "gpu-0")
            async with following(*sources) as followers:
                await asyncio.to_thread(server.stop)  # which waits for half a minute at most
                await asyncio.to_thread(server.start)
                version = await change(writer, "gpu-0", 1)
                await each(followers, reached(version))
                assert [follower.versions for follower in followers] == [[version]] * len(followers)


@pytest.mark.covers("F33")
async def test_clients_that_die_in_the_middle_of_a_stream_leave_none_behind(tmp_path: Path) -> None:
    target = Target(path=str(tmp_path / "device-api.sock"))
    async with (
        DeviceServer(DeviceServerOptions(targets=[target], gate_seconds=0)) as server,
        watching(target, 8) as pid,
    ):
        assert server.watch_cache.subscribers == 8
        descriptors = len(os.listdir("/proc/self/fd"))
        os.kill(pid, signal.SIGKILL)
        await server.watch_cache.wait_ended(10)
        assert server.watch_cache.subscribers == 0
        async with asyncio.timeout(60):
            while len(os.listdir("/proc/self/fd")) > descriptors - 8:  # noqa: ASYNC110  # the end of a connection is not reported
                await asyncio.sleep(0.01)


async def test_a_client_that_does_not_read_delays_no_other(tmp_path: Path) -> None:
    target = Target(path=str(tmp_path / "device-api.sock"))
    async with (
        DeviceServer(DeviceServerOptions(targets=[target], gate_seconds=0, grpc=UNLIMITED)) as server,
        connections(str(target), 2) as (writer, source),
        following(source) as (follower,),
        watching(target, 1) as still,
    ):
        await put(writer, "gpu-0")
        os.kill(still, signal.SIGSTOP)
        try:
            number = 0
            while (
                server.watch_cache.subscribers > 1
            ):  # until a client that does not read has to list again, should it ever read
                version = await fill(writer, number := number + 1)
            await follower.until(lambda: follower.reached(version))
        finally:
            os.kill(still, signal.SIGCONT)


async def fill(gpus: GPUs, number: int) -> int:
    """A change that is large: sockets hold much."""
    made = GPU(metadata=ObjectMeta(name="gpu-0"), spec=GPUSpec(uuid="GPU-gpu-0"))
    made.status.conditions = [
        Condition(type=f"Type{place}", status="True", reason="Tested", message=f"{number}".ljust(1000, "."))
        for place in range(16)
    ]
    return int((await gpus.update_status(made)).metadata.resource_version)


WATCHING = """
import asyncio, sys
from contextlib import AsyncExitStack
from pilotage import device

async def main(target, count):
    async with AsyncExitStack() as stack:
        for _ in range(count):
            devices = await stack.enter_async_context(device.connect(target))
            events = await stack.enter_async_context(devices.v1alpha1.gpus.watch())
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


@asynccontextmanager
async def watching(target: Target, count: int) -> AsyncIterator[int]:
    """So many watchers in a process of their own, all of them open; its process id."""
    command = (sys.executable, "-c", WATCHING, str(target), str(count))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
